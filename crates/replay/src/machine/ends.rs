//! How a phase ends: deadlines, the steps that are taken after them, and what becomes of turns that were pending
//! (`aiperf-replay` §4.6, §5.6).

use super::deferred::{PhaseStep, Then};
use super::due::{Due, Effect};
use super::phases::Stage;
use super::{Action, Mark, Replay, RunEnd};
use crate::Seconds;
use crate::dialect::{CANCEL_SETTLE_S, PRESSURE_POLL_S};
use crate::live::{Order, Via};

impl Replay {
    /// The end of sending has come.
    pub(super) fn window_end_comes(&mut self) {
        if std::mem::replace(&mut self.phase.window_end_came, true) {
            return;
        }
        self.defer_step(match self.phase.stage {
            Stage::Priming | Stage::Pressure => PhaseStep::PressureEnd,
            Stage::Window => PhaseStep::WindowEnd,
        });
    }

    pub(super) fn grace_end_comes(&mut self) {
        if !std::mem::replace(&mut self.phase.grace_end_came, true) {
            self.defer_step(PhaseStep::GraceEnd);
        }
    }

    /// The end of cache pressure looks whether all requests have returned.
    pub(super) fn poll(&mut self) {
        self.phase.poll_at = Some(Seconds::INFINITY);
        self.defer_step(PhaseStep::Poll);
    }

    pub(super) fn take_step(&mut self, step: PhaseStep) {
        match step {
            PhaseStep::Poll if !self.in_flight.is_empty() => self.poll_again(),
            // A wait that a deadline bounds ends a little later.
            PhaseStep::Poll if self.settings.warmup_grace_s.is_finite() => {
                self.defer_step(PhaseStep::Drained);
            }
            PhaseStep::Poll | PhaseStep::Drained => self.phase.poll_at = None,
            _ => {
                self.phase.holds_all |= step == PhaseStep::PressureEnd;
                self.phase.noticed.push(step);
            }
        }
    }

    /// Whether the step may be taken: it is noticed with the next pass at the earliest.
    pub(super) fn notices(&mut self, step: PhaseStep) -> bool {
        if !self.phase.has_noticed(step) && !self.phase.noticing.contains(&step) {
            self.phase.noticing.push(step);
            self.defer_step(step);
        }
        self.phase.has_noticed(step)
    }

    fn poll_again(&mut self) {
        let at = self.now + PRESSURE_POLL_S;
        self.phase.poll_at = Some(at);
        self.show(Effect::Set(Due::Poll, at));
    }

    /// Whether the phase waits for something. Children that have not ended and joins that have not opened keep the
    /// measurement from ending, even if nothing will come of them any more: stock behaviour. The end of cache pressure is
    /// seen only when it is looked for.
    pub(super) fn waits(&self) -> bool {
        let in_flight = !self.in_flight.is_empty();
        if self.phase.stopping.is_some() {
            return in_flight;
        }
        match self.phase.stage {
            Stage::Priming => in_flight,
            Stage::Pressure => in_flight || self.phase.poll_at.is_some(),
            Stage::Window => in_flight || self.has_branch_work(),
        }
    }

    fn has_branch_work(&self) -> bool {
        self.abandoned_joins > 0
            || self
                .trees
                .values()
                .any(|tree| tree.open_children > 0 || tree.joins.any())
    }

    /// Whether a deadline ends the phase although it still waits.
    pub(super) fn passes_deadline(&mut self) -> bool {
        let is_over = self.phase.has_noticed(PhaseStep::GraceEnd);
        if self.phase.cancelled {
            return is_over;
        }
        if is_over {
            if self.phase.stage == Stage::Pressure {
                self.phase.stopping.get_or_insert(RunEnd::WarmupTimedOut);
            }
            self.cancel_all(self.phase.stopping.unwrap_or(RunEnd::Complete));
            return self.in_flight.is_empty();
        }
        // Without a deadline nothing but the requests in flight is waited for: no join can come any more.
        let endless = self.phase.cancel_at.is_none_or(f64::is_infinite);
        endless && self.phase.stage == Stage::Window && self.in_flight.is_empty() && self.sleeps.is_empty()
    }

    pub(super) fn cancel_all(&mut self, why: RunEnd) {
        if self.phase.cancelled {
            return;
        }
        self.phase.cancelled = true;
        self.phase.cancel_at = Some(self.now + CANCEL_SETTLE_S);
        self.phase.grace_end_came = false;
        self.phase.noticed.retain(|step| *step != PhaseStep::GraceEnd);
        self.show_grace_end();
        self.mark(Mark::CancelAll {
            at: self.now,
            in_flight: self.in_flight.len(),
        });
        if !self.in_flight.is_empty() {
            self.act(Action::CancelAll(why));
        }
    }

    pub(super) fn complete_sending(&mut self) {
        self.phase.sending_complete = true;
        self.mark(Mark::SendingComplete {
            phase: self.phase.name(),
            at: self.now,
        });
        if self.phase.stage == Stage::Pressure {
            self.phase.holds_all = true;
        } else {
            self.drop_what_is_pending();
        }
    }

    /// Requests of a phase that sends nothing more have still to return.
    pub(super) fn begin_to_wait(&mut self) {
        if self.phase.stage == Stage::Pressure {
            let grace_end = self.now + self.settings.warmup_grace_s;
            self.phase.cancel_at.get_or_insert(grace_end);
            self.show_grace_end();
            self.poll_again();
        } else {
            self.show_grace_end();
        }
    }

    /// A grace period of nothing is over as it begins.
    fn show_grace_end(&mut self) {
        match self.phase.cancel_at.filter(|at| at.is_finite()) {
            Some(at) if at <= self.now => {
                self.phase.grace_end_came = true;
                self.phase.noticed.push(PhaseStep::GraceEnd);
            }
            Some(at) => self.show(Effect::Set(Due::GraceEnd, at)),
            None => {}
        }
    }

    /// Timers and held turns of a phase that sends nothing more.
    fn drop_what_is_pending(&mut self) {
        let dropped = self.timers.take_all();
        for (id, _) in &dropped {
            self.show(Effect::Drop(Due::Timer(*id)));
        }
        let dropped = dropped.into_iter().map(|(_, order)| order);
        if self.rules().window_end_settles_children {
            for order in dropped.filter(|order| order.via != Via::JoinDelay) {
                self.refuse(order);
            }
            let delayed: Vec<_> = self
                .trees
                .iter()
                .flat_map(|(tree, live)| live.joins.delayed().into_iter().map(|turn| (*tree, turn)))
                .collect();
            for (tree, turn) in delayed {
                let due = self.now;
                let via = Via::JoinDelay;
                let order = Order { tree, turn, via, due };
                self.end_join_delay(order, Then::Nothing);
            }
        }
        let held: Vec<_> = self
            .trees
            .values_mut()
            .flat_map(|tree| tree.barrier.take_held())
            .collect();
        for (_, order) in held {
            self.refuse(order);
        }
    }
}
