//! The fields of a request beside its prompt, in aiperf's order, rendered once for all requests of a model.
//!
//! `model`, `stream`, the output limit, extra inputs in the order given, `ignore_eos`, `stream_options`; a field that is
//! named twice keeps its first place and takes its last value (`aiperf-corpus` §6). Only the output limit differs
//! between requests.

use serde_json::value::RawValue;

use super::PromptError;
use super::escaped::Sink;

/// The key that limits the output; exactly one is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LimitKey {
    /// `max_completion_tokens`, aiperf's.
    #[default]
    MaxCompletionTokens,
    /// `max_tokens`, for older servers (`--use-legacy-max-tokens`).
    MaxTokens,
}

impl LimitKey {
    /// The key as sent.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MaxCompletionTokens => "max_completion_tokens",
            Self::MaxTokens => "max_tokens",
        }
    }
}

/// What is sent with every prompt.
#[derive(Clone, Debug, Default)]
pub struct EnvelopeOptions {
    /// The served model's name.
    pub model: String,
    /// Under which key the output limit goes.
    pub limit_key: LimitKey,
    /// Send the limit as `min_tokens` too, for servers that do not know `ignore_eos`. Not aiperf's.
    pub min_tokens: bool,
    /// Further fields in order, values as JSON text.
    pub extra: Vec<(String, Box<RawValue>)>,
    /// Send `ignore_eos: true`, as the scenario demands.
    pub ignore_eos: bool,
    /// Ask for token counts; a `stream_options` among the extra fields stands as it is.
    pub usage: bool,
}

/// Everything after the prompt of a request, be it a list of messages or of token ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Its fields.
    names: Vec<String>,
    /// Texts between which the output limit stands.
    pieces: Vec<Vec<u8>>,
}

/// Fields that hold the prompt, in the one form or the other.
const PROMPT_FIELDS: [&str; 2] = ["messages", "prompt"];

#[derive(Clone)]
enum Value {
    Limit,
    Json(String),
}

impl Envelope {
    /// Renders the fields.
    ///
    /// # Errors
    /// When an extra field is called as one that holds a prompt is: `messages` (chat) or `prompt` (completions).
    pub fn new(options: &EnvelopeOptions) -> Result<Self, PromptError> {
        let mut fields: Vec<(&str, Value)> = Vec::new();
        let mut set = |key, value| match fields.iter_mut().find(|(known, _)| *known == key) {
            Some(field) => field.1 = value,
            None => fields.push((key, value)),
        };
        set("model", Value::Json(json_string(&options.model)));
        set("stream", Value::Json("true".into()));
        set(options.limit_key.as_str(), Value::Limit);
        if options.min_tokens {
            set("min_tokens", Value::Limit);
        }
        for (name, value) in &options.extra {
            if PROMPT_FIELDS.contains(&name.as_str()) {
                return Err(PromptError::ReservedField { name: name.clone() });
            }
            set(name, Value::Json(compact(value.get())));
        }
        if options.ignore_eos {
            set("ignore_eos", Value::Json("true".into()));
        }
        let given = options.extra.iter().any(|(name, _)| name == "stream_options");
        if options.usage && !given {
            set("stream_options", Value::Json(r#"{"include_usage":true}"#.into()));
        }
        Ok(Self::render(&fields))
    }

    fn render(fields: &[(&str, Value)]) -> Self {
        let mut pieces = vec![b"]".to_vec()];
        for (key, value) in fields {
            let key = format!(",{}:", json_string(key));
            let last = pieces.last_mut().expect("it has a first piece");
            last.extend_from_slice(key.as_bytes());
            match value {
                Value::Json(text) => last.extend_from_slice(text.as_bytes()),
                Value::Limit => pieces.push(Vec::new()),
            }
        }
        pieces.last_mut().expect("it has a first piece").push(b'}');
        let names = fields.iter().map(|(key, _)| (*key).to_owned()).collect();
        Self { names, pieces }
    }

    /// True when no field of this name may stand in front of the prompt: a body has it already.
    pub(super) fn takes(&self, name: &str) -> bool {
        PROMPT_FIELDS.contains(&name) || self.names.iter().any(|taken| taken == name)
    }

    /// Puts the end of a body, from the bracket that closes the list which the prompt is.
    pub(super) fn put(&self, max_tokens: u64, sink: &mut impl Sink) {
        let limit = max_tokens.to_string();
        for (index, piece) in self.pieces.iter().enumerate() {
            if index > 0 {
                sink.put(limit.as_bytes());
            }
            sink.put(piece);
        }
    }
}

pub(super) fn json_string(text: &str) -> String {
    let mut escaped = Vec::new();
    super::escaped::escape(text, &mut escaped);
    let inside = String::from_utf8(escaped).expect("escaping keeps UTF-8");
    format!("\"{inside}\"")
}

/// JSON text without the blanks between its tokens; the order of keys stays.
pub(super) fn compact(json: &str) -> String {
    let mut in_string = false;
    let mut escaped = false;
    let keep = |letter: &char| {
        let blank = !in_string && letter.is_ascii_whitespace();
        if *letter == '"' && !escaped {
            in_string = !in_string;
        }
        escaped = *letter == '\\' && !escaped;
        !blank
    };
    json.chars().filter(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(options: EnvelopeOptions, expected: &str) {
        let options = EnvelopeOptions {
            model: "m \"0\"".into(),
            ..options
        };
        let mut body = bytes::BytesMut::new();
        Envelope::new(&options).unwrap().put(7, &mut body);
        assert_eq!(std::str::from_utf8(&body).unwrap(), expected);
    }

    fn extra(fields: &[(&str, &str)]) -> Vec<(String, Box<RawValue>)> {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        fields
            .iter()
            .map(|(name, text)| ((*name).to_owned(), raw(text)))
            .collect()
    }

    #[test]
    fn fields_stand_in_aiperf_s_order() {
        check(
            EnvelopeOptions::default(),
            r#"],"model":"m \"0\"","stream":true,"max_completion_tokens":7}"#,
        );
        check(
            EnvelopeOptions {
                limit_key: LimitKey::MaxTokens,
                min_tokens: true,
                usage: true,
                ..EnvelopeOptions::default()
            },
            r#"],"model":"m \"0\"","stream":true,"max_tokens":7,"min_tokens":7,"stream_options":{"include_usage":true}}"#,
        );
    }

    #[test]
    fn a_field_named_twice_keeps_its_place() {
        check(
            EnvelopeOptions {
                extra: extra(&[
                    ("top_k", "[ 1, 2 ]"),
                    ("ignore_eos", "1"),
                    ("stream", "false"),
                    ("z", r#"{ "b c": "\" x\\", "a": 1 }"#),
                ]),
                ignore_eos: true,
                usage: true,
                ..EnvelopeOptions::default()
            },
            concat!(
                r#"],"model":"m \"0\"","stream":false,"max_completion_tokens":7,"top_k":[1,2],"ignore_eos":true,"#,
                r#""z":{"b c":"\" x\\","a":1},"stream_options":{"include_usage":true}}"#
            ),
        );
        check(
            EnvelopeOptions {
                extra: extra(&[("max_completion_tokens", "9"), ("stream_options", "{}")]),
                usage: true,
                ..EnvelopeOptions::default()
            },
            r#"],"model":"m \"0\"","stream":true,"max_completion_tokens":9,"stream_options":{}}"#,
        );
    }

    #[test]
    fn the_prompt_cannot_be_replaced() {
        for reserved in ["messages", "prompt"] {
            let options = EnvelopeOptions {
                extra: extra(&[(reserved, "[]")]),
                ..EnvelopeOptions::default()
            };
            assert!(
                matches!(Envelope::new(&options), Err(PromptError::ReservedField { name }) if name == reserved)
            );
        }
    }
}
