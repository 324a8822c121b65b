//! The server and the body of a request, as aiperf spells them.

use clap::Args;

/// aiperf's endpoint and tokenizer groups, as far as they decide something here.
#[derive(Debug, Args)]
#[command(next_help_heading = "Endpoint")]
pub(crate) struct EndpointFlags {
    /// The served model; may be left out when the server serves one.
    #[arg(
        long = "model-names",
        visible_alias = "model",
        short = 'm',
        value_name = "MODEL",
        value_delimiter = ','
    )]
    pub(crate) models: Vec<String>,
    /// The server, with or without scheme and `/v1`.
    #[arg(long = "url", short = 'u', value_name = "URL", num_args = 1.., value_delimiter = ',', default_value = "http://localhost:8000")]
    pub(crate) urls: Vec<String>,
    /// Path of the endpoint. Default: that of its type.
    #[arg(long = "custom-endpoint", visible_alias = "endpoint", value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// Kind of endpoint; only `chat` can be run.
    #[arg(long, value_name = "TYPE", default_value = "chat")]
    pub(crate) endpoint_type: String,
    /// Stream answers. The scenario switches it on and refuses `--streaming=false`.
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        hide_possible_values = true
    )]
    pub(crate) streaming: Option<bool>,
    /// Bearer key. Never printed, never recorded.
    #[arg(long, env = "TURNMILL_API_KEY", hide_env_values = true, value_name = "KEY")]
    pub(crate) api_key: Option<String>,
    /// Further request headers, as `Name:Value` or a JSON object.
    #[arg(long = "header", short = 'H', value_name = "NAME:VALUE", num_args = 1..)]
    pub(crate) headers: Vec<String>,
    /// Further fields of every body, as `key:value[,key:value]` or a JSON object.
    #[arg(long, value_name = "KEY:VALUE", num_args = 1..)]
    pub(crate) extra_inputs: Vec<String>,
    /// Ask the server for its token counts. Without it aiperf 0.12.0 does not, and no output length is known.
    #[arg(long)]
    pub(crate) use_server_token_count: bool,
    /// Limit outputs by `max_tokens` instead of `max_completion_tokens`.
    #[arg(long)]
    pub(crate) use_legacy_max_tokens: bool,
    /// Longest time for one request; 0 for no limit.
    #[arg(
        long = "request-timeout-seconds",
        value_name = "S",
        default_value_t = 21_600.0,
        allow_negative_numbers = true
    )]
    pub(crate) request_timeout_s: f64,
    /// Name of the header that carries the session id. Default: X-Correlation-ID.
    #[arg(long, value_name = "NAME")]
    pub(crate) session_header: Option<String>,
    /// A `tokenizer.json`, the folder that holds one, a repository in the Hugging Face cache, or `builtin`. Default: the
    /// model's name.
    #[arg(long, value_name = "NAME")]
    pub(crate) tokenizer: Option<String>,
    /// Revision of a tokenizer in the Hugging Face cache.
    #[arg(long, value_name = "REVISION", default_value = "main")]
    pub(crate) tokenizer_revision: String,
}
