//! Runs that end before their time: a person stops them, or a primer fails.

use crate::inputs::{settings, traces, vector};
use replay::{Action, Event, Mark, OnPrimerFailure, Outcome, Phase, Plan, Replay, RequestKey, RunEnd};

/// A machine on the vector's traces, and the requests that are in flight.
struct Run {
    replay: Replay,
    in_flight: Vec<RequestKey>,
    cancelled_for: Option<RunEnd>,
    phases: Vec<Phase>,
}

impl Run {
    fn new(on_primer_failure: OnPrimerFailure) -> Self {
        let case = vector("dispatch_c4_seed42.json");
        let traces = traces(&case["traces"]);
        let settings = replay::Settings {
            burst_phase_starts: true,
            on_primer_failure,
            ..settings(&case)
        };
        let plan = Plan::draw(&traces, &settings).unwrap();
        let replay = Replay::new(traces, settings, plan);
        let mut run = Self {
            replay,
            in_flight: Vec::new(),
            cancelled_for: None,
            phases: Vec::new(),
        };
        run.tell(0.0, Event::Start);
        run
    }

    /// Tells the event, and wakes the machine as often as it wants to be woken at once.
    fn tell(&mut self, at: f64, event: Event) {
        self.handle(at, event);
        while self.replay.next_deadline().is_some_and(|next| next <= at) {
            self.handle(at, Event::Wake);
        }
    }

    fn handle(&mut self, at: f64, event: Event) {
        for action in self.replay.handle(at, event) {
            match action {
                Action::Send(sent) => self.in_flight.push(sent.request),
                Action::CancelAll(why) => self.cancelled_for = Some(why),
                Action::Mark(Mark::PhaseStart { phase, .. }) => self.phases.push(phase),
                Action::Mark(_) => {}
            }
        }
    }

    fn answer_all(&mut self, at: f64, outcome: Outcome) {
        for request in std::mem::take(&mut self.in_flight) {
            self.tell(at, Event::Returned { request, outcome });
        }
    }

    fn profiling() -> Self {
        let mut run = Self::new(OnPrimerFailure::Abort);
        run.answer_all(1.0, Outcome::Ok);
        assert_eq!(run.phases, [Phase::Warmup, Phase::Profiling]);
        assert!(!run.in_flight.is_empty(), "burst starts send at once");
        run
    }
}

#[test]
fn the_first_interrupt_lets_requests_in_flight_finish() {
    let mut run = Run::profiling();
    run.tell(2.0, Event::Interrupt);
    assert_eq!(run.replay.ended(), None);
    assert_eq!(run.cancelled_for, None);
    run.answer_all(3.0, Outcome::Ok);
    assert_eq!(run.replay.ended(), Some(RunEnd::Interrupted));
    assert!(run.in_flight.is_empty(), "nothing new was sent");
}

#[test]
fn the_second_interrupt_cancels_them() {
    let mut run = Run::profiling();
    run.tell(2.0, Event::Interrupt);
    run.tell(2.5, Event::Interrupt);
    assert_eq!(run.cancelled_for, Some(RunEnd::Interrupted));
    run.answer_all(2.6, Outcome::Cancelled);
    assert_eq!(run.replay.ended(), Some(RunEnd::Interrupted));
}

#[test]
fn an_interrupted_run_does_not_wait_longer_than_its_grace() {
    let mut run = Run::profiling();
    run.tell(2.0, Event::Interrupt);
    assert_eq!(run.replay.next_deadline(), Some(32.0));
    run.tell(32.0, Event::Wake);
    assert_eq!(run.cancelled_for, Some(RunEnd::Interrupted));
}

#[test]
fn an_interrupt_in_warm_up_ends_the_run_without_a_measurement() {
    let mut run = Run::new(OnPrimerFailure::Abort);
    run.tell(0.1, Event::Interrupt);
    run.answer_all(0.5, Outcome::Ok);
    assert_eq!(run.replay.ended(), Some(RunEnd::Interrupted));
    assert_eq!(run.phases, [Phase::Warmup]);
}

#[test]
fn a_failing_primer_of_a_root_ends_the_run() {
    let mut run = Run::new(OnPrimerFailure::Abort);
    let first = run.in_flight.remove(0);
    run.tell(
        0.5,
        Event::Returned {
            request: first,
            outcome: Outcome::Failed,
        },
    );
    assert_eq!(run.cancelled_for, Some(RunEnd::PrimerFailed));
    run.answer_all(0.6, Outcome::Cancelled);
    assert_eq!(run.replay.ended(), Some(RunEnd::PrimerFailed));
    assert_eq!(run.phases, [Phase::Warmup]);
}

#[test]
fn an_overflowing_primer_does_not_and_a_failing_one_need_not() {
    for (policy, outcome) in [
        (OnPrimerFailure::Abort, Outcome::Overflow),
        (OnPrimerFailure::Continue, Outcome::Failed),
    ] {
        let mut run = Run::new(policy);
        run.answer_all(0.5, outcome);
        assert_eq!(run.replay.ended(), None);
        assert_eq!(run.phases, [Phase::Warmup, Phase::Profiling]);
    }
}
