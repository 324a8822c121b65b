//! How servers complain: an error's text wherever it stands, and whether it says that the prompt was too long.

use serde_json::Value;

use crate::chat::Chunk;

/// Longest error text that a record keeps, in bytes: 4 KiB.
pub const ERROR_TEXT_BYTES_MAX: usize = 4096;

/// What an error says when the prompt does not fit the context window, in lower case (aiperf 0.12.0,
/// `metrics-and-exports` §1.10).
pub const CONTEXT_OVERFLOW_WORDS: [&str; 4] = [
    "context length",
    "maximum context",
    "context_length_exceeded",
    "prompt is too long",
];

/// Whether an error's text says that the prompt does not fit the context window.
///
/// Looks, whatever the case, at the text itself and at the `error.message` (or `error`) of the JSON that it may be.
/// Meant for any error text: the body of an HTTP error as well as an error object inside a stream.
pub fn is_context_overflow(text: &str) -> bool {
    says_overflow(text) || nested_message(text).is_some_and(|message| says_overflow(&message))
}

fn says_overflow(text: &str) -> bool {
    let text = text.to_lowercase();
    CONTEXT_OVERFLOW_WORDS.iter().any(|words| text.contains(words))
}

/// `error.message`, or `error` where that is text, of a JSON document.
fn nested_message(text: &str) -> Option<String> {
    let document: Value = serde_json::from_str(text).ok()?;
    let error = document.get("error")?;
    let message = error.get("message").unwrap_or(error);
    message.as_str().map(str::to_owned)
}

/// `text` cut to [`ERROR_TEXT_BYTES_MAX`] at a character, with a mark where it was cut.
pub fn bounded(text: &str) -> String {
    const CUT: &str = "…";
    if text.len() <= ERROR_TEXT_BYTES_MAX {
        return text.to_owned();
    }
    let mut end = ERROR_TEXT_BYTES_MAX - CUT.len();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{CUT}", &text[..end])
}

/// An error found inside an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerError {
    /// What it says, for people: message, and code where one is given. Cut as by [`bounded`].
    pub text: String,
    /// [`is_context_overflow`] of its text, message or code.
    pub overflow: bool,
}

impl AnswerError {
    /// The error that a chunk states: a top-level `error` object or text, the flat `error_type`/`error_message`, or
    /// the whole chunk when `object` is `error`. `None` for a chunk that states none (`"error":null` included).
    pub fn in_chunk(chunk: &Chunk<'_>, data: &str) -> Option<Self> {
        if let Some(error) = chunk.error {
            return Some(Self::from_json(error.get()));
        }
        if let Some(message) = &chunk.error_message {
            return Some(Self::new(&message.0, data));
        }
        if let Some(kind) = &chunk.error_type {
            return Some(Self::new(&kind.0, data));
        }
        let is_error = chunk.object.as_ref().is_some_and(|object| object.0 == "error");
        is_error.then(|| Self::from_json(data))
    }

    /// The error of an event that the server named `error`, whatever its data is.
    pub fn in_error_event(data: &str) -> Self {
        let stated = Chunk::parse(data)
            .ok()
            .and_then(|chunk| Self::in_chunk(&chunk, data));
        stated.unwrap_or_else(|| Self::from_json(data))
    }

    /// From an error object, an error text, or anything else as it stands.
    fn from_json(raw: &str) -> Self {
        let value: Value = serde_json::from_str(raw).unwrap_or(Value::Null);
        let message = value.get("message").unwrap_or(&value).as_str();
        let code = match value.get("code") {
            Some(Value::String(code)) => Some(code.clone()),
            Some(Value::Number(code)) => Some(code.to_string()),
            _ => None,
        };
        match (message, code) {
            (Some(message), Some(code)) => Self::new(&format!("{message} (code {code})"), raw),
            (Some(message), None) => Self::new(message, raw),
            (None, _) => Self::new(raw, raw),
        }
    }

    fn new(text: &str, raw: &str) -> Self {
        Self {
            text: bounded(text),
            overflow: is_context_overflow(text) || is_context_overflow(raw),
        }
    }
}
