//! What an answer of any of the four protocols says: when content came, how much of it the server counted, how it ended,
//! which tools it calls.
//!
//! Streamed answers are read event by event, each with the time at which its last bytes passed the proxy. What counts as
//! content is one rule for all protocols: text, reasoning, or a tool call's name or arguments that is not empty
//! (`metrics-and-exports` §1.3). Answer text is held for comparing it with what later requests contain, and is not written
//! unless the user asks for text.

use std::collections::BTreeMap;
use std::io::Write;

use flate2::write::{GzDecoder, ZlibDecoder};
use serde_json::Value;
use wire::sse::Splitter;
use wire::usage::Usage;

use crate::tap::{Collected, Endpoint};

/// Longest answer after decompression.
const DECODED_BYTES_MAX: usize = 256 << 20;
/// Longest word of a server's that is repeated in a row.
const WORD_BYTES_MAX: usize = 64;

/// An answer, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// When each content chunk came; one for an answer that was not streamed, none for one that was not read.
    pub(crate) content_ns: Vec<u64>,
    pub(crate) first_content_ns: Option<u64>,
    pub(crate) last_content_ns: Option<u64>,
    pub(crate) usage: Usage,
    pub(crate) finish_reason: Option<String>,
    /// A finish reason, `[DONE]` or its like came.
    pub(crate) is_complete: bool,
    /// The error that it states: its kind or code only, since messages quote prompts.
    pub(crate) error: Option<String>,
    /// That error's message.
    pub(crate) error_message: Option<String>,
    pub(crate) text: String,
    /// Arguments of each tool call, JSON as the server wrote it.
    pub(crate) tool_arguments: Vec<String>,
    pub(crate) calls_tools: bool,
    /// Id under which a later request may go on from it.
    pub(crate) response_id: Option<String>,
    /// Why it was not read.
    pub(crate) unread: Option<String>,
}

impl Answer {
    /// Content chunks.
    pub(crate) fn n_chunks(&self) -> u64 {
        self.content_ns.len() as u64
    }
}

/// Reads what was collected of an answer.
pub(crate) fn read(endpoint: Endpoint, body: &Collected, content_encoding: Option<&str>) -> Answer {
    let mut reading = Reading {
        endpoint,
        answer: Answer::default(),
        calls: BTreeMap::new(),
    };
    if let Some(why) = body.left_out {
        reading.answer.unread = Some(why.to_owned());
        reading.answer.first_content_ns = body.span_ns.map(|(first, _)| first);
        reading.answer.last_content_ns = body.span_ns.map(|(_, last)| last);
        return reading.answer;
    }
    match pieces(body, content_encoding) {
        Ok(pieces) => reading.body(&pieces),
        Err(why) => reading.answer.unread = Some(why),
    }
    reading.answer.tool_arguments = reading.calls.into_values().collect();
    reading.answer
}

/// The body's bytes with their times, content coding removed.
fn pieces(body: &Collected, content_encoding: Option<&str>) -> Result<Vec<(u64, Vec<u8>)>, String> {
    let mut decoder = match content_encoding.unwrap_or("identity") {
        "identity" | "" => Decoder::None,
        "gzip" | "x-gzip" => Decoder::Gzip(GzDecoder::new(Vec::new())),
        "deflate" => Decoder::Zlib(ZlibDecoder::new(Vec::new())),
        other => return Err(format!("content coding {} is not read", word(other))),
    };
    let mut length = 0;
    let mut out = Vec::with_capacity(body.pieces.len());
    for piece in &body.pieces {
        let decoded = decoder
            .decode(&piece.bytes)
            .map_err(|_| "its compression is broken")?;
        length += decoded.len();
        if length > DECODED_BYTES_MAX {
            return Err("longer than is recorded".to_owned());
        }
        out.push((piece.at_ns, decoded));
    }
    Ok(out)
}

enum Decoder {
    None,
    Gzip(GzDecoder<Vec<u8>>),
    Zlib(ZlibDecoder<Vec<u8>>),
}

impl Decoder {
    fn decode(&mut self, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
        match self {
            Self::None => Ok(bytes.to_vec()),
            Self::Gzip(decoder) => {
                decoder.write_all(bytes)?;
                decoder.flush()?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            Self::Zlib(decoder) => {
                decoder.write_all(bytes)?;
                decoder.flush()?;
                Ok(std::mem::take(decoder.get_mut()))
            }
        }
    }
}

struct Reading {
    endpoint: Endpoint,
    answer: Answer,
    /// Tool calls by their place in the answer.
    calls: BTreeMap<u64, String>,
}

impl Reading {
    fn body(&mut self, pieces: &[(u64, Vec<u8>)]) {
        let first = pieces
            .iter()
            .flat_map(|(_, bytes)| bytes)
            .find(|byte| !byte.is_ascii_whitespace());
        let Some((last_ns, _)) = pieces.last() else {
            return;
        };
        if first == Some(&b'{') {
            let whole: Vec<u8> = pieces.iter().flat_map(|(_, bytes)| bytes).copied().collect();
            match serde_json::from_slice(&whole) {
                Ok(reply) => self.reply(&reply, *last_ns),
                Err(_) => self.answer.unread = Some("it is no whole JSON object".to_owned()),
            }
            return;
        }
        let mut splitter = Splitter::default();
        for (read, (at_ns, bytes)) in pieces.iter().enumerate() {
            splitter.push(bytes, read as u64, |event| {
                if let Ok(event) = event {
                    self.event(event.data, *at_ns);
                }
            });
        }
        splitter.finish(|event| {
            if let Ok(event) = event {
                self.event(event.data, *last_ns);
            }
        });
    }

    fn event(&mut self, data: &str, at_ns: u64) {
        if data.trim() == "[DONE]" {
            self.answer.is_complete = true;
            return;
        }
        let Ok(event) = serde_json::from_str::<Value>(data) else {
            return;
        };
        let has_content = match self.endpoint {
            Endpoint::Chat | Endpoint::Completions => self.chunk(&event),
            Endpoint::Responses => self.responses_event(&event),
            Endpoint::Messages => self.messages_event(&event),
        };
        self.error(&event);
        if has_content {
            self.content(at_ns);
        }
    }

    fn content(&mut self, at_ns: u64) {
        self.answer.content_ns.push(at_ns);
        self.answer.first_content_ns.get_or_insert(at_ns);
        self.answer.last_content_ns = Some(at_ns);
    }

    /// A reply that was not streamed.
    fn reply(&mut self, reply: &Value, at_ns: u64) {
        self.error(reply);
        if self.answer.error.is_some() {
            return;
        }
        match self.endpoint {
            Endpoint::Chat | Endpoint::Completions => {
                self.chunk(reply);
            }
            Endpoint::Responses => self.response(reply, true),
            Endpoint::Messages => {
                self.usage(reply);
                for (index, block) in list(reply, "content").enumerate() {
                    self.add_text(text(block, "text"));
                    if let Some(input) = block.get("input") {
                        self.call(index as u64, "", &input.to_string());
                    }
                }
                self.finish(text(reply, "stop_reason"));
            }
        }
        self.answer.is_complete = true;
        self.content(at_ns);
    }

    /// A chunk, or a whole reply, of chat or completions. Gives back whether it has content.
    fn chunk(&mut self, chunk: &Value) -> bool {
        self.usage(chunk);
        let Some(choice) = chunk.get("choices").and_then(|choices| choices.get(0)) else {
            return false;
        };
        let delta = choice
            .get("delta")
            .or_else(|| choice.get("message"))
            .unwrap_or(choice);
        let mut has_content = false;
        for key in ["content", "text"] {
            has_content |= self.add_text(text(delta, key));
        }
        has_content |= ["reasoning_content", "reasoning"]
            .iter()
            .any(|key| !text(delta, key).is_empty());
        for (place, call) in list(delta, "tool_calls").enumerate() {
            let index = call.get("index").and_then(Value::as_u64).unwrap_or(place as u64);
            if let Some(function) = call.get("function") {
                has_content |= self.call(index, text(function, "name"), text(function, "arguments"));
            }
        }
        self.finish(text(choice, "finish_reason"));
        has_content
    }

    fn responses_event(&mut self, event: &Value) -> bool {
        let index = event.get("output_index").and_then(Value::as_u64).unwrap_or(0);
        let delta = text(event, "delta");
        match text(event, "type") {
            "response.output_text.delta" => self.add_text(delta),
            "response.function_call_arguments.delta" => self.call(index, "", delta),
            "response.output_item.added" => {
                let name = event.get("item").map_or("", |item| text(item, "name"));
                self.call(index, name, "")
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.answer.is_complete = true;
                if let Some(response) = event.get("response") {
                    self.response(response, false);
                }
                false
            }
            // Reasoning, refusals, and what other tools stream.
            kind => kind.rsplit('.').next() == Some("delta") && !delta.is_empty(),
        }
    }

    /// A Responses object; its output is looked at where it was not streamed.
    fn response(&mut self, response: &Value, with_output: bool) {
        self.usage(response);
        self.error(response);
        self.answer.response_id = Some(text(response, "id").to_owned()).filter(|id| !id.is_empty());
        for (index, item) in list(response, "output").enumerate().filter(|_| with_output) {
            for part in list(item, "content") {
                self.add_text(text(part, "text"));
            }
            if text(item, "type") == "function_call" {
                self.call(index as u64, text(item, "name"), text(item, "arguments"));
            }
        }
        let reason = response
            .get("incomplete_details")
            .map_or("", |details| text(details, "reason"));
        self.finish(match (reason, text(response, "status")) {
            ("", "completed") if self.answer.calls_tools => "tool_calls",
            ("", "completed") => "stop",
            ("max_output_tokens", _) => "length",
            ("", status) => status,
            (reason, _) => reason,
        });
    }

    fn messages_event(&mut self, event: &Value) -> bool {
        let index = event.get("index").and_then(Value::as_u64).unwrap_or(0);
        match text(event, "type") {
            "message_start" => {
                if let Some(message) = event.get("message") {
                    self.usage(message);
                }
                false
            }
            "content_block_start" => {
                let name = event.get("content_block").map_or("", |block| text(block, "name"));
                self.call(index, name, "")
            }
            "content_block_delta" => {
                let Some(delta) = event.get("delta") else {
                    return false;
                };
                let arguments = self.call(index, "", text(delta, "partial_json"));
                self.add_text(text(delta, "text")) || arguments || !text(delta, "thinking").is_empty()
            }
            "message_delta" => {
                self.usage(event);
                if let Some(delta) = event.get("delta") {
                    self.finish(text(delta, "stop_reason"));
                }
                false
            }
            "message_stop" => {
                self.answer.is_complete = true;
                false
            }
            _ => false,
        }
    }

    fn add_text(&mut self, text: &str) -> bool {
        self.answer.text.push_str(text);
        !text.is_empty()
    }

    fn call(&mut self, index: u64, name: &str, arguments: &str) -> bool {
        if name.is_empty() && arguments.is_empty() {
            return false;
        }
        self.answer.calls_tools = true;
        self.calls.entry(index).or_default().push_str(arguments);
        true
    }

    fn finish(&mut self, reason: &str) {
        if !reason.is_empty() {
            self.answer.finish_reason = Some(word(reason));
            self.answer.is_complete = true;
        }
    }

    /// Later counts replace earlier ones, count by count: one protocol tells prompt and output apart.
    fn usage(&mut self, holder: &Value) {
        let Some(told) = holder.get("usage").filter(|usage| usage.is_object()) else {
            return;
        };
        let Ok(told) = serde_json::from_value::<Usage>(told.clone()) else {
            return;
        };
        let usage = &mut self.answer.usage;
        usage.prompt_tokens = told.prompt_tokens.or(usage.prompt_tokens);
        usage.completion_tokens = told.completion_tokens.or(usage.completion_tokens);
        usage.cached_tokens = told.cached_tokens.or(usage.cached_tokens);
        usage.reasoning_tokens = told.reasoning_tokens.or(usage.reasoning_tokens);
    }

    fn error(&mut self, holder: &Value) {
        let Some(error) = holder.get("error").filter(|error| !error.is_null()) else {
            return;
        };
        let kind = ["type", "code"].iter().find_map(|key| match error.get(key) {
            Some(Value::String(kind)) if !kind.is_empty() => Some(word(kind)),
            Some(Value::Number(code)) => Some(code.to_string()),
            _ => None,
        });
        let message = error.get("message").unwrap_or(error);
        let message = message
            .as_str()
            .map_or_else(|| message.to_string(), str::to_owned);
        let mut kind = kind.unwrap_or_else(|| "error".to_owned());
        if wire::error::is_context_overflow(&message) {
            kind.push_str(" (context overflow)");
        }
        self.answer.error = Some(kind);
        self.answer.error_message = Some(message);
    }
}

/// A word of the server's own, cut to what a word can be: what is longer or has other signs may be anything.
pub(crate) fn word(text: &str) -> String {
    let is_word = |sign: &char| sign.is_ascii_alphanumeric() || "_-.:".contains(*sign);
    text.chars().filter(is_word).take(WORD_BYTES_MAX).collect()
}

fn text<'a>(holder: &'a Value, key: &str) -> &'a str {
    holder.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(holder: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    holder.get(key).and_then(Value::as_array).into_iter().flatten()
}
