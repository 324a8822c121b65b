//! The event loop beneath aiperf, in virtual time.
//!
//! It works in passes: what is due is taken from the heap of timers, and then everything that is ready is done, once; what
//! becomes ready meanwhile waits for the next pass. Tasks take passes too: one to begin, another until their end is noticed.
//! Two things at one instant come in an order that follows from all this, and that order decides numbers and lanes.

use super::heap::Heap;
use super::{Logged, Server};
use crate::Seconds;
use crate::dialect::CLOCK_RESOLUTION_S;
use crate::machine::{Action, Cause, Due, Effect, Event, Mark, Outcome, Replay, RequestKey, Send};
use std::collections::{BTreeMap, VecDeque};

/// How often aiperf reports its progress: a timer among the others.
const REPORT_EVERY_S: Seconds = 2.0;

/// Whose instant it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Whose {
    Answer(RequestKey),
    Machine(Due),
    Report,
}

/// What a pass does.
#[derive(Clone, Copy)]
enum Ready {
    /// An instant has come.
    Due(Whose, u64),
    /// A timer of the machine that skips the heap.
    Now(Due),
    /// A task that sleeps first.
    Sleep(Due, Seconds),
    /// The task of an answer.
    Returned(RequestKey),
    /// Something that the machine put off.
    PutOff,
    /// The task that reports progress.
    Report,
}

pub(super) struct EventLoop<'a> {
    replay: Replay,
    server: Server<'a>,
    now: Seconds,
    timers: Heap<Whose>,
    ready: VecDeque<Ready>,
    in_flight: BTreeMap<RequestKey, Send>,
    log: Vec<Logged>,
}

impl<'a> EventLoop<'a> {
    pub(super) fn new(replay: Replay, server: Server<'a>) -> Self {
        Self {
            replay,
            server,
            now: 0.0,
            timers: Heap::new(),
            ready: VecDeque::new(),
            in_flight: BTreeMap::new(),
            log: Vec::new(),
        }
    }

    pub(super) fn run(mut self) -> Vec<Logged> {
        self.step(Cause::Event(Event::Start));
        while self.replay.ended().is_none() && self.pass() {}
        self.log
    }

    /// One pass; false when nothing is left to come.
    fn pass(&mut self) -> bool {
        let next = self.timers.sweep();
        if self.ready.is_empty() {
            // Reports alone come to nothing.
            let Some(at) = next.filter(|at| at.is_finite() && self.timers.len() > 1) else {
                return false;
            };
            self.now = self.now.max(at);
        }
        let due = self.timers.take_due(self.now + CLOCK_RESOLUTION_S);
        self.ready
            .extend(due.into_iter().map(|(whose, set)| Ready::Due(whose, set)));
        for _ in 0..self.ready.len() {
            if let Some(one) = self.ready.pop_front().filter(|_| self.replay.ended().is_none()) {
                self.work(one);
            }
        }
        true
    }

    fn work(&mut self, one: Ready) {
        match one {
            Ready::Due(whose, set) => {
                if self.timers.come(whose, set) {
                    self.come(whose);
                }
            }
            Ready::Now(due) => self.step(Cause::Due(due)),
            Ready::Sleep(due, at) => self.timers.set(Whose::Machine(due), at),
            Ready::Returned(request) => self.answer(request),
            Ready::PutOff => self.step(Cause::PutOff),
            Ready::Report => self.timers.set(Whose::Report, self.now + REPORT_EVERY_S),
        }
    }

    fn come(&mut self, whose: Whose) {
        match whose {
            Whose::Answer(request) => self.ready.push_back(Ready::Returned(request)),
            Whose::Report => self.ready.push_back(Ready::Report),
            Whose::Machine(due) => self.step(Cause::Due(due)),
        }
    }

    fn answer(&mut self, request: RequestKey) {
        let Some(sent) = self.in_flight.remove(&request) else {
            return;
        };
        let failure = self.server.failure(&sent);
        let outcome = match failure {
            None => Outcome::Ok,
            Some(failure) if failure.is_overflow => Outcome::Overflow,
            Some(_) => Outcome::Failed,
        };
        let error = failure.map(|failure| failure.text.clone());
        let at = self.now;
        self.log.push(Logged::Returned { at, sent, error });
        self.step(Cause::Event(Event::Returned { request, outcome }));
    }

    fn step(&mut self, cause: Cause) {
        for effect in self.replay.step(self.now, cause) {
            match effect {
                Effect::Action(Action::Send(sent)) => self.send(*sent),
                Effect::Action(Action::Mark(mark)) => self.mark(mark),
                Effect::Action(Action::CancelAll(_)) => self.cancel(),
                Effect::Set(due @ Due::Sleep(_), at) => self.ready.push_back(Ready::Sleep(due, at)),
                Effect::Set(due, at) => self.timers.set(Whose::Machine(due), at),
                Effect::Drop(due) => self.timers.drop(Whose::Machine(due)),
                Effect::Ready(due) => self.ready.push_back(Ready::Now(due)),
                Effect::PutOff => self.ready.push_back(Ready::PutOff),
            }
        }
    }

    fn send(&mut self, sent: Send) {
        let at = self.now + self.server.duration(&sent);
        self.timers.set(Whose::Answer(sent.request), at);
        self.log.push(Logged::Sent(sent.clone()));
        self.in_flight.insert(sent.request, sent);
    }

    fn mark(&mut self, mark: Mark) {
        if let Mark::PhaseStart { .. } = mark {
            // Each phase reports on its own, a pass later, and lanes begin a pass after that.
            self.timers.sweep();
            self.timers.set(Whose::Report, self.now + REPORT_EVERY_S);
            self.timers.sweep();
        }
        self.log.push(Logged::Mark(mark));
    }

    fn cancel(&mut self) {
        for (request, sent) in std::mem::take(&mut self.in_flight) {
            self.timers.drop(Whose::Answer(request));
            self.log.push(Logged::Cancelled { at: self.now, sent });
            let outcome = Outcome::Cancelled;
            self.step(Cause::Event(Event::Returned { request, outcome }));
        }
    }
}
