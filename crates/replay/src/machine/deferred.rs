//! What comes after all returns of an instant, in the order in which it was put off: turns that the barrier let go, first
//! requests of children that start at once, what a return leads to after those, and lanes that take their next tree.
//!
//! aiperf does these in tasks of their own, and that shows: in which requests see an idle system, in their numbers, and in
//! which lane takes which trace (`aiperf-replay` §3.1, §5.4).

use super::idle::Occasion;
use super::{Outcome, Replay};
use crate::live::{Order, TreeId};
use std::collections::VecDeque;
use tree::TurnRef;

/// One thing put off.
#[derive(Clone, Debug)]
pub(super) enum Deferred {
    /// A turn that the barrier let go.
    Released(Order),
    /// First requests of children that start at once, and the return whose own consequences wait for them.
    Children(Vec<Order>, Option<(TreeId, TurnRef, Outcome)>),
    /// The rest of what follows from such a return.
    AfterChildren(TreeId, TurnRef, Outcome),
    /// A lane whose tree is drained.
    Recycle(u32),
}

/// What is put off, first come first served.
#[derive(Default)]
pub(super) struct DeferredQueue {
    waiting: VecDeque<Deferred>,
}

impl DeferredQueue {
    pub(super) fn push(&mut self, one: Deferred) {
        self.waiting.push_back(one);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Turns are about to be sent or held.
    pub(super) fn sends(&self) -> bool {
        let sends = |one: &Deferred| matches!(one, Deferred::Released(_) | Deferred::Children(..));
        self.waiting.iter().any(sends)
    }

    /// A lane is about to take its next tree.
    pub(super) fn recycles(&self) -> bool {
        self.waiting.iter().any(|one| matches!(one, Deferred::Recycle(_)))
    }

    /// Nothing of it will happen.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// No lane takes another tree.
    pub(super) fn forget_recycles(&mut self) {
        self.waiting.retain(|one| !matches!(one, Deferred::Recycle(_)));
    }
}

impl Replay {
    /// One pass: what is put off meanwhile waits for the next.
    pub(super) fn run_deferred(&mut self) {
        for _ in 0..self.deferred.waiting.len() {
            let Some(one) = self.deferred.waiting.pop_front() else {
                return;
            };
            match one {
                Deferred::Released(order) => self.issue(order),
                Deferred::Children(orders, waiting) => {
                    for order in orders {
                        self.submit(order);
                    }
                    if let Some((tree, turn, outcome)) = waiting {
                        self.deferred.push(Deferred::AfterChildren(tree, turn, outcome));
                    }
                }
                Deferred::AfterChildren(tree, turn, outcome) => {
                    self.go_on(tree, turn, outcome);
                    self.check_idle(Occasion::Return);
                }
                Deferred::Recycle(lane) => {
                    self.recycle(lane);
                    if !self.deferred.recycles() {
                        self.check_idle(Occasion::Other);
                    }
                }
            }
        }
    }
}
