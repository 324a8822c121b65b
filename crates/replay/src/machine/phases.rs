//! Phases: how they begin, and how one follows the other (`aiperf-replay` §4, §5.2, §5.6).

use super::deferred::{PhaseStep, Then};
use super::due::{Due, Effect};
use super::idle::Occasion;
use super::{Mark, Phase, Replay, RunEnd};
use crate::live::Order;
use crate::{Seconds, Warmup};

/// Longest time that requests in flight may take after the first interrupt; a shorter grace period holds instead.
pub(crate) const INTERRUPT_DRAIN_S: Seconds = 30.0;

/// What the run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Sending primers.
    Priming,
    /// Running on without idle time, still in the warm-up.
    Pressure,
    /// Measuring.
    Window,
}

/// The phase at hand.
pub(super) struct PhaseState {
    pub(super) stage: Stage,
    pub(super) start: Seconds,
    /// When sending ends at the latest.
    pub(super) window_end: Option<Seconds>,
    /// When what is in flight is cancelled; once it has been, when the phase ends although it still waits for something.
    pub(super) cancel_at: Option<Seconds>,
    /// When the end of cache pressure looks next whether all requests have returned; infinite while it does.
    pub(super) poll_at: Option<Seconds>,
    /// The deadlines that have come, and are or will be noticed.
    pub(super) window_end_came: bool,
    pub(super) grace_end_came: bool,
    /// The steps that have been noticed.
    pub(super) noticed: Vec<PhaseStep>,
    /// Those that will be.
    pub(super) noticing: Vec<PhaseStep>,
    pub(super) sent: u64,
    pub(super) sending_complete: bool,
    /// Turns that become due are held, whatever the barrier says.
    pub(super) holds_all: bool,
    pub(super) cancelled: bool,
    /// Set when the run is to end before its time.
    pub(super) stopping: Option<RunEnd>,
}

impl PhaseState {
    pub(super) fn new(stage: Stage, start: Seconds) -> Self {
        Self {
            stage,
            start,
            window_end: None,
            cancel_at: None,
            poll_at: None,
            window_end_came: false,
            grace_end_came: false,
            noticed: Vec::new(),
            noticing: Vec::new(),
            sent: 0,
            sending_complete: false,
            holds_all: false,
            cancelled: false,
            stopping: None,
        }
    }

    /// The phase that the stage belongs to.
    pub(super) fn name(&self) -> Phase {
        match self.stage {
            Stage::Priming | Stage::Pressure => Phase::Warmup,
            Stage::Window => Phase::Profiling,
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Seconds> {
        if !self.sending_complete {
            return self.window_end.filter(|_| !self.window_end_came);
        }
        let grace_end = self.cancel_at.filter(|_| !self.grace_end_came);
        [grace_end, self.poll_at].into_iter().flatten().reduce(f64::min)
    }

    pub(super) fn has_noticed(&self, step: PhaseStep) -> bool {
        self.noticed.contains(&step)
    }
}

impl Replay {
    pub(super) fn start_warmup(&mut self) {
        self.mark(Mark::PhaseStart {
            phase: Phase::Warmup,
            at: self.now,
        });
        self.open_lanes();
        let primers = self.primers();
        let max_lead_ms = primers.iter().map(|(_, lead)| *lead).fold(0.0, f64::max);
        for (order, lead_ms) in primers {
            let offset_s = if self.settings.burst_phase_starts {
                0.0
            } else {
                (max_lead_ms - lead_ms) / 1000.0
            };
            if offset_s > 0.0 {
                let due = self.now + offset_s;
                self.arm(Order { due, ..order });
            } else {
                self.submit_then(order, Then::Nothing);
            }
        }
        self.check_idle(Occasion::Other);
    }

    fn start_profiling(&mut self) {
        self.phase = PhaseState::new(Stage::Window, self.now);
        let window_end = self.now + self.settings.duration_s;
        self.phase.window_end = Some(window_end);
        self.phase.cancel_at = Some(window_end + self.settings.grace_s);
        self.begin_idle_checks();
        self.show(Effect::Set(Due::WindowEnd, window_end));
        self.stuck.begin_phase();
        self.mark(Mark::PhaseStart {
            phase: Phase::Profiling,
            at: self.now,
        });
        let start = self.start_shift();
        for lane in 0..self.resumes.len() {
            self.start_lane(lane, start);
        }
        self.check_idle(Occasion::Other);
    }

    pub(super) fn interrupt(&mut self) {
        if self.phase.stopping.is_some() {
            self.cancel_all(RunEnd::Interrupted);
            return;
        }
        self.phase.stopping = Some(RunEnd::Interrupted);
        let drain_end = self.now + self.settings.grace_s.min(INTERRUPT_DRAIN_S);
        self.phase.cancel_at = Some(
            self.phase
                .cancel_at
                .map_or(drain_end, |planned| planned.min(drain_end)),
        );
    }

    /// Ends the run at once: what is in flight is cancelled.
    pub(super) fn give_up(&mut self, why: RunEnd) {
        self.phase.stopping = Some(why);
        self.cancel_all(why);
    }

    /// Carries the phase forward as far as this moment allows.
    pub(super) fn conclude(&mut self) {
        while self.ended.is_none() {
            if !self.phase.sending_complete {
                if self.pressure_begins() {
                    self.start_pressure();
                    continue;
                }
                if !self.has_sent_all() {
                    return;
                }
                // A window's end was noticed as it came.
                if !self.phase.has_noticed(PhaseStep::WindowEnd) && !self.notices(PhaseStep::Sent) {
                    return;
                }
                self.complete_sending();
                if !self.waits() {
                    self.complete_phase();
                    continue;
                }
                self.begin_to_wait();
            }
            let is_noticing = self.phase.noticing.contains(&PhaseStep::Returned);
            if !is_noticing && self.waits() && !self.passes_deadline() {
                return;
            }
            // The end of cache pressure was looked for.
            if self.phase.stage != Stage::Pressure && !self.notices(PhaseStep::Returned) {
                return;
            }
            self.complete_phase();
        }
    }

    /// The primers have all returned, and the warm-up has a second stage.
    pub(super) fn pressure_begins(&self) -> bool {
        self.phase.stage == Stage::Priming
            && self.settings.warmup != Warmup::Primers
            && self.phase.stopping.is_none()
            && self.phase.sent >= self.plan.warmup_request_count() as u64
            && self.in_flight.is_empty()
    }

    fn has_sent_all(&self) -> bool {
        if self.phase.stopping.is_some() {
            return true;
        }
        match self.phase.stage {
            Stage::Priming => {
                self.settings.warmup == Warmup::Primers
                    && self.phase.sent >= self.plan.warmup_request_count() as u64
            }
            Stage::Pressure => self.pressure_is_over(),
            Stage::Window => {
                self.settings
                    .request_cap
                    .is_some_and(|request_cap| self.phase.sent >= request_cap)
                    || self.phase.has_noticed(PhaseStep::WindowEnd)
            }
        }
    }

    fn complete_phase(&mut self) {
        self.mark(Mark::PhaseComplete {
            phase: self.phase.name(),
            at: self.now,
        });
        for due in [Due::WindowEnd, Due::GraceEnd] {
            self.show(Effect::Drop(due));
        }
        if let (Phase::Warmup, None) = (self.phase.name(), self.phase.stopping) {
            if self.phase.stage == Stage::Pressure {
                self.hand_lanes_over();
            }
            self.start_profiling();
            return;
        }
        let end = self.phase.stopping.unwrap_or(RunEnd::Complete);
        self.ended = Some(end);
        self.mark(Mark::End(end));
    }
}
