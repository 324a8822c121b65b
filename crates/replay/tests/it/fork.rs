//! The fork's event logs, with the answers of one instant told in the order in which the log has them.
//!
//! That order comes from a heap that also holds timers which the log does not show; it decides numbers and lanes, so it is
//! taken from the log, and everything else must follow.

use crate::dispatch::{by_instant, events};
use crate::inputs::{list, settings, text, traces, vector};
use replay::simulate::Logged;
use replay::{Action, Event, Outcome, Phase, Plan, Replay, Seconds, Send};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use tree::Trace;

/// Answers that are due closer together than this come in the log's order.
const INSTANT_S: Seconds = 1e-6;

struct Run<'a> {
    replay: Replay,
    traces: &'a [Arc<Trace>],
    /// Where the log has the return of a request, by phase and number.
    places: HashMap<(String, u64), usize>,
    warm_s: Seconds,
    in_flight: Vec<(Seconds, Send)>,
    log: Vec<Logged>,
}

fn phase_name(phase: Phase) -> String {
    format!("{phase:?}").to_lowercase()
}

impl Run<'_> {
    fn duration(&self, sent: &Send) -> Seconds {
        let turn = &self.traces[sent.trace].conversations[sent.turn.conversation].turns[sent.turn.turn];
        match sent.phase {
            Phase::Warmup => self.warm_s,
            Phase::Profiling => {
                turn.api_time_ms.unwrap_or(0.0) / 1000.0 + 0.001 * ((sent.sequence * 37) % 101) as f64
            }
        }
    }

    fn step(&mut self, now: Seconds, event: Event) {
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
                        self.step(now, Event::Returned { request, outcome });
                    }
                }
            }
        }
    }

    /// The next answer: of those due first, the one that the log has first.
    fn next_answer(&self) -> Option<usize> {
        let first = self.in_flight.iter().map(|(at, _)| *at).reduce(f64::min)?;
        let place = |sent: &Send| {
            self.places
                .get(&(phase_name(sent.phase), sent.sequence))
                .copied()
                .unwrap_or(usize::MAX)
        };
        (0..self.in_flight.len())
            .filter(|index| self.in_flight[*index].0 <= first + INSTANT_S)
            .min_by_key(|index| place(&self.in_flight[*index].1))
    }

    fn advance(&mut self, now: Seconds) -> Option<Seconds> {
        let deadline = self.replay.next_deadline();
        match self.next_answer() {
            Some(index) if deadline.is_none_or(|deadline| self.in_flight[index].0 <= deadline) => {
                let (at, sent) = self.in_flight.swap_remove(index);
                let (at, request) = (at.max(now), sent.request);
                self.log.push(Logged::Returned {
                    at,
                    sent,
                    error: None,
                });
                let outcome = Outcome::Ok;
                self.step(at, Event::Returned { request, outcome });
                Some(at)
            }
            _ => {
                let at = deadline?.max(now);
                self.step(at, Event::Wake);
                Some(at)
            }
        }
    }
}

fn check(name: &str, warm_s: Seconds, until: Seconds) {
    let case = vector(&format!("dispatch_{name}.json"));
    let traces = traces(&case["traces"]);
    let settings = settings(&case);
    let plan = Plan::draw(&traces, &settings).unwrap();
    assert_eq!(
        plan.warmup_request_count() as u64,
        case["warmup_request_count"].as_u64().unwrap()
    );
    let returns = list(&case["events"])
        .iter()
        .enumerate()
        .filter(|(_, event)| event["ev"] == "return");
    let places = returns
        .map(|(place, event)| {
            (
                (text(&event["phase"]).to_string(), event["n"].as_u64().unwrap()),
                place,
            )
        })
        .collect();
    let mut run = Run {
        replay: Replay::new(traces.clone(), settings, plan),
        traces: &traces,
        places,
        warm_s,
        in_flight: Vec::new(),
        log: Vec::new(),
    };
    run.step(0.0, Event::Start);
    let mut now = Some(0.0);
    while let (Some(at), None) = (now, run.replay.ended()) {
        now = run.advance(at);
    }
    let upto = |events: &[Value]| -> Vec<Value> {
        let before = |event: &&Value| event["t"].as_f64().unwrap() < until;
        events.iter().filter(before).cloned().collect()
    };
    let ours = by_instant(&upto(&events(&run.log, &traces)));
    let theirs = by_instant(&upto(list(&case["events"])));
    for (instant, theirs) in &theirs {
        assert_eq!(ours.get(instant), Some(theirs), "{name} at {instant} µs");
    }
    assert_eq!(
        ours.len(),
        theirs.len(),
        "{name}: instants that the fork does not have"
    );
}

/// From these instants on the logs are a matter of rounding on the virtual clock: the fork's guard of the idle cap and the
/// timer that the cap moved fall on one instant, and where the heap has the timer first the guard moves the next one too.
/// On a real clock the guard, which was armed first, comes first and finds nothing to do, as at all such instants before.
const DEFAULTS_UNTIL_S: Seconds = 149.8045;
const FLAGS_UNTIL_S: Seconds = 51.7412;

#[test]
fn scenario_defaults() {
    check("agentx1012_c4_seed42", 0.5, DEFAULTS_UNTIL_S);
}

#[test]
fn flags_of_inferencex() {
    check("agentx1012_c4_seed42_inferencex_flags", 0.7, FLAGS_UNTIL_S);
}
