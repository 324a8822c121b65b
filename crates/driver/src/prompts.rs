//! Request bodies for what `replay` wants sent, and the thread that draws block places ahead of need.
//!
//! Drawing the places of a long prompt's blocks takes milliseconds the first time, so it is done by a thread of its own, at
//! the lowest priority, for the traces that lanes hold and for those that they take next. What it has not reached in time is
//! drawn as the body is made; that shows as lateness of the one request.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use corpus::prompt::{BlockStarts, BodyOptions, Envelope, Prompter, RequestBody};
use tree::Trace;

use crate::body::BodySource;

/// Traces that may wait to be drawn; what does not fit is drawn when it is needed.
const AHEAD_MAX: usize = 4096;
/// Niceness of the drawing thread: everything else goes first.
const DRAWING_NICENESS: i32 = 19;

/// Makes the bodies of one run.
pub struct Prompts {
    prompter: Prompter,
    traces: Arc<[Arc<Trace>]>,
    /// For each trace, the places of its blocks.
    starts: Box<[OnceLock<Arc<BlockStarts>>]>,
    envelope: Arc<Envelope>,
    tool_shaped: bool,
}

impl Prompts {
    /// Prompts of `traces` with the fields of `envelope`; `tool_shaped` sends tool results under their own role.
    pub fn new(prompter: Prompter, traces: Arc<[Arc<Trace>]>, envelope: Envelope, tool_shaped: bool) -> Self {
        let starts = traces.iter().map(|_| OnceLock::new()).collect();
        Self {
            prompter,
            traces,
            starts,
            envelope: Arc::new(envelope),
            tool_shaped,
        }
    }

    /// The body of a request.
    pub fn body(&self, send: &replay::Send) -> RequestBody {
        let trace = &self.traces[send.trace];
        let turn = &trace.conversations[send.turn.conversation].turns[send.turn.turn];
        let marker = corpus::prompt::marker::text(&send.marker);
        let options = BodyOptions {
            envelope: &self.envelope,
            max_tokens: send.max_tokens_override.unwrap_or(turn.max_tokens),
            marker: Some(&marker),
            tool_shaped: self.tool_shaped,
        };
        self.prompter
            .body(self.starts(send.trace), trace, send.turn, &options)
    }

    fn starts(&self, trace: usize) -> &BlockStarts {
        self.starts[trace].get_or_init(|| Arc::new(BlockStarts::new(&self.traces[trace])))
    }

    /// Draws every block of a trace.
    fn draw(&self, trace: usize) {
        let blocks = 0..self.traces[trace].block_ids.len() as u32;
        self.prompter.draw(
            self.starts(trace),
            &self.traces[trace],
            blocks.map(tree::BlockIndex),
        );
    }
}

/// Draws traces in the background. Ends when it is dropped.
pub(crate) struct Drawing(SyncSender<usize>);

impl Drawing {
    /// Starts the thread.
    pub(crate) fn start(prompts: Arc<Prompts>) -> std::io::Result<Self> {
        let (sender, receiver) = sync_channel(AHEAD_MAX);
        std::thread::Builder::new()
            .name("draw".into())
            .spawn(move || draw_all(&prompts, &receiver))?;
        Ok(Self(sender))
    }

    /// Asks for a trace; without effect when too many wait already.
    pub(crate) fn ask(&self, trace: usize) {
        let _ = self.0.try_send(trace);
    }
}

fn draw_all(prompts: &Prompts, wanted: &Receiver<usize>) {
    // A kernel that refuses the priority leaves us at the usual one.
    let _ = rustix::process::setpriority_process(None, DRAWING_NICENESS);
    while let Ok(trace) = wanted.recv() {
        prompts.draw(trace);
    }
}

impl BodySource for RequestBody {
    fn content_length(&self) -> u64 {
        Self::content_length(self)
    }

    fn next_chunk(&mut self) -> Option<Bytes> {
        Self::next_chunk(self)
    }

    fn rewind(&mut self) {
        Self::rewind(self);
    }
}
