//! The errors a request can be answered with, in the words and shapes of vLLM 0.32.
//!
//! Texts as captured from a real server, but for those on prompt plus output, on `min_tokens`, on the API key and on the method,
//! which no capture shows: they are vLLM's as its users quote them.

use serde::Serialize;

/// Why a request is not served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The body is no JSON, from this byte on.
    #[error("{message} at byte {at}")]
    BadJson {
        /// Offset into the body.
        at: usize,
        /// The parser's complaint.
        message: String,
    },
    /// The body is JSON, but not a request.
    #[error("{field}: {message}")]
    Invalid {
        /// Key at fault; empty if it is the body as a whole.
        field: String,
        /// What was found and what would be right.
        message: String,
    },
    /// There is no such model.
    #[error("no model {asked}")]
    UnknownModel {
        /// The model asked for.
        asked: String,
        /// The one there is.
        served: String,
    },
    /// A limit on output tokens of 0 or below.
    #[error("output limit {0}")]
    ZeroTokens(i64),
    /// More output tokens demanded than allowed.
    #[error("at least {min_tokens} output tokens, at most {max_tokens}")]
    MinAboveMax {
        /// `min_tokens`.
        min_tokens: usize,
        /// The limit in force.
        max_tokens: usize,
    },
    /// A limit on output tokens above the context length.
    #[error("output limit {asked} above {max_model_len}")]
    TooManyTokens {
        /// The limit asked for.
        asked: i64,
        /// The context length.
        max_model_len: usize,
    },
    /// The prompt alone is longer than the context.
    #[error("prompt longer than {max_model_len}")]
    PromptTooLong {
        /// The context length.
        max_model_len: usize,
    },
    /// The prompt and the output asked for are together longer than the context.
    #[error("prompt and {asked} output tokens longer than {max_model_len}")]
    ContextTooLong {
        /// The output limit asked for.
        asked: usize,
        /// The context length.
        max_model_len: usize,
    },
    /// API key missing or wrong.
    #[error("unauthorized")]
    Unauthorized,
    /// No such path.
    #[error("no such path")]
    NoSuchPath,
    /// The path has another method.
    #[error("method not allowed")]
    WrongMethod,
    /// The body is longer than the server takes.
    #[error("body longer than {0} bytes")]
    BodyTooLong(usize),
    /// A fault wants it so.
    #[error("{message}")]
    Fault {
        /// HTTP status.
        status: u16,
        /// Message of the error object.
        message: String,
    },
}

impl Refusal {
    /// HTTP status of the answer.
    pub fn status(&self) -> u16 {
        match self {
            Self::UnknownModel { .. } | Self::NoSuchPath => 404,
            Self::Unauthorized => 401,
            Self::WrongMethod => 405,
            Self::BodyTooLong(_) => 413,
            Self::Fault { status, .. } => *status,
            _ => 400,
        }
    }

    /// Body of the answer, JSON.
    pub fn body(&self) -> String {
        match self {
            Self::BadJson { at, message } => {
                let detail = format!(
                    "{{'type': 'json_invalid', 'loc': 'body.{at}', 'msg': 'JSON decode error', 'input': '<dict of 0 items>', 'ctx': {{'error': \"{message}\"}}}}"
                );
                validation(&detail, &format!("body.{at}"))
            }
            Self::Invalid { field, message } => {
                let place = if field.is_empty() {
                    "body".to_owned()
                } else {
                    format!("body.{field}")
                };
                let detail = format!("{{'type': 'value_error', 'loc': '{place}', 'msg': '{message}'}}");
                validation(&detail, &place)
            }
            Self::UnknownModel { asked, served } => {
                let message = format!("The model `{asked}` does not exist. Valid aliases: {served}.");
                error_object(&message, "NotFoundError", Some("model"), 404)
            }
            Self::ZeroTokens(asked) => bad(
                &format!("max_tokens must be at least 1, got {asked}."),
                "max_tokens",
                asked,
            ),
            Self::MinAboveMax {
                min_tokens,
                max_tokens,
            } => {
                let message = format!(
                    "min_tokens must be less than or equal to max_tokens={max_tokens}, got {min_tokens}."
                );
                error_object(&message, "BadRequestError", None, 400)
            }
            Self::TooManyTokens { asked, max_model_len } => bad(
                &format!(
                    "max_tokens={asked} cannot be greater than max_model_len={max_model_len}. Please request fewer output tokens."
                ),
                "max_tokens",
                asked,
            ),
            Self::PromptTooLong { max_model_len } => {
                let at_least = max_model_len + 1;
                let message = format!(
                    "This model's maximum context length is {max_model_len} tokens. However, your prompt contains at least {at_least} input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input prompt."
                );
                bad(&message, "input_tokens", at_least)
            }
            Self::ContextTooLong { asked, max_model_len } => {
                let (total, at_least) = (max_model_len + 1, max_model_len + 1 - asked);
                let message = format!(
                    "This model's maximum context length is {max_model_len} tokens. However, you requested {asked} output tokens and your prompt contains at least {at_least} input tokens, for a total of at least {total} tokens. Please reduce the length of the input prompt or the number of requested output tokens."
                );
                bad(&message, "input_tokens", at_least)
            }
            Self::Unauthorized => r#"{"error":"Unauthorized"}"#.to_owned(),
            Self::NoSuchPath => r#"{"detail":"Not Found"}"#.to_owned(),
            Self::WrongMethod => r#"{"detail":"Method Not Allowed"}"#.to_owned(),
            Self::BodyTooLong(_) => error_object(&self.to_string(), "BadRequestError", None, 413),
            Self::Fault { status, message } => error_object(message, kind_of(*status), None, *status),
        }
    }
}

#[derive(Serialize)]
struct Wrapped<'a> {
    error: Object<'a>,
}

#[derive(Serialize)]
struct Object<'a> {
    message: &'a str,
    r#type: &'a str,
    param: Option<&'a str>,
    code: u16,
}

/// vLLM's error object as JSON, also the one inside a stream.
pub(crate) fn error_object(message: &str, kind: &str, param: Option<&str>, code: u16) -> String {
    let error = Object {
        message,
        r#type: kind,
        param,
        code,
    };
    serde_json::to_string(&Wrapped { error }).expect("strings and numbers are JSON")
}

/// vLLM's `type` for a status.
pub(crate) fn kind_of(status: u16) -> &'static str {
    match status {
        404 => "NotFoundError",
        429 => "RateLimitError",
        400..500 => "BadRequestError",
        _ => "InternalServerError",
    }
}

fn bad(message: &str, parameter: &str, value: impl std::fmt::Display) -> String {
    let message = format!("{message} (parameter={parameter}, value={value})");
    error_object(&message, "BadRequestError", Some(parameter), 400)
}

fn validation(detail: &str, param: &str) -> String {
    error_object(
        &format!("1 validation error:\n  {detail}"),
        "Bad Request",
        Some(param),
        400,
    )
}
