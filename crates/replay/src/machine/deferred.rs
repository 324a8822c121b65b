//! What comes after the event at hand, in the order in which it was put off: turns that the barrier let go or whose timer has
//! fired, first requests of children that start at once, what waits for those, and lanes that take their next tree.
//!
//! aiperf does these in tasks of their own, and that shows: in which requests see an idle system, in their numbers, and in
//! which lane takes which trace (`aiperf-replay` §3.1, §5.4). Tasks take passes of its event loop: one to begin, another
//! for their end to be noticed.

use super::due::Effect;
use super::idle::Occasion;
use super::{Outcome, Replay};
use crate::Seconds;
use crate::live::{Order, TreeId, Via};
use std::collections::VecDeque;
use tree::{ConversationIndex, TurnRef};

/// Further passes after which goes on what waits for children that have been sent: their ends are noticed, then the last.
const PASSES_TO_JOIN: u8 = 1;

/// Further passes after which a deadline is over that something waits for: what was waited for is given up first.
const PASSES_TO_GIVE_UP: u8 = 3;

/// One thing put off.
#[derive(Clone, Debug)]
pub(super) enum Deferred {
    /// A turn that the barrier let go.
    Released(Order),
    /// A turn whose timer has fired.
    Fired(Order),
    /// A child whose sleep is over.
    Woken(Order),
    /// First requests of children that start at once, and what waits for them.
    Children(Vec<Order>, Then),
    /// What waited for such children.
    Go(Then),
    /// A lane whose tree is drained.
    Recycle(u32),
    /// A timer's or a recycled lane's turn has been sent or held.
    Done,
    /// A step of the phase.
    Phase(PhaseStep),
    /// No longer wanted.
    Nothing,
}

/// What goes on when a turn has been sent or held, and so have the children that start with it.
#[derive(Clone, Debug)]
pub(super) enum Then {
    Nothing,
    /// [`Deferred::Done`].
    Done,
    /// A lane's further streams, each after so many seconds.
    Lane(TreeId, VecDeque<(Order, Seconds)>),
    /// Further joins of a parent that a child's end opens, and what follows from that end.
    Joins(TreeId, ConversationIndex, VecDeque<usize>, Box<Then>),
    /// What follows from a return, once its child has ended.
    Settle(TreeId, TurnRef, Outcome),
    /// The conversation's next turn.
    GoOn(TreeId, TurnRef, Outcome),
    /// The end of a return.
    Finish(TurnRef, Outcome),
}

/// A step of the phase that is taken a pass or more after what led to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PhaseStep {
    /// The time of cache pressure is over.
    PressureEnd,
    /// The window is over.
    WindowEnd,
    /// The grace period is over.
    GraceEnd,
    /// A look whether cache pressure has drained.
    Poll,
    /// It has.
    Drained,
    /// Nothing more will be sent.
    Sent,
    /// Nothing more is waited for.
    Returned,
}

/// What is put off, first come first served, with the further passes that it lets go by.
#[derive(Default)]
pub(super) struct DeferredQueue {
    waiting: VecDeque<(u8, Deferred)>,
    /// Turns of timers and recycled lanes that are on their way; while there are any, the system counts as busy.
    pub(super) running: usize,
}

impl DeferredQueue {
    /// Nothing will come of it.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting
            .iter()
            .all(|(_, one)| matches!(one, Deferred::Nothing))
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

    /// Takes a step of the phase with the next pass, that of a deadline when what waits for it has given up.
    pub(super) fn defer_step(&mut self, step: PhaseStep) {
        let passes = match step {
            PhaseStep::WindowEnd | PhaseStep::GraceEnd => PASSES_TO_GIVE_UP,
            PhaseStep::Drained => PASSES_TO_JOIN,
            _ => 0,
        };
        self.defer_by(passes, Deferred::Phase(step));
    }

    /// Sends or holds the turn; `then` follows when the children that start with it have been sent.
    pub(super) fn submit_then(&mut self, order: Order, then: Then) {
        let at_once = self.submit(order);
        self.after_children(at_once, then);
    }

    /// Puts children off to the next pass, and what waits for them behind them.
    pub(super) fn after_children(&mut self, children: Vec<Order>, then: Then) {
        if children.is_empty() {
            self.go(then);
        } else {
            self.defer(Deferred::Children(children, then));
        }
    }

    pub(super) fn go(&mut self, then: Then) {
        match then {
            Then::Nothing => {}
            Then::Done => self.defer(Deferred::Done),
            Then::Lane(tree, streams) => self.start_streams(tree, streams),
            Then::Joins(tree, parent, gates, then) => self.open_joins(tree, parent, gates, *then),
            Then::Settle(tree, turn, outcome) => self.settle_rest(tree, turn, outcome),
            Then::GoOn(tree, turn, outcome) => self.go_on(tree, turn, outcome),
            Then::Finish(turn, outcome) => self.finish_return(turn, outcome),
        }
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
            Deferred::Released(order) => {
                let at_once = self.issue(order);
                self.after_children(at_once, Then::Nothing);
            }
            Deferred::Woken(order) => self.submit_then(order, Then::Nothing),
            Deferred::Fired(order) if order.via == Via::JoinDelay => self.end_join_delay(order, Then::Done),
            Deferred::Fired(order) => self.submit_then(order, Then::Done),
            Deferred::Children(orders, then) => {
                for order in orders {
                    self.submit_then(order, Then::Nothing);
                }
                if !matches!(then, Then::Nothing) {
                    self.defer_by(PASSES_TO_JOIN, Deferred::Go(then));
                }
            }
            Deferred::Go(then) => self.go(then),
            Deferred::Recycle(lane) => self.recycle(lane),
            Deferred::Done => {
                self.deferred.running = self.deferred.running.saturating_sub(1);
                if self.deferred.running == 0 {
                    self.check_idle(Occasion::Other);
                }
            }
            Deferred::Phase(step) => self.take_step(step),
            Deferred::Nothing => {}
        }
    }
}
