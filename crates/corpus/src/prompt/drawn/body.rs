//! A request whose prompt is drawn: a list of token ids for the completions endpoint, messages for chat.
//!
//! Only a list of ids gives the server exactly the tokens that are planned. Messages come to as many tokens of text, to
//! which the server's chat template adds its own (`trace-csv` §4.3). Never holds the text: the stretches are all there is.

use std::fmt::Write;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;
use tree::segments::Role;

use super::{Drawer, Sequence, Stretch};
use crate::prompt::Envelope;
use crate::prompt::chunks::{Chunked, Walk};
use crate::prompt::envelope::{compact, json_string};
use crate::prompt::escaped::Sink;

/// Most tokens that one step puts.
const STEP_TOKENS: u32 = 64;

/// One message of a drawn prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnMessage {
    /// Who speaks.
    pub role: Role,
    /// What is said; of no stretches, the empty text.
    pub stretches: Vec<Stretch>,
}

/// What a prompt consists of, in the form in which it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DrawnPrompt {
    /// Chat: text by role.
    Messages(Vec<DrawnMessage>),
    /// Completions: one list of token ids.
    Ids(Vec<Stretch>),
}

impl DrawnPrompt {
    /// Tokens of all stretches.
    fn tokens(&self) -> u64 {
        let sum = |stretches: &[Stretch]| stretches.iter().map(|stretch| u64::from(stretch.tokens)).sum();
        match self {
            Self::Messages(messages) => messages.iter().map(|message| sum(&message.stretches)).sum(),
            Self::Ids(stretches) => sum(stretches),
        }
    }

    /// Part number `number` of the list that is sent: a message, or the ids as a whole.
    fn part(&self, number: usize) -> Option<Part<'_>> {
        match self {
            Self::Messages(messages) => messages.get(number).map(|message| Part {
                role: Some(message.role),
                stretches: &message.stretches,
            }),
            Self::Ids(stretches) => (number == 0).then_some(Part {
                role: None,
                stretches,
            }),
        }
    }
}

struct Part<'a> {
    /// `None` where ids are sent.
    role: Option<Role>,
    stretches: &'a [Stretch],
}

impl Part<'_> {
    fn open(&self, number: usize, sink: &mut impl Sink) {
        let Some(role) = self.role else { return };
        if number > 0 {
            sink.put(b",");
        }
        sink.put(match role {
            Role::System => br#"{"role":"system","content":""#,
            Role::User => br#"{"role":"user","content":""#,
            Role::Assistant => br#"{"role":"assistant","content":""#,
        });
    }

    fn close(&self, sink: &mut impl Sink) {
        if self.role.is_some() {
            sink.put(br#""}"#);
        }
    }
}

/// What a request has beside its drawn prompt.
#[derive(Clone, Copy, Debug)]
pub struct DrawnOptions<'a> {
    /// The fields after the prompt.
    pub envelope: &'a Arc<Envelope>,
    /// The output limit.
    pub max_tokens: u64,
    /// Further fields of this request alone, in front of the prompt, values as JSON text. One that is in the envelope too
    /// is left out: what was stated for the whole run stands.
    pub fields: &'a [(String, Box<RawValue>)],
}

impl Drawer {
    /// The body that sends `prompt`.
    pub fn body(&self, prompt: DrawnPrompt, options: &DrawnOptions<'_>) -> DrawnBody {
        DrawnBody(Chunked::new(Drawn {
            drawer: self.clone(),
            head: head(&prompt, options).into_boxed_str(),
            envelope: Arc::clone(options.envelope),
            max_tokens: options.max_tokens,
            prompt,
        }))
    }
}

/// What comes before the prompt's first part.
fn head(prompt: &DrawnPrompt, options: &DrawnOptions<'_>) -> String {
    let mut head = String::from("{");
    let of_its_own = options
        .fields
        .iter()
        .filter(|(name, _)| !options.envelope.takes(name));
    for (name, value) in of_its_own {
        write!(head, "{}:{},", json_string(name), compact(value.get())).expect("a String takes any text");
    }
    head.push_str(match prompt {
        DrawnPrompt::Messages(_) => r#""messages":["#,
        DrawnPrompt::Ids(_) => r#""prompt":["#,
    });
    head
}

/// The body of one request with a drawn prompt, given out chunk by chunk.
pub struct DrawnBody(Chunked<Drawn>);

impl DrawnBody {
    /// Bytes of the whole body.
    pub fn content_length(&self) -> u64 {
        self.0.content_length()
    }

    /// Tokens that are drawn: the planned ISL. What a chat template adds is not in it.
    pub fn isl_planned(&self) -> u64 {
        self.0.walk().prompt.tokens()
    }

    /// The next bytes, at most [`crate::prompt::CHUNK_BYTES`] of them; `None` after the last.
    pub fn next_chunk(&mut self) -> Option<Bytes> {
        self.0.next_chunk()
    }

    /// Starts over: the next chunk is the first again.
    pub fn rewind(&mut self) {
        self.0.rewind();
    }
}

/// All stretches with what stands around them.
struct Drawn {
    drawer: Drawer,
    head: Box<str>,
    envelope: Arc<Envelope>,
    max_tokens: u64,
    prompt: DrawnPrompt,
}

/// The next part, the next of its stretches, and how much of that has been drawn.
#[derive(Default)]
struct Cursor {
    started: bool,
    part: usize,
    /// Something of the part has been put.
    opened: bool,
    stretch: usize,
    drawn: u32,
    sequence: Option<Sequence>,
    /// An id has been put, so the next one follows a comma.
    follows: bool,
}

impl Walk for Drawn {
    type Cursor = Cursor;

    fn step(&self, cursor: &mut Cursor, sink: &mut impl Sink) -> bool {
        if !std::mem::replace(&mut cursor.started, true) {
            sink.put(self.head.as_bytes());
        }
        let Some(part) = self.prompt.part(cursor.part) else {
            self.envelope.put(self.max_tokens, sink);
            return false;
        };
        if !std::mem::replace(&mut cursor.opened, true) {
            part.open(cursor.part, sink);
        }
        if let Some(stretch) = part.stretches.get(cursor.stretch) {
            self.put(stretch, part.role.is_none(), cursor, sink);
        } else {
            part.close(sink);
            cursor.part += 1;
            cursor.stretch = 0;
            cursor.opened = false;
        }
        true
    }
}

impl Drawn {
    /// Puts the next tokens of `stretch`, as ids or as text.
    fn put(&self, stretch: &Stretch, as_ids: bool, cursor: &mut Cursor, sink: &mut impl Sink) {
        let tokens = &self.drawer.tokens;
        let sequence = cursor
            .sequence
            .get_or_insert_with(|| self.drawer.sequence(stretch.label));
        let now = (stretch.tokens - cursor.drawn).min(STEP_TOKENS);
        for _ in 0..now {
            let position = sequence.next(tokens.len());
            if as_ids {
                if std::mem::replace(&mut cursor.follows, true) {
                    sink.put(b",");
                }
                sink.put(tokens.number(position));
            } else {
                sink.put(tokens.text(position));
            }
        }
        cursor.drawn += now;
        if cursor.drawn == stretch.tokens {
            cursor.sequence = None;
            cursor.drawn = 0;
            cursor.stretch += 1;
        }
    }
}
