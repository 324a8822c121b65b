//! Options that decide where requests go and what is kept.

use super::{ExportArgs, Format, PromptArgs, ScenarioArgs, TraceRunArgs};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    #[command(flatten)]
    pub(crate) prompt: PromptArgs,
    #[command(flatten)]
    pub(crate) send: SendArgs,
    /// Folder for everything the run leaves behind; must be new or empty. Default: `runs/` and the time of the start.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) export: ExportArgs,
    /// How the summary is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// Exit 1 when the finished run is not valid for submission.
    #[arg(long)]
    pub(crate) require_valid: bool,
    #[command(flatten)]
    pub(crate) trace: TraceRunArgs,
}

/// The server and how it is spoken to.
#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// The server, with or without `/v1`.
    #[arg(long)]
    pub(crate) url: String,
    /// The served model; may be left out when the server serves one.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Bearer key. Never printed, never recorded.
    #[arg(long, env = "TURNMILL_API_KEY", hide_env_values = true, value_name = "KEY")]
    pub(crate) api_key: Option<String>,
    /// One more request header, as `Name: value`. May be repeated.
    #[arg(long = "header", value_name = "NAME: VALUE")]
    pub(crate) headers: Vec<String>,
    /// Name of the header that carries the session id.
    #[arg(long, default_value = "X-Correlation-ID", value_name = "NAME")]
    pub(crate) session_header: String,
    /// Which key limits the output length; exactly one is sent. Default: `max_completion_tokens` for chat, `max_tokens` for
    /// completions.
    #[arg(long, value_enum)]
    pub(crate) output_limit_key: Option<LimitKey>,
    /// Send `min_tokens` too, for servers that ignore `ignore_eos`.
    #[arg(long)]
    pub(crate) min_tokens: bool,
    /// Longest time for one request, connecting included.
    #[arg(long, value_name = "S", default_value_t = 21_600.0)]
    pub(crate) request_timeout_s: f64,
    /// Give the run up when a larger share of the window's requests than this has failed, once as many as there are lanes,
    /// and at least 10, have been recorded.
    #[arg(long, value_name = "SHARE", value_parser = super::scenario::parse_share)]
    pub(crate) failed_request_threshold: Option<f64>,
    /// Do not verify the server's certificate.
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Trust the certificates in this PEM file too.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Take a proxy from the environment for model listing and corpus download; timed requests never use one.
    #[arg(long)]
    pub(crate) proxy_from_env: bool,
    #[command(flatten)]
    pub(crate) metrics: MetricsArgs,
    /// What only `profile` lets the user choose.
    #[arg(skip)]
    pub(crate) wire: Wire,
}

/// What the server says about itself while the run goes on.
#[derive(Debug, Default, Args)]
pub(crate) struct MetricsArgs {
    /// A page of Prometheus metrics to read beside the run, with its path or without. May be repeated, for servers behind
    /// one URL. Default: `/metrics` of the server.
    #[arg(long, value_name = "URL", conflicts_with = "no_server_metrics")]
    pub(crate) server_metrics: Vec<String>,
    /// Read no metrics.
    #[arg(long)]
    pub(crate) no_server_metrics: bool,
}

/// Parts of a request that `run` fixes and `profile` has flags for.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    /// Path of the endpoint; `None` for the usual one.
    pub(crate) path: Option<String>,
    /// Ask for the server's token counts.
    pub(crate) usage: bool,
    /// Further fields of every body, in order, values as JSON text.
    pub(crate) extra: Vec<(String, Box<serde_json::value::RawValue>)>,
}

impl Default for Wire {
    fn default() -> Self {
        Self {
            path: None,
            usage: true,
            extra: Vec::new(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LimitKey {
    /// `max_completion_tokens`.
    #[default]
    #[value(name = "max_completion_tokens")]
    MaxCompletionTokens,
    /// `max_tokens`.
    #[value(name = "max_tokens")]
    MaxTokens,
}

impl From<LimitKey> for corpus::prompt::LimitKey {
    fn from(key: LimitKey) -> Self {
        match key {
            LimitKey::MaxCompletionTokens => Self::MaxCompletionTokens,
            LimitKey::MaxTokens => Self::MaxTokens,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Folder for everything the run leaves behind. Default: `runs/` and the time of the start.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Sending window.
    #[arg(long, value_name = "S", default_value_t = 20.0)]
    pub(crate) duration_s: f64,
    /// Lanes.
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) concurrency: u32,
}
