//! Complete event logs: every send with its time, lane, pass and marker, every return, every phase mark.
//!
//! Times are compared at the microsecond that the logs hold. What happens at one instant is a set.

use crate::inputs::{list, settings, text, traces, vector};
use replay::simulate::{Failure, Glob, Logged, Service, ServiceModel, simulate};
use replay::{Mark, Phase, Plan, Seconds, Send};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tree::Trace;

fn glob(pattern: &str) -> Glob {
    Glob(pattern.to_string())
}

pub(crate) fn recorded(warm_s: f64) -> ServiceModel {
    ServiceModel {
        service: Service::Recorded,
        service_for: Vec::new(),
        warm_s,
        failures: Vec::new(),
    }
}

fn failing(conversation: &str, turns: &[usize], text: &str, is_overflow: bool) -> ServiceModel {
    let failure = |turn: &usize| Failure {
        conversation: glob(conversation),
        turn: Some(*turn),
        text: text.to_string(),
        is_overflow,
    };
    ServiceModel {
        failures: turns.iter().map(failure).collect(),
        ..recorded(0.5)
    }
}

pub(crate) fn check(name: &str, model: &ServiceModel) {
    let case = vector(&format!("dispatch_{name}.json"));
    let traces = traces(&case["traces"]);
    let settings = settings(&case);
    let plan = Plan::draw(&traces, &settings).unwrap();
    assert_eq!(
        plan.warmup_request_count() as u64,
        case["warmup_request_count"].as_u64().unwrap()
    );
    let log = simulate(traces.clone(), settings, plan, model);
    compare(name, &log, &traces, Seconds::INFINITY);
}

/// The log and that of the vector must be the same before the instant.
pub(crate) fn compare(name: &str, log: &[Logged], traces: &[std::sync::Arc<Trace>], until: Seconds) {
    let case = vector(&format!("dispatch_{name}.json"));
    let before = |events: &[Value]| {
        let mut instants = by_instant(events);
        instants.retain(|micros, _| (*micros as f64) < until * 1e6);
        instants
    };
    let ours = before(&events(log, traces));
    let theirs = before(list(&case["events"]));
    for (instant, theirs) in &theirs {
        assert_eq!(ours.get(instant), Some(theirs), "{name} at {instant} µs");
    }
    assert_eq!(
        ours.len(),
        theirs.len(),
        "{name}: instants that aiperf does not have"
    );
}

/// The events of each instant, sorted, without regard to their order.
fn by_instant(events: &[Value]) -> BTreeMap<i64, Vec<String>> {
    let mut instants: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    for event in events {
        let micros = (event["t"].as_f64().unwrap() * 1e6).round() as i64;
        let mut event = event.clone();
        event.as_object_mut().unwrap().remove("t_phase");
        instants.entry(micros).or_default().push(event.to_string());
    }
    for events in instants.values_mut() {
        events.sort();
    }
    instants
}

fn micros(at: Seconds) -> f64 {
    (at * 1e6).round() / 1e6
}

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Warmup => "warmup",
        Phase::Profiling => "profiling",
    }
}

fn request(kind: &str, at: Seconds, sent: &Send, traces: &[std::sync::Arc<Trace>]) -> Value {
    let conversation = &traces[sent.trace].conversations[sent.turn.conversation];
    json!({"ev": kind, "phase": phase_name(sent.phase), "t": micros(at), "n": sent.sequence, "lane": sent.lane,
        "conversation": &*conversation.id, "turn": sent.turn.turn})
}

fn events(log: &[Logged], traces: &[std::sync::Arc<Trace>]) -> Vec<Value> {
    let mut events = Vec::new();
    for logged in log {
        let event = match logged {
            Logged::Sent(sent) => {
                let mut event = request("send", sent.at, sent, traces);
                event["tree_pass"] = sent.tree_pass.into();
                event["depth"] = traces[sent.trace].conversations[sent.turn.conversation]
                    .depth
                    .into();
                event["marker"] = format!("[rid:{}]", sent.marker).into();
                if let Some(tokens) = sent.max_tokens_override {
                    event["max_tokens_override"] = tokens.into();
                }
                event
            }
            Logged::Returned { at, sent, error } => {
                let mut event = request("return", *at, sent, traces);
                if let Some(error) = error {
                    event["error"] = error.clone().into();
                }
                event
            }
            Logged::Cancelled { at, sent } => request("cancelled", *at, sent, traces),
            Logged::Mark(mark) => match mark {
                Mark::PhaseStart { phase, at } => {
                    json!({"ev": "phase_start", "phase": phase_name(*phase), "t": micros(*at)})
                }
                Mark::SendingComplete { phase, at } => {
                    json!({"ev": "phase_sending_complete", "t": micros(*at), "phase": phase_name(*phase)})
                }
                Mark::CancelAll { at, in_flight } => {
                    json!({"ev": "cancel_all", "t": micros(*at), "in_flight": in_flight})
                }
                Mark::PhaseComplete { phase, at } => {
                    json!({"ev": "phase_complete", "t": micros(*at), "phase": phase_name(*phase)})
                }
                Mark::LaneStuck { .. } | Mark::End(_) => continue,
            },
        };
        events.push(event);
    }
    events
}

#[test]
fn scenario_defaults() {
    check("c4_seed42", &recorded(0.5));
    check("c8_seed42", &recorded(0.5));
    check("c5_seed42_five_traces", &recorded(0.5));
}

#[test]
fn start_ratios_of_inferencex() {
    check("c4_seed42_ratio25_75", &recorded(0.5));
}

#[test]
fn burst_starts() {
    check("c4_seed42_burst", &recorded(0.5));
}

#[test]
fn request_cap() {
    check("request_cap10", &recorded(0.5));
}

#[test]
fn grace_expires_with_requests_in_flight() {
    check(
        "grace_cancel",
        &ServiceModel {
            service: Service::Fixed(47.0),
            ..recorded(0.7)
        },
    );
}

#[test]
fn barrier_holds_and_the_idle_cap_does_not_see_it() {
    let service_for = vec![(glob("*::fa:*"), Service::Fixed(20.0))];
    check(
        "barrier_slow_child",
        &ServiceModel {
            service: Service::Fixed(2.0),
            service_for,
            ..recorded(0.5)
        },
    );
}

#[test]
fn errors_do_not_end_a_conversation() {
    check("errors_continue", &failing("*", &[0, 1], "500 boom", false));
}

#[test]
fn overflow_of_a_stream_that_others_wait_for_wedges_the_lane() {
    check(
        "overflow_wedge",
        &failing("trace_d::fa:000", &[1], "400 maximum context", true),
    );
}

#[test]
fn a_wedged_lane_is_reported_once_and_no_other() {
    let stuck = |model: &ServiceModel, name: &str| -> Vec<u32> {
        let case = vector(&format!("dispatch_{name}.json"));
        let traces = traces(&case["traces"]);
        let settings = settings(&case);
        let plan = Plan::draw(&traces, &settings).unwrap();
        let log = simulate(traces, settings, plan, model);
        let lanes = log.iter().filter_map(|logged| match logged {
            Logged::Mark(Mark::LaneStuck { lane, .. }) => Some(*lane),
            _ => None,
        });
        lanes.collect()
    };
    let overflow = failing("trace_d::fa:000", &[1], "400 maximum context", true);
    let case = vector("dispatch_overflow_wedge.json");
    let dead = list(&case["events"])
        .iter()
        .rev()
        .find(|event| event["error"].is_string())
        .unwrap();
    assert_eq!(
        stuck(&overflow, "overflow_wedge"),
        [dead["lane"].as_u64().unwrap() as u32]
    );
    assert_eq!(stuck(&recorded(0.5), "c4_seed42"), Vec::<u32>::new());
}

#[test]
fn overflow_of_a_root_ends_its_tree() {
    check(
        "root_overflow_recycles",
        &failing("trace_c", &[1], "400 prompt is too long", true),
    );
}

#[test]
fn cache_pressure() {
    check("c4_seed42_cachepressure20", &recorded(0.7));
}

#[test]
fn service_models_are_those_of_the_vectors() {
    // The failing cases above state their words by hand; the vectors' own words must still be these.
    let words = |name: &str, key: &str| text(&vector(&format!("dispatch_{name}.json"))[key]).to_string();
    assert!(words("grace_cancel", "service_model").contains("warm_s=0.7; profiling: 47 s"));
    assert!(
        words("barrier_slow_child", "service_model")
            .contains("20 s for the flat-agent stream, 2 s for the root")
    );
    assert!(words("errors_continue", "failures").contains("every profiling turn 0 and 1"));
}
