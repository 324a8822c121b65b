//! What comes after the event at hand, in the order in which it was put off: turns that the barrier let go or whose timer has
//! fired, first requests of children that start at once, what a return leads to after those, and lanes that take their next
//! tree.
//!
//! aiperf does these in tasks of their own, and that shows: in which requests see an idle system, in their numbers, and in
//! which lane takes which trace (`aiperf-replay` §3.1, §5.4). Tasks take passes of its event loop: one to begin, another
//! for their end to be noticed.

use super::due::Effect;
use super::idle::Occasion;
use super::{Outcome, Replay};
use crate::live::{Order, TreeId, Via};
use std::collections::VecDeque;
use tree::TurnRef;

/// Passes after which a parent goes on whose children have been sent: their ends are noticed, then their common end.
const PASSES_TO_JOIN: u8 = 1;

/// One thing put off.
#[derive(Clone, Debug)]
pub(super) enum Deferred {
    /// A turn that the barrier let go.
    Released(Order),
    /// A turn whose timer has fired.
    Fired(Order),
    /// A child whose sleep is over.
    Woken(Order),
    /// First requests of children that start at once, and the return whose own consequences wait for them.
    Children(Vec<Order>, Option<(TreeId, TurnRef, Outcome)>),
    /// The rest of what follows from such a return.
    AfterChildren(TreeId, TurnRef, Outcome),
    /// A lane whose tree is drained.
    Recycle(u32),
    /// A timer's or a recycled lane's turn has been sent or held.
    Done,
    /// A look whether cache pressure has drained.
    Poll,
    /// The time of cache pressure is over.
    PressureEnd,
    /// No longer wanted.
    Nothing,
}

/// What is put off, first come first served, with the passes that it lets go by.
#[derive(Default)]
pub(super) struct DeferredQueue {
    waiting: VecDeque<(u8, Deferred)>,
    /// Turns of timers and recycled lanes that are on their way; while there are any, the system counts as busy.
    pub(super) running: usize,
}

impl DeferredQueue {
    /// Nothing will come of it.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.iter().all(|(_, one)| matches!(one, Deferred::Nothing))
    }

    /// Turns are about to be sent or held.
    pub(super) fn sends(&self) -> bool {
        let sends = |(_, one): &(u8, Deferred)| matches!(one, Deferred::Released(_) | Deferred::Children(..));
        self.waiting.iter().any(sends)
    }

    /// Nothing of it will happen. The places stay, since each has been announced.
    pub(super) fn clear(&mut self) {
        self.running = 0;
        for (_, one) in &mut self.waiting {
            *one = Deferred::Nothing;
        }
    }
}

impl Replay {
    pub(super) fn defer(&mut self, one: Deferred) {
        self.defer_by(0, one);
    }

    fn defer_by(&mut self, passes: u8, one: Deferred) {
        self.deferred.waiting.push_back((passes, one));
        self.show(Effect::PutOff);
    }

    /// A timer has fired: its turn comes with the next pass, that of a spawned child with the one after.
    pub(super) fn timer_fired(&mut self, order: Order) {
        self.deferred.running += 1;
        self.defer_by(u8::from(order.via == Via::Spawn), Deferred::Fired(order));
    }

    pub(super) fn sleep_is_over(&mut self, order: Order) {
        self.defer(Deferred::Woken(order));
    }

    /// Lets a lane take its next tree.
    pub(super) fn defer_recycle(&mut self, lane: u32) {
        self.deferred.running += 1;
        self.defer(Deferred::Recycle(lane));
    }

    /// One pass: what is put off meanwhile waits for the next.
    pub(super) fn run_deferred(&mut self) {
        for _ in 0..self.deferred.waiting.len() {
            self.run_first_deferred();
        }
    }

    pub(super) fn run_first_deferred(&mut self) {
        match self.deferred.waiting.pop_front() {
            None => {}
            Some((0, one)) => self.run(one),
            Some((passes, one)) => self.defer_by(passes - 1, one),
        }
    }

    fn run(&mut self, one: Deferred) {
        match one {
            Deferred::Released(order) => self.issue(order),
            Deferred::Woken(order) => self.submit(order),
            Deferred::Fired(order) => {
                match order.via {
                    Via::JoinDelay => self.end_join_delay(order),
                    _ => self.submit(order),
                }
                self.defer(Deferred::Done);
            }
            Deferred::Children(orders, waiting) => {
                for order in orders {
                    self.submit(order);
                }
                if let Some((tree, turn, outcome)) = waiting {
                    self.defer_by(PASSES_TO_JOIN, Deferred::AfterChildren(tree, turn, outcome));
                }
            }
            Deferred::AfterChildren(tree, turn, outcome) => {
                self.go_on(tree, turn, outcome);
                self.check_idle(Occasion::Return);
            }
            Deferred::Recycle(lane) => {
                self.recycle(lane);
                self.defer(Deferred::Done);
            }
            Deferred::Done => {
                self.deferred.running = self.deferred.running.saturating_sub(1);
                if self.deferred.running == 0 {
                    self.check_idle(Occasion::Other);
                }
            }
            Deferred::Poll => self.look_whether_drained(),
            Deferred::PressureEnd => self.phase.pressure_ended = true,
            Deferred::Nothing => {}
        }
    }
}
