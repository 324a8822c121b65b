//! The system idle cap: when nothing is in flight, pending timers are pulled in together (`aiperf-replay` §5.4).

use super::Replay;
use crate::Seconds;

/// Since when the system idles, and what that has led to.
#[derive(Default)]
pub(super) struct IdleCheck {
    since: Option<Seconds>,
    shifts: u64,
    skipped: Seconds,
}

impl IdleCheck {
    pub(super) fn shifts(&self) -> (u64, Seconds) {
        (self.shifts, self.skipped)
    }

    /// Each phase looks with fresh eyes.
    pub(super) fn begin_phase(&mut self) {
        self.since = None;
    }
}

/// What makes the machine look.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Occasion {
    /// A request has returned: a new idle interval begins.
    Return,
    /// The phase has begun, or the last timer that fired has done its work: the interval at hand goes on.
    Other,
}

impl Replay {
    pub(super) fn check_idle(&mut self, occasion: Occasion) {
        if !self.in_flight.is_empty() {
            self.idle.since = None;
            return;
        }
        let since = match self.idle.since {
            Some(since) if occasion == Occasion::Other => since,
            _ => self.now,
        };
        self.idle.since = Some(since);
        // A lane about to take its next tree counts as work; the check comes again when it has.
        if self.deferred.recycles() {
            return;
        }
        let budget = (self.settings.system_idle_gap_cap_s - (self.now - since).max(0.0)).max(0.0);
        let shift = self.timers.pull_in(self.now, budget);
        if shift > 0.0 {
            self.idle.shifts += 1;
            self.idle.skipped += shift;
        }
    }
}
