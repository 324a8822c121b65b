//! The system idle cap: when nothing is in flight, pending timers are pulled in together (`aiperf-replay` §5.4).
//!
//! The fork also sets a guard: an instant at which it looks again, whatever else happens until then.

use super::Replay;
use super::due::{Due, Effect};
use super::phases::Stage;
use crate::Seconds;

/// What is left of the cap counts as nothing from here on, where there is a guard.
const GUARD_EPSILON_S: Seconds = 1e-6;

/// Since when the system idles, and what that has led to.
#[derive(Default)]
pub(super) struct IdleCheck {
    since: Option<Seconds>,
    guard: Option<Seconds>,
    shifts: u64,
    skipped: Seconds,
}

impl IdleCheck {
    pub(super) fn shifts(&self) -> (u64, Seconds) {
        (self.shifts, self.skipped)
    }
}

/// What makes the machine look.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Occasion {
    /// A request has returned: a new idle interval begins.
    Return,
    /// The phase has begun, the last timer that fired has done its work, or the guard looks: the interval at hand goes on.
    Other,
}

impl Replay {
    pub(super) fn next_guard(&self) -> Option<Seconds> {
        self.idle.guard
    }

    /// Each phase looks with fresh eyes.
    pub(super) fn begin_idle_checks(&mut self) {
        self.idle.since = None;
        self.drop_guard();
    }

    fn drop_guard(&mut self) {
        if self.idle.guard.take().is_some() {
            self.show(Effect::Drop(Due::Guard));
        }
    }

    pub(super) fn run_guard(&mut self) {
        self.idle.guard = None;
        self.check_idle(Occasion::Other);
    }

    pub(super) fn check_idle(&mut self, occasion: Occasion) {
        if self.phase.stage == Stage::Pressure || self.pressure_begins() {
            return;
        }
        if !self.in_flight.is_empty() {
            self.idle.since = None;
            self.drop_guard();
            return;
        }
        let since = match self.idle.since {
            Some(since) if occasion == Occasion::Other => since,
            _ => self.now,
        };
        self.idle.since = Some(since);
        let budget = (self.settings.system_idle_gap_cap_s - (self.now - since).max(0.0)).max(0.0);
        let Some(budget) = self.guarded(budget) else {
            return;
        };
        let shift = self.pull_in(budget, |_| true);
        if shift > 0.0 {
            self.idle.shifts += 1;
            self.idle.skipped += shift;
        }
    }

    /// What is left of the cap, if anything is to be done about it. A turn on its way counts as work, and the check comes again
    /// when it has been sent or held; but where there is a guard it does not outlast the cap.
    fn guarded(&mut self, budget: Seconds) -> Option<Seconds> {
        let busy = self.deferred.running > 0;
        if !self.rules().idle_guard {
            return (!busy).then_some(budget);
        }
        if budget <= GUARD_EPSILON_S {
            return Some(0.0);
        }
        if self.idle.guard.is_none() {
            let at = self.now + budget;
            self.idle.guard = Some(at);
            self.show(Effect::Set(Due::Guard, at));
        }
        (!busy).then_some(budget)
    }
}
