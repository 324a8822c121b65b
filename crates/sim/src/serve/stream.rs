//! The body of a streamed answer, and everything that can be done to it on purpose.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame};

use super::feed::Batch;
use super::floor::Ticket;
use crate::answer::{DONE, Place, Shape, Usage};
use crate::engine::Finish;
use crate::faults::{Behaviour, BreakOff, CutEnding};
use crate::log::{Outcome, Witness};
use crate::refusal;
use crate::tokens::Answer;

/// Most tokens rendered into one write when the reader was slow.
const TOKENS_PER_WRITE_MAX: u64 = 512;

/// Says to hyper that the connection is to be dropped.
#[derive(Debug, thiserror::Error)]
#[error("broken off on purpose")]
pub(super) struct BrokenOff;

/// Where a stream is.
enum Phase {
    /// Waiting for tokens or writing them.
    Flowing,
    /// Nothing more is sent, and the body does not end.
    Silent,
    /// All that was written before is to leave first.
    Flushing,
    /// The connection is to be dropped.
    Dropping,
    Over,
}

/// All that an answer is made of.
pub(super) struct Parts {
    pub(super) witness: Witness,
    pub(super) ticket: Ticket,
    pub(super) shape: Shape,
    /// One for each choice.
    pub(super) answers: Vec<Answer>,
    pub(super) prompt_tokens: usize,
    pub(super) usage_wanted: bool,
    pub(super) behaviour: Behaviour,
}

impl Parts {
    pub(super) fn usage(&self, completion: u64) -> Usage {
        Usage {
            prompt: self.prompt_tokens,
            completion,
            cached: self.ticket.feed.cached_tokens(),
        }
    }
}

pub(super) struct StreamBody {
    parts: Parts,
    /// Tokens written, of each choice.
    written: Vec<u64>,
    roles_written: bool,
    batches: Vec<Batch>,
    text: String,
    queue: VecDeque<Bytes>,
    phase: Phase,
}

impl StreamBody {
    pub(super) fn new(parts: Parts) -> Self {
        Self {
            written: vec![0; parts.answers.len()],
            parts,
            roles_written: false,
            batches: Vec::new(),
            text: String::new(),
            queue: VecDeque::new(),
            phase: Phase::Flowing,
        }
    }

    fn n_written(&self) -> u64 {
        self.written.iter().sum()
    }

    /// Tokens until a fault ends the stream.
    fn until_break(&self) -> u64 {
        let break_off = self.parts.behaviour.break_off.as_ref();
        break_off.map_or(u64::MAX, |(after, _)| after.saturating_sub(self.n_written()))
    }

    fn poll_tokens(&mut self, context: &Context<'_>) -> Poll<()> {
        if self.parts.behaviour.early_role && !self.roles_written {
            let mut out = String::new();
            self.roles(&mut out);
            self.queue.push_back(out.into());
            return Poll::Ready(());
        }
        let most = self.until_break();
        if most == 0 {
            self.break_off();
            return Poll::Ready(());
        }
        let clump = self.parts.behaviour.clump;
        let most = most.min(if clump > 1 { clump } else { TOKENS_PER_WRITE_MAX });
        let mut batches = std::mem::take(&mut self.batches);
        let feed = &self.parts.ticket.feed;
        let taken = feed.poll_take(context, clump, most, &mut batches);
        if taken.is_ready() {
            self.tokens(&batches);
        }
        batches.clear();
        self.batches = batches;
        taken
    }

    /// One write with everything in `batches`; behind the last token, the end of the stream.
    fn tokens(&mut self, batches: &[Batch]) {
        let mut out = String::with_capacity(512);
        self.roles(&mut out);
        let is_over = self.parts.ticket.feed.is_over();
        let last = batches.len() - 1;
        for (index, batch) in batches.iter().enumerate() {
            for nth in 1..=batch.tokens {
                let finish = batch.finish.filter(|_| nth == batch.tokens);
                let is_last = is_over && index == last && finish.is_some();
                self.token(&mut out, batch.choice, finish, is_last);
            }
        }
        self.observe(batches.iter().map(|batch| batch.tokens).sum());
        self.queue.push_back(out.into());
        if is_over && self.until_break() > 0 {
            self.finish();
        }
    }

    fn roles(&mut self, out: &mut String) {
        if std::mem::replace(&mut self.roles_written, true) {
            return;
        }
        for choice in 0..self.parts.answers.len() {
            self.parts.shape.role(out, choice, self.parts.usage(0));
        }
    }

    fn token(&mut self, out: &mut String, choice: usize, finish: Option<Finish>, is_last: bool) {
        self.text.clear();
        let index = self.written[choice];
        // The token that ends an answer by itself has no text.
        if finish != Some(Finish::Stop) {
            self.parts.answers[choice].write(index..index + 1, &mut self.text);
        }
        self.written[choice] = index + 1;
        let place = Place {
            choice,
            finish,
            is_last_event: is_last && !self.parts.usage_wanted,
        };
        let usage = self.parts.usage(self.written[choice]);
        self.parts.shape.token(out, &self.text, &place, usage);
    }

    fn finish(&mut self) {
        if self.parts.usage_wanted {
            let mut out = String::new();
            self.parts
                .shape
                .usage(&mut out, self.parts.usage(self.n_written()));
            self.queue.push_back(out.into());
        }
        if !self.parts.behaviour.no_done {
            self.queue.push_back(Bytes::from_static(DONE.as_bytes()));
        }
        let stays_open = self.parts.behaviour.open_after_done;
        self.phase = if stays_open { Phase::Silent } else { Phase::Over };
        self.parts.witness.end(Outcome::Answered);
    }

    fn break_off(&mut self) {
        let (_, break_off) = self
            .parts
            .behaviour
            .break_off
            .take()
            .expect("only a fault comes here");
        self.phase = match break_off {
            BreakOff::Error { message, code } => {
                let object = refusal::error_object(&message, refusal::kind_of(code), None, code);
                self.queue.push_back(format!("data: {object}\n\n{DONE}").into());
                Phase::Over
            }
            BreakOff::Stall => Phase::Silent,
            BreakOff::Cut(CutEnding::Terminated) => Phase::Over,
            BreakOff::Cut(CutEnding::Dropped | CutEnding::ShortOfLength) => Phase::Flushing,
        };
        self.parts.witness.end(Outcome::Faulted);
    }

    fn observe(&self, tokens: u64) {
        let feed = &self.parts.ticket.feed;
        self.parts.witness.tokens(tokens, |seen| {
            seen.planned_first_token_ns = feed.first_planned_ns();
            seen.cached_tokens = feed.cached_tokens();
        });
    }
}

impl Body for StreamBody {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        loop {
            if let Some(bytes) = self.queue.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            match self.phase {
                Phase::Flowing => ready!(self.poll_tokens(context)),
                Phase::Silent => return Poll::Pending,
                Phase::Flushing => {
                    // hyper writes out what it has when a body is not ready, and forgets it when a body fails.
                    self.phase = Phase::Dropping;
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Phase::Dropping => return Poll::Ready(Some(Err(BrokenOff))),
                Phase::Over => return Poll::Ready(None),
            }
        }
    }
}
