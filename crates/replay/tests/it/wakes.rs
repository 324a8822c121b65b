//! The machine fed as a real clock feeds it: with answers, and with wakes when it wants them. Where no two things coincide,
//! that gives the event logs too.

use crate::dispatch::{compare, recorded};
use crate::inputs::{settings, traces, vector};
use replay::simulate::Logged;
use replay::{Action, Event, Outcome, Phase, Plan, Replay, Seconds, Send};
use std::sync::Arc;
use tree::Trace;

struct Run {
    replay: Replay,
    traces: Arc<[Arc<Trace>]>,
    in_flight: Vec<(Seconds, Send)>,
    log: Vec<Logged>,
}

impl Run {
    fn duration(&self, sent: &Send) -> Seconds {
        let turn = &self.traces[sent.trace].conversations[sent.turn.conversation].turns[sent.turn.turn];
        match sent.phase {
            Phase::Warmup => recorded(0.5).warm_s,
            Phase::Profiling => {
                turn.api_time_ms.unwrap_or(0.0) / 1000.0 + 0.001 * ((sent.sequence * 37) % 101) as f64
            }
        }
    }

    fn tell(&mut self, now: Seconds, event: Event) {
        for action in self.replay.handle(now, event) {
            match action {
                Action::Send(sent) => {
                    self.in_flight.push((now + self.duration(&sent), (*sent).clone()));
                    self.log.push(Logged::Sent(*sent));
                }
                Action::Mark(mark) => self.log.push(Logged::Mark(mark)),
                Action::CancelAll(_) => {
                    for (_, sent) in std::mem::take(&mut self.in_flight) {
                        let request = sent.request;
                        self.log.push(Logged::Cancelled { at: now, sent });
                        let outcome = Outcome::Cancelled;
                        self.tell(now, Event::Returned { request, outcome });
                    }
                }
            }
        }
    }

    /// The next answer or wake, whichever is due first.
    fn advance(&mut self, now: Seconds) -> Option<Seconds> {
        let next = (0..self.in_flight.len())
            .min_by(|a, b| self.in_flight[*a].0.total_cmp(&self.in_flight[*b].0))
            .map(|index| (self.in_flight[index].0, index));
        match (next, self.replay.next_deadline()) {
            (Some((at, index)), deadline) if deadline.is_none_or(|deadline| at <= deadline) => {
                let (_, sent) = self.in_flight.swap_remove(index);
                let (request, outcome) = (sent.request, Outcome::Ok);
                let error = None;
                self.log.push(Logged::Returned { at, sent, error });
                self.tell(at, Event::Returned { request, outcome });
                Some(at)
            }
            (_, deadline) => {
                let at = deadline?.max(now);
                self.tell(at, Event::Wake);
                Some(at)
            }
        }
    }
}

fn check(name: &str, until: Seconds) {
    let case = vector(&format!("dispatch_{name}.json"));
    let traces = traces(&case["traces"]);
    let settings = settings(&case);
    let plan = Plan::draw(&traces, &settings).unwrap();
    let mut run = Run {
        replay: Replay::new(traces.clone(), settings, plan),
        traces: traces.clone(),
        in_flight: Vec::new(),
        log: Vec::new(),
    };
    run.tell(0.0, Event::Start);
    let mut now = Some(0.0);
    while let (Some(at), None) = (now, run.replay.ended()) {
        now = run.advance(at);
    }
    compare(name, &run.log, &traces, until);
}

#[test]
fn stock_aiperf() {
    for name in [
        "c4_seed42",
        "c8_seed42",
        "c5_seed42_five_traces",
        "c4_seed42_ratio25_75",
        "c4_seed42_burst",
        "request_cap10",
    ] {
        check(name, Seconds::INFINITY);
    }
}

/// There the guard of the fork's idle cap and the timer that the cap moved fall on one instant of the virtual clock, with the
/// timer first, so that the guard moves the next one too. On a real clock the guard, which was set first, comes first.
const GUARD_AFTER_TIMER_S: Seconds = 149.8045;

#[test]
fn the_fork() {
    check("agentx1012_c4_seed42", GUARD_AFTER_TIMER_S);
}
