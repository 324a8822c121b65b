//! vLLM 0.32's answers, key by key: stream events, whole answers, model list.
//!
//! Strings are put together by hand since one event is written for every token; texts are ASCII letters and spaces, so only the
//! model's name and the request's id ever need escaping, once a request. Never decides when something is sent.

use std::fmt::Write as _;

use crate::engine::Finish;
use crate::request::Endpoint;

/// Stands where vLLM states its version and a hash of its settings.
const SYSTEM_FINGERPRINT: &str = concat!("turnmill-sim-", env!("CARGO_PKG_VERSION"));

/// Token counts of one request so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) prompt: usize,
    pub(crate) completion: u64,
    pub(crate) cached: usize,
}

/// What all events of one answer share.
pub(crate) struct Shape {
    endpoint: Endpoint,
    /// `"id":…,"object":…,"created":…,"model":…`, of a stream and of a whole answer.
    chunk_head: String,
    whole_head: String,
    prompt_tokens_details: bool,
    continuous_usage: bool,
}

/// A token's place in its answer.
pub(crate) struct Place {
    pub(crate) choice: usize,
    pub(crate) finish: Option<Finish>,
    /// Set on the very last event with choices, if no usage event follows: it then carries the fingerprint.
    pub(crate) is_last_event: bool,
}

impl Shape {
    pub(crate) fn new(
        endpoint: Endpoint,
        id: &str,
        created_s: u64,
        model: &str,
        prompt_tokens_details: bool,
        continuous_usage: bool,
    ) -> Self {
        let (prefix, chunk, whole) = match endpoint {
            Endpoint::Chat => ("chatcmpl", "chat.completion.chunk", "chat.completion"),
            Endpoint::Completions => ("cmpl", "text_completion", "text_completion"),
        };
        let id = quoted(&format!("{prefix}-{id}"));
        let model = quoted(model);
        let head = |object| format!(r#""id":{id},"object":"{object}","created":{created_s},"model":{model}"#);
        Self {
            endpoint,
            chunk_head: head(chunk),
            whole_head: head(whole),
            prompt_tokens_details,
            continuous_usage,
        }
    }

    /// The event that opens a chat choice; completions have none.
    pub(crate) fn role(&self, out: &mut String, choice: usize, usage: Usage) {
        if self.endpoint == Endpoint::Completions {
            return;
        }
        let head = &self.chunk_head;
        put(
            out,
            format_args!(
                r#"data: {{{head},"choices":[{{"index":{choice},"delta":{{"role":"assistant","content":""}},"logprobs":null,"finish_reason":null}}]"#
            ),
        );
        self.continuous(out, usage);
        out.push_str(r#","prompt_token_ids":null,"prompt_text":null}"#);
        out.push_str("\n\n");
    }

    /// The event of one token.
    pub(crate) fn token(&self, out: &mut String, text: &str, place: &Place, usage: Usage) {
        let (head, choice) = (&self.chunk_head, place.choice);
        let reason = reason(place.finish);
        let stop = if place.finish.is_some() {
            r#","stop_reason":null"#
        } else {
            ""
        };
        match self.endpoint {
            Endpoint::Chat => put(
                out,
                format_args!(
                    r#"data: {{{head},"choices":[{{"index":{choice},"delta":{{"content":"{text}"}},"logprobs":null,"finish_reason":{reason}{stop},"token_ids":null}}]"#
                ),
            ),
            Endpoint::Completions => put(
                out,
                format_args!(
                    r#"data: {{{head},"choices":[{{"index":{choice},"text":"{text}","logprobs":null,"finish_reason":{reason},"stop_reason":null,"prompt_token_ids":null,"token_ids":null}}]"#
                ),
            ),
        }
        self.continuous(out, usage);
        if place.is_last_event {
            put(
                out,
                format_args!(r#","system_fingerprint":"{SYSTEM_FINGERPRINT}""#),
            );
        }
        out.push_str("}\n\n");
    }

    /// The event without choices that states the usage.
    pub(crate) fn usage(&self, out: &mut String, usage: Usage) {
        put(
            out,
            format_args!(r#"data: {{{},"choices":[],"usage":{{"#, self.chunk_head),
        );
        counts(out, usage);
        if self.prompt_tokens_details {
            put(
                out,
                format_args!(r#","prompt_tokens_details":{{"cached_tokens":{}"#, usage.cached),
            );
            if self.endpoint == Endpoint::Chat {
                out.push_str(r#","created_cache_tokens":0"#);
            }
            out.push('}');
        }
        put(
            out,
            format_args!("}},\"system_fingerprint\":\"{SYSTEM_FINGERPRINT}\"}}\n\n"),
        );
    }

    /// A whole answer, not streamed. `usage` is left out only for a fault.
    pub(crate) fn whole(&self, choices: &[(String, Finish)], usage: Option<Usage>) -> String {
        let mut out = format!(r#"{{{},"choices":["#, self.whole_head);
        for (index, (text, finish)) in choices.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let reason = reason(Some(*finish));
            match self.endpoint {
                Endpoint::Chat => put(
                    &mut out,
                    format_args!(
                        r#"{comma}{{"index":{index},"message":{{"role":"assistant","content":"{text}","refusal":null,"annotations":null,"audio":null,"function_call":null,"reasoning":null}},"logprobs":null,"finish_reason":{reason},"stop_reason":null,"token_ids":null,"routed_experts":null}}"#
                    ),
                ),
                Endpoint::Completions => put(
                    &mut out,
                    format_args!(
                        r#"{comma}{{"index":{index},"text":"{text}","logprobs":null,"finish_reason":{reason},"stop_reason":null,"token_ids":null,"prompt_logprobs":null,"prompt_token_ids":null}}"#
                    ),
                ),
            }
        }
        put(
            &mut out,
            format_args!(r#"],"service_tier":null,"system_fingerprint":"{SYSTEM_FINGERPRINT}""#),
        );
        if let Some(usage) = usage {
            out.push_str(r#","usage":{"#);
            counts(&mut out, usage);
            if self.prompt_tokens_details {
                let cached = usage.cached;
                put(
                    &mut out,
                    format_args!(
                        r#","prompt_tokens_details":{{"cached_tokens":{cached},"created_cache_tokens":0,"multimodal_tokens":null}}"#
                    ),
                );
            }
            out.push_str(r#","completion_tokens_details":null}"#);
        }
        if self.endpoint == Endpoint::Chat {
            out.push_str(r#","prompt_logprobs":null,"prompt_token_ids":null,"prompt_text":null"#);
        }
        out.push_str(r#","kv_transfer_params":null,"ec_transfer_params":null,"metrics":null}"#);
        out
    }

    fn continuous(&self, out: &mut String, usage: Usage) {
        if self.continuous_usage {
            out.push_str(r#","usage":{"#);
            counts(out, usage);
            out.push_str(r#","completion_tokens_details":null}"#);
        }
    }
}

/// The event that ends a stream.
pub(crate) const DONE: &str = "data: [DONE]\n\n";

/// `/v1/models`.
pub(crate) fn models(model: &str, max_model_len: usize, created_s: u64) -> String {
    let id = quoted(model);
    let permission = format!(
        r#"{{"id":"modelperm-sim","object":"model_permission","created":{created_s},"allow_create_engine":false,"allow_sampling":true,"allow_logprobs":true,"allow_search_indices":false,"allow_view":true,"allow_fine_tuning":false,"organization":"*","group":null,"is_blocking":false}}"#
    );
    format!(
        r#"{{"object":"list","data":[{{"id":{id},"object":"model","created":{created_s},"owned_by":"vllm","root":{id},"parent":null,"max_model_len":{max_model_len},"permission":[{permission}]}}]}}"#
    )
}

fn counts(out: &mut String, usage: Usage) {
    let (prompt, completion) = (usage.prompt, usage.completion);
    let total = prompt as u64 + completion;
    put(
        out,
        format_args!(r#""prompt_tokens":{prompt},"total_tokens":{total},"completion_tokens":{completion}"#),
    );
}

fn reason(finish: Option<Finish>) -> &'static str {
    match finish {
        None => "null",
        Some(Finish::Stop) => r#""stop""#,
        Some(Finish::Length) => r#""length""#,
        Some(Finish::Abort) => r#""abort""#,
    }
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string is JSON")
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a String takes any text");
}
