//! What follows from the end of a request, in aiperf's order (`aiperf-replay` §3.1).

use super::idle::Occasion;
use super::{Outcome, Phase, Replay, RequestKey, RunEnd};
use crate::OnPrimerFailure;
use crate::live::TreeId;
use tree::TurnRef;

impl Replay {
    pub(super) fn settle(&mut self, request: RequestKey, outcome: Outcome) {
        let Some((tree, turn)) = self.in_flight.remove(&request) else {
            return;
        };
        match self.phase.phase {
            Phase::Warmup => self.settle_primer(turn, outcome),
            Phase::Profiling => self.settle_turn(tree, turn, outcome),
        }
        self.check_idle(Occasion::Return);
        self.run_deferred();
    }

    fn settle_primer(&mut self, turn: TurnRef, outcome: Outcome) {
        let of_root = turn.conversation == 0;
        if of_root && outcome == Outcome::Failed && self.settings.on_primer_failure == OnPrimerFailure::Abort
        {
            self.give_up(RunEnd::PrimerFailed);
        }
    }

    fn settle_turn(&mut self, tree: TreeId, turn: TurnRef, outcome: Outcome) {
        let Some(trace) = self.trace_of(tree) else { return };
        let conversation = &trace.conversations[turn.conversation];
        let is_child = conversation.depth > 0;
        let is_final = turn.turn + 1 == conversation.turns.len();
        // A prompt only grows: once it does not fit, no later turn of the conversation will.
        let is_cut_short = outcome == Outcome::Overflow && !is_final;

        if is_child && is_final {
            self.end_child(tree, turn.conversation);
        }
        if let Some(live) = self.trees.get_mut(&tree) {
            self.released
                .extend(live.barrier.end(&trace, turn).into_iter().map(|(_, order)| order));
        }
        if !is_cut_short {
            self.spawn_remaining(tree, turn);
            let next = TurnRef {
                turn: turn.turn + 1,
                ..turn
            };
            let stands = self
                .trees
                .get_mut(&tree)
                .is_some_and(|live| live.joins.reach(next));
            if stands {
                return;
            }
        }
        let goes_on = !is_final && !is_cut_short;
        if goes_on && self.may_send() {
            self.follow(tree, turn);
        } else if is_child && !is_final {
            self.end_child(tree, turn.conversation);
        } else if !is_child && !goes_on {
            if let Some(live) = self.trees.get_mut(&tree) {
                live.root_pending = false;
            }
            self.drain_if_done(tree);
        }
    }

    /// What the event at hand put off: turns that the barrier let go, then lanes that take their next tree.
    pub(super) fn run_deferred(&mut self) {
        loop {
            if let Some(order) = self.released.pop_front() {
                self.issue(order);
            } else if let Some(lane) = self.recycling.pop_front() {
                self.recycle(lane);
                if self.recycling.is_empty() {
                    self.check_idle(Occasion::Other);
                }
            } else {
                return;
            }
        }
    }
}
