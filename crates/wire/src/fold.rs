//! Folds the events of one answer into what its request leaves behind.
//!
//! A pure state: events go in with the time of the socket read that brought them, and out comes when content arrived,
//! what the server counted, and how the answer ended. Rules from `design` §3.2, §3.6 and `metrics-and-exports` §2.3.
//! Whether the connection broke, time ran out or the request was called off is known elsewhere and decided there.

use crate::chat::{Carries, Chunk};
use crate::error::AnswerError;
use crate::sse::{Event, EventFault};
use crate::usage::Usage;

/// Most content chunks that one answer may have. Sixteen bytes are kept for each.
pub const CONTENT_CHUNKS_MAX: usize = 8_000_000;

/// The socket read that brought some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it returned; nanoseconds from the run's anchor.
    pub at_ns: u64,
    /// Its number on the connection.
    pub read: u64,
}

/// Arrival of one chunk with content, reasoning or tool-call text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentStamp {
    /// When the read that brought it returned.
    pub at_ns: u64,
    /// It came in the same read as the content chunk before it.
    pub same_read: bool,
}

/// How the HTTP body ended, as far as its framing tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// As its framing said, or by the end of the connection where nothing else marks the end.
    Whole,
    /// The connection ended before the framing was satisfied.
    Cut,
}

/// What became of an answer that came with a status of success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It has output and an end.
    Ok,
    /// It states that the prompt does not fit the context window; the text of the error.
    Overflow(String),
    /// It failed; the text says why.
    Failed(AnswerFault, String),
}

/// How an answer with a status of success failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerFault {
    /// It states an error.
    ErrorObject,
    /// It ended before a finish reason or `[DONE]`.
    Truncated,
    /// It was not understood, or held no output.
    Malformed,
}

/// What an answer left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// One for each content chunk, in order.
    pub contents: Vec<ContentStamp>,
    /// How many of them carried reasoning only.
    pub reasoning_chunks: u64,
    /// Arrival of the first content chunk that is not reasoning.
    pub first_output_ns: Option<u64>,
    /// Arrival of what ended the answer: `[DONE]` or an error. `None` when it went on until the body ended.
    pub end_ns: Option<u64>,
    /// The last report of token counts that was not empty.
    pub usage: Usage,
    /// The last finish reason.
    pub finish_reason: Option<String>,
    /// `[DONE]` came.
    pub done_seen: bool,
    /// Events that were no JSON of the expected shape. They are counted and passed over; an answer that has output and
    /// an end is a success in spite of them.
    pub malformed_events: u64,
    /// What became of it.
    pub verdict: Verdict,
}

/// The answer so far.
#[derive(Debug, Default)]
pub struct Fold {
    contents: Vec<ContentStamp>,
    last_content_read: Option<u64>,
    reasoning_chunks: u64,
    first_output_ns: Option<u64>,
    end_ns: Option<u64>,
    usage: Usage,
    finish_reason: Option<String>,
    done_seen: bool,
    whole_reply: bool,
    malformed_events: u64,
    first_malformed: Option<String>,
    error: Option<AnswerError>,
}

impl Fold {
    /// Takes one event, or the fault that stands in its place. Nothing that comes after the answer's end is looked at.
    pub fn event(&mut self, event: Result<Event<'_>, EventFault>, at_ns: u64) {
        if self.has_ended() {
            return;
        }
        let event = match event {
            Ok(event) => event,
            Err(fault) => return self.malformed(&fault),
        };
        if event.name.eq_ignore_ascii_case("error") {
            self.fail(AnswerError::in_error_event(event.data), at_ns);
            return;
        }
        match event.data.trim() {
            "" => {}
            "[DONE]" => {
                self.done_seen = true;
                self.end_ns = Some(at_ns);
            }
            data => match Chunk::parse(data) {
                Ok(chunk) => {
                    let arrival = Arrival {
                        at_ns,
                        read: event.read,
                    };
                    self.chunk(&chunk, data, arrival);
                }
                // A named event of another protocol is not ours to judge.
                Err(_) if !matches!(event.name, "" | "message") => {}
                Err(error) => self.malformed(&error),
            },
        }
    }

    /// Takes a whole reply that was not streamed: all its output is one content chunk, come with its last byte.
    pub fn reply(&mut self, body: &str, arrival: Arrival) {
        match Chunk::parse(body) {
            Ok(chunk) => {
                self.whole_reply = true;
                self.chunk(&chunk, body, arrival);
            }
            Err(error) => self.malformed(&error),
        }
    }

    /// `[DONE]` or an error came: what follows can only be the end of the framing.
    pub fn has_ended(&self) -> bool {
        self.end_ns.is_some()
    }

    /// Whether a finish reason came, or the answer has ended.
    pub fn has_terminal(&self) -> bool {
        self.has_ended() || self.finish_reason.is_some() || self.whole_reply
    }

    /// The body is over, or not to be read further.
    pub fn finish(self, end: BodyEnd) -> Answer {
        let verdict = self.verdict(end);
        Answer {
            contents: self.contents,
            reasoning_chunks: self.reasoning_chunks,
            first_output_ns: self.first_output_ns,
            end_ns: self.end_ns,
            usage: self.usage,
            finish_reason: self.finish_reason,
            done_seen: self.done_seen,
            malformed_events: self.malformed_events,
            verdict,
        }
    }

    fn chunk(&mut self, chunk: &Chunk<'_>, data: &str, arrival: Arrival) {
        if let Some(error) = AnswerError::in_chunk(chunk, data) {
            self.fail(error, arrival.at_ns);
            return;
        }
        for usage in [chunk.usage, chunk.usage_metadata].into_iter().flatten() {
            if !usage.is_empty() {
                self.usage = usage;
            }
        }
        self.content(chunk.carries(), arrival);
        if let Some(reason) = chunk.finish_reason() {
            self.finish_reason = Some(reason.to_owned());
        }
    }

    fn content(&mut self, carries: Carries, arrival: Arrival) {
        match carries {
            Carries::Nothing => return,
            Carries::Reasoning => self.reasoning_chunks += 1,
            Carries::Content | Carries::ToolCall => {
                self.first_output_ns.get_or_insert(arrival.at_ns);
            }
        }
        if self.contents.len() == CONTENT_CHUNKS_MAX {
            let text = format!("the answer has more than {CONTENT_CHUNKS_MAX} content chunks");
            self.fail(
                AnswerError {
                    text,
                    overflow: false,
                },
                arrival.at_ns,
            );
            return;
        }
        self.contents.push(ContentStamp {
            at_ns: arrival.at_ns,
            same_read: self.last_content_read == Some(arrival.read),
        });
        self.last_content_read = Some(arrival.read);
    }

    fn fail(&mut self, error: AnswerError, at_ns: u64) {
        self.error = Some(error);
        self.end_ns = Some(at_ns);
    }

    fn malformed(&mut self, why: &dyn std::error::Error) {
        self.malformed_events += 1;
        self.first_malformed.get_or_insert_with(|| why.to_string());
    }

    fn verdict(&self, end: BodyEnd) -> Verdict {
        if let Some(error) = &self.error {
            let text = error.text.clone();
            return if error.overflow {
                Verdict::Overflow(text)
            } else {
                Verdict::Failed(AnswerFault::ErrorObject, text)
            };
        }
        let chunks = self.contents.len();
        if !self.has_terminal() {
            let how = match end {
                BodyEnd::Whole => "ended",
                BodyEnd::Cut => "was cut off",
            };
            let text =
                format!("the answer {how} after {chunks} content chunks, without a finish reason or [DONE]");
            return Verdict::Failed(AnswerFault::Truncated, text);
        }
        // A token may decode to no text (half a character, a special token): the server's count then says that it came.
        if chunks == 0 && self.usage.completion_tokens.unwrap_or_default() == 0 {
            let mut text = String::from("the answer holds no content, reasoning or tool call");
            if let Some(why) = &self.first_malformed {
                text = format!(
                    "{text}; {} malformed events, the first: {why}",
                    self.malformed_events
                );
            }
            return Verdict::Failed(AnswerFault::Malformed, crate::error::bounded(&text));
        }
        Verdict::Ok
    }
}
