//! What follows from the end of a request, in aiperf's order (`aiperf-replay` §3.1).

use super::deferred::{Deferred, Then};
use super::idle::Occasion;
use super::phases::Stage;
use super::{Outcome, Phase, Replay, RequestKey, RunEnd};
use crate::OnPrimerFailure;
use crate::live::{Order, TreeId, Via};
use tree::{Trace, TurnRef};

impl Replay {
    pub(super) fn settle(&mut self, request: RequestKey, outcome: Outcome) {
        let Some((tree, turn)) = self.in_flight.remove(&request) else {
            return;
        };
        self.stuck.suspect(tree);
        match self.phase.stage {
            Stage::Priming => {
                self.hand_over.primer_returned(tree, turn);
                self.watch_returned(tree);
                self.finish_return(turn, outcome);
            }
            Stage::Pressure | Stage::Window => self.settle_turn(tree, turn, outcome),
        }
    }

    fn settle_turn(&mut self, tree: TreeId, turn: TurnRef, outcome: Outcome) {
        let conversation = self.trace_of(tree).map(|trace| {
            let conversation = &trace.conversations[turn.conversation];
            (conversation.depth, conversation.turns.len())
        });
        let then = Then::Settle(tree, turn, outcome);
        match conversation {
            Some((depth, turns)) if depth > 0 && turn.turn + 1 == turns => {
                self.end_child(tree, turn.conversation, then);
            }
            _ => self.go(then),
        }
    }

    /// What follows from the end of a turn, once its child has ended if the turn was its last.
    pub(super) fn settle_rest(&mut self, tree: TreeId, turn: TurnRef, outcome: Outcome) {
        let trace = self.trace_of(tree);
        let turns = trace
            .as_ref()
            .map(|trace| trace.conversations[turn.conversation].turns.len());
        let is_final = turns.is_none_or(|turns| turn.turn + 1 == turns);
        if let Some(trace) = trace {
            self.end_in_barrier(tree, &trace, turn);
        }
        self.watch_returned(tree);
        if self.phase.stage == Stage::Pressure {
            self.hand_over.returned(tree, turn, is_final, self.now);
        }
        let at_once = if is_cut_short(outcome, is_final) {
            Vec::new()
        } else {
            self.spawn_remaining(tree, turn)
        };
        self.after_children(at_once, Then::GoOn(tree, turn, outcome));
    }

    /// The end of a return. Stock behaviour: the run ends at the first root that fails in the warm-up; a context overflow is
    /// counted and no more.
    pub(super) fn finish_return(&mut self, turn: TurnRef, outcome: Outcome) {
        let fails =
            self.phase.name() == Phase::Warmup && turn.conversation == 0 && outcome == Outcome::Failed;
        if fails && self.settings.on_primer_failure == OnPrimerFailure::Abort {
            self.give_up(RunEnd::PrimerFailed);
        }
        self.check_idle(Occasion::Return);
    }

    /// The conversation's next turn, or its end.
    pub(super) fn go_on(&mut self, tree: TreeId, turn: TurnRef, outcome: Outcome) {
        let then = Then::Finish(turn, outcome);
        let Some(trace) = self.trace_of(tree) else {
            return self.go(then);
        };
        let conversation = &trace.conversations[turn.conversation];
        let is_child = conversation.depth > 0;
        let is_final = turn.turn + 1 == conversation.turns.len();
        let ends = is_final || is_cut_short(outcome, is_final);
        if !is_cut_short(outcome, is_final) && self.stands_at_join(tree, turn) {
            return self.go(then);
        }
        // After cache pressure a turn that is due is handed over, not refused.
        if !ends && (self.may_send() || self.phase.stage == Stage::Pressure) {
            return self.follow(tree, turn, then);
        }
        if is_child && !is_final {
            return self.end_child(tree, turn.conversation, then);
        }
        if !is_child && ends {
            if let Some(live) = self.trees.get_mut(&tree) {
                live.root_pending = false;
            }
            self.drain_if_done(tree);
        }
        self.go(then);
    }

    /// Whether the conversation's next turn waits for children; its recorded delay runs from now where it counts.
    fn stands_at_join(&mut self, tree: TreeId, turn: TurnRef) -> bool {
        let next = TurnRef {
            turn: turn.turn + 1,
            ..turn
        };
        let stands = self
            .trees
            .get_mut(&tree)
            .is_some_and(|live| live.joins.reach(next));
        if stands {
            self.delay_join(tree, next);
        }
        stands
    }

    /// Lets go what waited for the turn, after the event at hand; nothing once everything is held.
    fn end_in_barrier(&mut self, tree: TreeId, trace: &Trace, turn: TurnRef) {
        let Some(live) = self.trees.get_mut(&tree) else {
            return;
        };
        let released = live.barrier.end(trace, turn);
        if self.phase.holds_all {
            for (turn, order) in released {
                live.barrier.hold(trace, turn, order);
            }
            return;
        }
        for (_, order) in released {
            // It was due before, but could not be late while it was held.
            let due = self.now;
            self.defer(Deferred::Released(Order { due, ..order }));
        }
    }

    /// Lets the recorded delay of a turn at which its parent stands run beside its children, in a dialect that keeps it.
    fn delay_join(&mut self, tree: TreeId, turn: TurnRef) {
        let Some(trace) = self.trace_of(tree) else { return };
        let recorded_ms = trace.conversations[turn.conversation].turns[turn.turn]
            .delay_ms
            .unwrap_or(0.0);
        if self.phase.stage == Stage::Window {
            self.arm_join_delay(tree, turn, recorded_ms / 1000.0);
        }
    }

    /// As above, for a delay that is known.
    pub(super) fn arm_join_delay(&mut self, tree: TreeId, turn: TurnRef, delay_s: f64) {
        if !self.rules().join_keeps_delay || delay_s <= 0.0 {
            return;
        }
        if let Some(live) = self.trees.get_mut(&tree) {
            live.joins.delay(turn);
            let due = self.now + delay_s;
            self.arm(Order {
                tree,
                turn,
                via: Via::JoinDelay,
                due,
            });
        }
    }

    /// The recorded delay of a turn at which its parent stands is over.
    pub(super) fn end_join_delay(&mut self, order: Order, then: Then) {
        let goes_on = self
            .trees
            .get_mut(&order.tree)
            .is_some_and(|live| live.joins.end_delay(order.turn));
        if goes_on {
            let via = Via::Join;
            self.submit_then(Order { via, ..order }, then);
        } else {
            self.go(then);
        }
    }
}

/// A prompt only grows: once it does not fit, no later turn of the conversation will.
fn is_cut_short(outcome: Outcome, is_final: bool) -> bool {
    outcome == Outcome::Overflow && !is_final
}
