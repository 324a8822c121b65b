//! From a request body to its prompt: one run of bytes in the order in which a model reads it, and where its parts end.
//!
//! Tool schemas come first, then system texts, then messages, as chat templates have them. Two bodies that mean the same
//! prompt give the same bytes: object keys are sorted, text is the same whether it stands alone or in parts, and marks for
//! caches, which move from turn to turn, are left out. Byte values that no text contains stand between parts, so that a
//! prompt contains another exactly if its messages begin with the other's.
//!
//! Pure. The bytes are for hashing and comparing and are never written anywhere.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::tap::Endpoint;

/// Bytes that UTF-8 never has, before a part's kind, before its text and behind it.
const OPEN: u8 = 0xff;
const TEXT: u8 = 0xfe;
const CLOSE: u8 = 0xfd;
/// Completions prompts have no messages; they are compared in stretches of so many bytes.
pub(crate) const STRETCH_BYTES: usize = 256;
/// Bytes of one token id in [`Prompt::bytes`].
pub(crate) const ID_BYTES: usize = 4;
/// Longest piece of inline data (an image, say) that stands for itself; a longer one is replaced by its digest.
const INLINE_BYTES_MAX: usize = 256;
/// Keys that say nothing about the prompt.
const NOT_PROMPT: [&str; 2] = ["cache_control", "id"];

/// A prompt in canonical form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub(crate) model: String,
    pub(crate) streamed: bool,
    pub(crate) bytes: Vec<u8>,
    /// Where the tool schemas end.
    pub(crate) tools_end: usize,
    /// Where the system texts that come before any message end.
    pub(crate) system_end: usize,
    /// Where each message ends; the first begins at [`Self::messages_start`].
    pub(crate) message_ends: Vec<usize>,
    /// Where the list of messages begins.
    pub(crate) messages_start: usize,
    /// The prompt was sent as token ids, each [`ID_BYTES`] long.
    pub(crate) is_ids: bool,
    /// Texts of the first message of a user: the whole, then its parts where it has several.
    pub(crate) first_user: Vec<String>,
    /// Texts of the assistant in the last message of it, for comparing with an answer.
    pub(crate) last_assistant: Option<String>,
    /// Content kinds of what the client added since the last answer.
    pub(crate) new_kinds: Vec<&'static str>,
    /// The response that it goes on from; what led to that is not in the request.
    pub(crate) previous_response: Option<String>,
    /// Bytes in front of the request's own messages that came from earlier ones.
    carried: usize,
}

/// Messages in canonical form, and where each ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Messages {
    pub(crate) bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Messages {
    /// Puts later ones behind.
    pub(crate) fn append(&mut self, later: &Self) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&later.bytes);
        self.ends.extend(later.ends.iter().map(|end| start + end));
    }
}

impl Prompt {
    /// The prompt of a request body.
    ///
    /// # Errors
    /// When the body is no JSON object of the endpoint; says what is wrong, in words that hold nothing of the body.
    pub(crate) fn read(endpoint: Endpoint, body: &[u8]) -> Result<Self, &'static str> {
        let Ok(Value::Object(body)) = serde_json::from_slice::<Value>(body) else {
            return Err("the request is no JSON object");
        };
        let mut prompt = Self {
            model: body
                .get("model")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            streamed: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
            ..Self::default()
        };
        prompt.tools(&body);
        let known = match endpoint {
            Endpoint::Chat => prompt.chat(&body),
            Endpoint::Messages => prompt.messages_api(&body),
            Endpoint::Responses => prompt.responses(&body),
            Endpoint::Completions => prompt.completions(&body),
        };
        known.ok_or("the request has no prompt that is known")?;
        Ok(prompt)
    }

    /// Whether messages stand before its own that are not known.
    pub(crate) fn lacks_beginning(&self) -> bool {
        self.previous_response.is_some() && self.carried == 0
    }

    /// Puts what was said before in front of the request's own messages.
    pub(crate) fn carry(&mut self, before: &Messages) {
        let start = self.messages_start;
        self.carried = before.bytes.len();
        self.bytes.splice(start..start, before.bytes.iter().copied());
        for end in &mut self.message_ends {
            *end += self.carried;
        }
        let ends = before.ends.iter().map(|end| start + end);
        self.message_ends.splice(0..0, ends);
        // System texts among the new messages do not come before all others any more.
        self.system_end = self.system_end.min(start);
    }

    /// The request's own messages and the texts of its answer, for [`Self::carry`] of what goes on from it.
    pub(crate) fn said(&self, answer: &[&str]) -> Messages {
        let start = self.messages_start + self.carried;
        let mut said = Self {
            bytes: self.bytes[start..].to_vec(),
            ..Self::default()
        };
        let own = self.message_ends.iter().filter(|end| **end > start);
        said.message_ends = own.map(|end| end - start).collect();
        for text in answer {
            said.part("assistant", text);
            said.message_ends.push(said.bytes.len());
        }
        Messages {
            bytes: said.bytes,
            ends: said.message_ends,
        }
    }

    fn tools(&mut self, body: &Map<String, Value>) {
        for key in ["tools", "functions"] {
            for tool in body.get(key).and_then(Value::as_array).into_iter().flatten() {
                self.part("tool", &canonical(tool));
            }
        }
        self.tools_end = self.bytes.len();
        self.system_end = self.tools_end;
        self.messages_start = self.tools_end;
    }

    fn chat(&mut self, body: &Map<String, Value>) -> Option<()> {
        for message in body.get("messages")?.as_array()? {
            self.message(message);
        }
        Some(())
    }

    fn messages_api(&mut self, body: &Map<String, Value>) -> Option<()> {
        if let Some(system) = body.get("system") {
            self.system(&content_text(system));
        }
        self.chat(body)
    }

    fn responses(&mut self, body: &Map<String, Value>) -> Option<()> {
        if let Some(text) = body.get("instructions").and_then(Value::as_str) {
            self.system(text);
        }
        let previous = body.get("previous_response_id").and_then(Value::as_str);
        self.previous_response = previous.map(str::to_owned);
        match body.get("input")? {
            Value::String(text) => {
                self.add("user", text, "text", Vec::new());
                Some(())
            }
            Value::Array(items) => {
                for item in items {
                    self.message(item);
                }
                Some(())
            }
            _ => None,
        }
    }

    fn completions(&mut self, body: &Map<String, Value>) -> Option<()> {
        let mut prompt = body.get("prompt")?;
        // A list of one prompt is a prompt; of several, only the first is looked at.
        if let Some(inner) = prompt.get(0).filter(|inner| !inner.is_number()) {
            prompt = inner;
        }
        match prompt {
            Value::String(text) => {
                self.bytes.extend_from_slice(text.as_bytes());
                self.first_user = vec![text.clone()];
            }
            Value::Array(ids) => {
                self.is_ids = true;
                for id in ids {
                    let id = u32::try_from(id.as_u64()?).ok()?;
                    self.bytes.extend_from_slice(&id.to_le_bytes());
                }
            }
            _ => return None,
        }
        self.new_kinds = vec!["text"];
        let start = self.messages_start;
        self.message_ends = (start..=self.bytes.len())
            .step_by(STRETCH_BYTES)
            .skip(1)
            .collect();
        Some(())
    }

    fn system(&mut self, text: &str) {
        self.part("system", text);
        self.system_end = self.bytes.len();
        self.messages_start = self.bytes.len();
    }

    /// A message of any of the protocols, or an item of a Responses input.
    fn message(&mut self, message: &Value) {
        let kind = message.get("type").and_then(Value::as_str).unwrap_or("message");
        let role = message.get("role").and_then(Value::as_str);
        let (role, text, content_kind) = match (kind, role) {
            ("function_call_output", _) => (
                "tool",
                content_text(message.get("output").unwrap_or(&Value::Null)),
                "tool_result",
            ),
            (_, Some(role)) => {
                let content = message.get("content").unwrap_or(&Value::Null);
                let mut text = content_text(content);
                for key in ["tool_calls", "function_call", "tool_call_id"] {
                    if let Some(value) = message.get(key).filter(|value| !value.is_null()) {
                        text.push_str(&canonical(value));
                    }
                }
                let is_result = matches!(role, "tool" | "function") || has_part(content, "tool_result");
                (role, text, if is_result { "tool_result" } else { "text" })
            }
            // Calls and reasoning that the client gives back.
            (_, None) => ("assistant", canonical(message), "text"),
        };
        let parts = message
            .get("content")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        self.add(role, &text, content_kind, parts.map(part_text).collect());
    }

    fn add(&mut self, role: &str, text: &str, kind: &'static str, parts: Vec<String>) {
        let is_leading = self.bytes.len() == self.system_end;
        self.part(role, text);
        self.message_ends.push(self.bytes.len());
        match role {
            "system" | "developer" if is_leading => self.system_end = self.bytes.len(),
            "system" | "developer" => {}
            "assistant" => {
                self.new_kinds.clear();
                self.last_assistant = Some(text.to_owned());
            }
            _ => {
                if role == "user" && self.first_user.is_empty() {
                    self.first_user.push(text.to_owned());
                    self.first_user.extend(parts);
                }
                if !self.new_kinds.contains(&kind) {
                    self.new_kinds.push(kind);
                }
            }
        }
    }

    fn part(&mut self, kind: &str, text: &str) {
        self.bytes.push(OPEN);
        self.bytes.extend_from_slice(kind.as_bytes());
        self.bytes.push(TEXT);
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(CLOSE);
    }
}

/// The text of a message's content, whether it stands alone or in parts; what is no text in canonical JSON.
fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(parts) => parts.iter().map(part_text).collect(),
        other => part_text(other),
    }
}

fn part_text(part: &Value) -> String {
    match part {
        Value::String(text) => text.clone(),
        _ => match (
            part.get("type").and_then(Value::as_str),
            part.get("text").and_then(Value::as_str),
        ) {
            (Some("text" | "input_text" | "output_text") | None, Some(text)) => text.to_owned(),
            _ => canonical(part),
        },
    }
}

fn has_part(content: &Value, kind: &str) -> bool {
    let parts = content.as_array().into_iter().flatten();
    parts
        .into_iter()
        .any(|part| part.get("type").and_then(Value::as_str) == Some(kind))
}

/// JSON with sorted keys, without what is no prompt, and with digests for long inline data.
fn canonical(value: &Value) -> String {
    reduced(value).to_string()
}

fn reduced(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let kept = object
                .iter()
                .filter(|(key, _)| !NOT_PROMPT.contains(&key.as_str()));
            Value::Object(
                kept.map(|(key, value)| (key.clone(), reduced_at(key, value)))
                    .collect(),
            )
        }
        Value::Array(list) => Value::Array(list.iter().map(reduced).collect()),
        other => other.clone(),
    }
}

fn reduced_at(key: &str, value: &Value) -> Value {
    match value {
        Value::String(data)
            if matches!(key, "data" | "url" | "file_data") && data.len() > INLINE_BYTES_MAX =>
        {
            let digest = Sha256::digest(data.as_bytes());
            Value::String(digest.iter().map(|byte| format!("{byte:02x}")).collect())
        }
        other => reduced(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(endpoint: Endpoint, body: &str) -> Prompt {
        Prompt::read(endpoint, body.as_bytes()).unwrap()
    }

    #[test]
    fn bodies_that_mean_one_prompt_give_the_same_bytes() {
        let cases = [
            (
                Endpoint::Chat,
                r#"{"messages":[{"role":"user","content":"a"}]}"#,
                r#"{"model":"m","stream":true,"messages":[{"content":[{"type":"text","text":"a"}],"role":"user"}]}"#,
            ),
            (
                Endpoint::Messages,
                r#"{"system":"s","messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]}"#,
                r#"{"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":"a"}]}"#,
            ),
            (
                Endpoint::Chat,
                r#"{"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"messages":[]}"#,
                r#"{"messages":[],"tools":[{"function":{"parameters":{},"name":"f"},"type":"function"}]}"#,
            ),
            (
                Endpoint::Responses,
                r#"{"input":"a"}"#,
                r#"{"input":[{"role":"user","content":[{"type":"input_text","text":"a"}]}]}"#,
            ),
            (
                Endpoint::Completions,
                r#"{"prompt":"ab"}"#,
                r#"{"prompt":["ab","c"]}"#,
            ),
            (
                Endpoint::Completions,
                r#"{"prompt":[1,2]}"#,
                r#"{"prompt":[[1,2]]}"#,
            ),
        ];
        for (endpoint, one, other) in cases {
            assert_eq!(read(endpoint, one).bytes, read(endpoint, other).bytes, "{one}");
        }
    }

    #[test]
    fn a_later_turn_begins_with_the_earlier_one() {
        let first = r#"{"tools":[{"name":"f"}],"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"}"#;
        let turns = [
            format!("{first}]}}"),
            format!(
                r#"{first},{{"role":"assistant","content":null,"tool_calls":[{{"id":"1"}}]}},{{"role":"tool","content":"r"}}]}}"#
            ),
        ];
        let [one, two] = turns.map(|body| read(Endpoint::Chat, &body));
        assert!(two.bytes.starts_with(&one.bytes));
        assert_eq!(one.message_ends.last(), Some(&one.bytes.len()));
        assert!(two.message_ends.contains(&one.bytes.len()));
        assert_eq!(
            (one.new_kinds, two.new_kinds),
            (vec!["text"], vec!["tool_result"])
        );
        assert!(0 < one.tools_end && one.tools_end < one.system_end && one.system_end < one.message_ends[1]);
        assert_eq!(one.first_user, ["a"]);
    }

    #[test]
    fn what_is_no_prompt_is_said_without_quoting_it() {
        for (endpoint, body) in [
            (Endpoint::Chat, "secret"),
            (Endpoint::Chat, r#"{"messages":"secret"}"#),
            (Endpoint::Completions, r#"{"prompt":[1,"secret"]}"#),
            (Endpoint::Responses, r#"{"input":7}"#),
        ] {
            let complaint = Prompt::read(endpoint, body.as_bytes()).unwrap_err();
            assert!(!complaint.contains("secret"));
        }
    }
}
