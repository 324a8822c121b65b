//! One chat request's body: its exact length before it is sent, its bytes in chunks while it is.
//!
//! A body knows where its blocks are in the pool, four bytes a block, and gathers their text from there ([`Chunked`]).
//! Only with a tokenizer that gives text for whole messages ([`Pool::is_sliced`] is false) does the text of one message
//! exist at once while it is sent.

use std::sync::Arc;

use bytes::Bytes;
use tree::segments::{Role, Segment, SegmentList};
use tree::{BLOCK_TOKENS, Conversation, InputKind, Trace, TurnRef};

use super::chunks::{Chunked, Walk};
use super::escaped::{Held, Sink, escape};
use super::pool::Window;
use super::{BlockStarts, Envelope, Pool, Prompter};

/// What a request has beside its prompt.
#[derive(Clone, Copy, Debug)]
pub struct BodyOptions<'a> {
    /// The fields after the messages.
    pub envelope: &'a Arc<Envelope>,
    /// The output limit; aiperf sends 1 in warm-up, else the turn's own.
    pub max_tokens: u64,
    /// Goes before the text of the first user message; dropped if there is none. See [`super::marker`].
    pub marker: Option<&'a str>,
    /// Send the answers of tools under the role `tool` (`--tool-shaped-messages`, `aiperf-corpus` §5.9).
    pub tool_shaped: bool,
}

impl Prompter {
    /// The body of `turn` of `trace`.
    ///
    /// # Panics
    /// When the trace has no such turn, or `starts` was made for another trace.
    pub fn body(
        &self,
        starts: &BlockStarts,
        trace: &Trace,
        turn: TurnRef,
        options: &BodyOptions<'_>,
    ) -> RequestBody {
        let conversation = &trace.conversations[turn.conversation];
        let list = SegmentList::of(conversation, turn.turn);
        self.draw(starts, trace, list.blocks.iter().copied());
        let blocks = list
            .blocks
            .iter()
            .map(|&block| self.start(starts, trace, block))
            .collect();
        let mut marker = Vec::new();
        escape(options.marker.unwrap_or_default(), &mut marker);
        RequestBody(Chunked::new(Places {
            pool: Arc::clone(self.pool()),
            envelope: Arc::clone(options.envelope),
            max_tokens: options.max_tokens,
            marker: marker.into_boxed_slice(),
            messages: self.messages(conversation, &list, options.tool_shaped),
            blocks,
        }))
    }

    fn messages(&self, conversation: &Conversation, list: &SegmentList, tool_shaped: bool) -> Box<[Message]> {
        let mut first_block = 0;
        let mut first_user = true;
        let mut messages = Vec::with_capacity(list.segments.len());
        for (index, segment) in list.segments.iter().enumerate() {
            let answer = |segment| answered_turn(conversation, segment).filter(|_| tool_shaped);
            let shape = match segment.role {
                Role::System => Shape::System,
                Role::Assistant => Shape::Assistant {
                    calls: list.segments.get(index + 1).and_then(answer),
                },
                Role::User => match answer(segment) {
                    Some(turn) => Shape::Tool { turn },
                    None => Shape::User {
                        marked: std::mem::take(&mut first_user),
                    },
                },
            };
            messages.push(Message {
                shape,
                first_block,
                blocks: segment.blocks,
                tail: self.tail(&conversation.id, segment.turn, segment.tail_tokens),
            });
            first_block += segment.blocks;
        }
        messages.into_boxed_slice()
    }
}

/// The turn whose tool result this segment is, if it can be sent as one.
fn answered_turn(conversation: &Conversation, segment: &Segment) -> Option<usize> {
    let is_result = conversation.turns[segment.turn].input_kind == Some(InputKind::ToolResult);
    (segment.answers && is_result).then_some(segment.turn)
}

/// How a message is written.
#[derive(Clone, Copy, Debug)]
enum Shape {
    System,
    /// The first one carries the marker.
    User {
        marked: bool,
    },
    /// With a tool call, if the answer to it follows, which came with the turn named.
    Assistant {
        calls: Option<usize>,
    },
    /// The answer to the call of the message before.
    Tool {
        turn: usize,
    },
}

/// One message as places in the pool.
#[derive(Debug)]
struct Message {
    shape: Shape,
    first_block: usize,
    blocks: usize,
    /// Behind the blocks; of no tokens where there is none.
    tail: Window,
}

impl Message {
    /// How many windows of at most a block's size it has.
    fn windows(&self) -> usize {
        self.blocks + self.tail.tokens.div_ceil(BLOCK_TOKENS) as usize
    }

    /// The window with this number; a tail is cut into windows so that a step never puts much at once.
    fn window(&self, number: usize, blocks: &[u32]) -> Window {
        match number.checked_sub(self.blocks) {
            None => Window {
                start: blocks[self.first_block + number],
                tokens: BLOCK_TOKENS,
            },
            Some(past) => {
                let done = past as u32 * BLOCK_TOKENS;
                Window {
                    start: self.tail.start + done,
                    tokens: (self.tail.tokens - done).min(BLOCK_TOKENS),
                }
            }
        }
    }

    fn tokens(&self) -> u64 {
        self.blocks as u64 * u64::from(BLOCK_TOKENS) + u64::from(self.tail.tokens)
    }

    fn open(&self, marker: &[u8], sink: &mut impl Sink) {
        match self.shape {
            Shape::System => sink.put(br#"{"role":"system","content":""#),
            Shape::User { marked } => {
                sink.put(br#"{"role":"user","content":""#);
                if marked {
                    sink.put(marker);
                }
            }
            Shape::Assistant { .. } => sink.put(br#"{"role":"assistant","content":""#),
            Shape::Tool { turn } => {
                let open = format!(r#"{{"role":"tool","tool_call_id":"call_turn_{turn}","content":""#);
                sink.put(open.as_bytes());
            }
        }
    }

    fn close(&self, sink: &mut impl Sink) {
        let Shape::Assistant { calls: Some(turn) } = self.shape else {
            return sink.put(br#""}"#);
        };
        let calls = format!(
            r#"","tool_calls":[{{"id":"call_turn_{turn}","type":"function","function":{{"name":"recorded_tool","arguments":"{{}}"}}}}]}}"#
        );
        sink.put(calls.as_bytes());
    }
}

/// The body of one request, given out chunk by chunk.
pub struct RequestBody(Chunked<Places>);

impl RequestBody {
    /// Bytes of the whole body.
    pub fn content_length(&self) -> u64 {
        self.0.content_length()
    }

    /// Tokens of all messages as taken from the pool: the planned ISL. Marker, chat template and what merging over block
    /// seams changes are not in it (`aiperf-corpus` §5.10).
    pub fn isl_planned(&self) -> u64 {
        self.0.walk().messages.iter().map(Message::tokens).sum()
    }

    /// The next bytes, at most [`super::CHUNK_BYTES`] of them; `None` after the last.
    pub fn next_chunk(&mut self) -> Option<Bytes> {
        self.0.next_chunk()
    }

    /// Starts over: the next chunk is the first again.
    pub fn rewind(&mut self) {
        self.0.rewind();
    }
}

/// All messages as places in the pool, with what stands around them.
struct Places {
    pool: Arc<Pool>,
    envelope: Arc<Envelope>,
    max_tokens: u64,
    /// Escaped.
    marker: Box<[u8]>,
    messages: Box<[Message]>,
    /// Places of the blocks of all messages.
    blocks: Box<[u32]>,
}

/// The next message and the next of its windows.
#[derive(Default)]
struct Cursor {
    message: usize,
    window: usize,
    held: Held,
}

impl Walk for Places {
    type Cursor = Cursor;

    fn step(&self, cursor: &mut Cursor, sink: &mut impl Sink) -> bool {
        let Some(message) = self.messages.get(cursor.message) else {
            if self.messages.is_empty() {
                sink.put(OPEN);
            }
            self.envelope.put(self.max_tokens, sink);
            return false;
        };
        if cursor.window == 0 {
            sink.put(if cursor.message == 0 { OPEN } else { b"," });
            message.open(&self.marker, sink);
        }
        let windows = message.windows();
        if !self.pool.is_sliced() {
            let all = (0..windows).map(|number| message.window(number, &self.blocks));
            self.pool.put_whole(all, sink);
            cursor.window = windows;
        } else if cursor.window < windows {
            let window = message.window(cursor.window, &self.blocks);
            self.pool.put_slice(window, &mut cursor.held, sink);
            cursor.window += 1;
        }
        if cursor.window == windows {
            cursor.held.finish(sink);
            message.close(sink);
            cursor.message += 1;
            cursor.window = 0;
        }
        true
    }
}

const OPEN: &[u8] = br#"{"messages":["#;
