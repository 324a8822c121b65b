//! Phases: how they begin, when they stop sending, and when they end (`aiperf-replay` §4, §5.2, §5.6).

use super::idle::Occasion;
use super::deferred::{PhaseStep, Then};
use super::due::{Due, Effect};
use super::{Action, Mark, Phase, Replay, RunEnd};
use crate::dialect::{CANCEL_SETTLE_S, PRESSURE_POLL_S};
use crate::live::{Order, Via};
use crate::{Seconds, Warmup};

/// Longest time that requests in flight may take after the first interrupt; a shorter grace period holds instead.
const INTERRUPT_DRAIN_S: Seconds = 30.0;

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
    cancel_at: Option<Seconds>,
    /// When the end of cache pressure looks next whether all requests have returned; infinite while it does.
    poll_at: Option<Seconds>,
    /// The deadlines that have come, and are or will be noticed.
    window_end_came: bool,
    grace_end_came: bool,
    /// The steps that have been noticed.
    noticed: Vec<PhaseStep>,
    /// Those that will be.
    noticing: Vec<PhaseStep>,
    pub(super) sent: u64,
    pub(super) sending_complete: bool,
    /// Turns that become due are held, whatever the barrier says.
    pub(super) holds_all: bool,
    cancelled: bool,
    /// Set when the run is to end before its time.
    stopping: Option<RunEnd>,
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

    pub(super) fn cancel_at(&self) -> Option<Seconds> {
        self.cancel_at
    }

    pub(super) fn poll_at(&self) -> Option<Seconds> {
        self.poll_at
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
            PhaseStep::Poll if self.settings.warmup_grace_s.is_finite() => self.defer_step(PhaseStep::Drained),
            PhaseStep::Poll | PhaseStep::Drained => self.phase.poll_at = None,
            _ => {
                self.phase.holds_all |= step == PhaseStep::PressureEnd;
                self.phase.noticed.push(step);
            }
        }
    }

    /// Whether the step may be taken: it is noticed with the next pass at the earliest.
    fn notices(&mut self, step: PhaseStep) -> bool {
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

    /// Whether the phase waits for something. Children that have not ended and joins that have not opened keep the
    /// measurement from ending, even if nothing will come of them any more: stock behaviour. The end of cache pressure is
    /// seen only when it is looked for.
    fn waits(&self) -> bool {
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
    fn passes_deadline(&mut self) -> bool {
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

    fn cancel_all(&mut self, why: RunEnd) {
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

    fn complete_sending(&mut self) {
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
    fn begin_to_wait(&mut self) {
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
