//! Lane assignment, snapshot instants and streams, bit for bit.

use crate::inputs::{list, number, settings, text, traces, vector};
use replay::{LaneStart, Plan, PlanError};
use serde_json::Value;
use tree::Trace;

#[test]
fn plans_are_aiperf_s() {
    let all = vector("trajectories.json");
    assert_eq!(list(&all["vectors"]).len(), 13);
    for case in list(&all["vectors"]) {
        let traces = traces(&case["traces"]);
        let plan = Plan::draw(&traces, &settings(case)).unwrap();
        assert_eq!(
            plan.warmup_request_count() as u64,
            case["warmup_request_count"].as_u64().unwrap()
        );
        let recycled = plan.next_recycled(&traces, 8);
        let recycled: Vec<&str> = recycled.iter().map(|trace| &*traces[*trace].id).collect();
        let expected: Vec<&str> = list(&case["next_recycled_traces"]).iter().map(text).collect();
        assert_eq!(recycled, expected);
        assert_eq!(plan.lanes.len(), list(&case["lanes"]).len());
        for (lane, expected) in plan.lanes.iter().zip(list(&case["lanes"])) {
            check_lane(lane, &traces[lane.trace], expected);
        }
    }
}

fn check_lane(lane: &LaneStart, trace: &Trace, expected: &Value) {
    assert_eq!(u64::from(lane.lane), expected["lane"].as_u64().unwrap());
    assert_eq!(*trace.id, *text(&expected["trace"]));
    assert_eq!(lane.t_star_ms.to_bits(), number(&expected["t_star_ms"]).to_bits());
    assert_eq!(
        lane.root_next_turn() as u64,
        expected["root_next_turn"].as_u64().unwrap()
    );
    let root = &trace.conversations[0];
    let streams: Vec<_> = lane
        .streams
        .iter()
        .map(|stream| {
            (
                trace.conversations[stream.conversation].id.to_string(),
                stream.next_turn as u64,
                stream.offset_ms.to_bits(),
                stream.waiting,
                stream.join_turn.map(|turn| turn as u64),
                stream.branch.map(|branch| root.branches[branch].id.to_string()),
                stream.warmup_turn.map(|turn| turn as u64),
            )
        })
        .collect();
    let expected_streams: Vec<_> = list(&expected["streams"])
        .iter()
        .map(|stream| {
            (
                text(&stream["conversation"]).to_string(),
                stream["next_turn"].as_u64().unwrap(),
                number(&stream["dispatch_offset_ms"]).to_bits(),
                stream["waiting_on_children"].as_bool().unwrap(),
                stream["join_turn"].as_u64(),
                stream["branch"].as_str().map(str::to_string),
                stream["warmup_turn"].as_u64(),
            )
        })
        .collect();
    assert_eq!(streams, expected_streams, "lane {}", lane.lane);
    let completed: Vec<_> = lane
        .completed
        .iter()
        .map(|(index, turns)| (trace.conversations[*index].id.to_string(), *turns as u64))
        .collect();
    let expected_completed: Vec<_> = list(&expected["completed_prefixes"])
        .iter()
        .map(|pair| (text(&pair[0]).to_string(), pair[1].as_u64().unwrap()))
        .collect();
    assert_eq!(completed, expected_completed, "lane {}", lane.lane);
}

#[test]
fn markers_are_aiperf_s() {
    let all = vector("markers.json");
    assert!(!list(&all["vectors"]).is_empty());
    for case in list(&all["vectors"]) {
        let hex = replay::marker_hex(
            text(&case["benchmark_id"]),
            case["tree_pass"].as_u64().unwrap(),
            case["lane"].as_u64().unwrap() as u32,
            text(&case["base_trace_id"]),
        );
        assert_eq!(
            format!("[rid:{hex}]\n\n"),
            text(&case["marker_first_turn_prefix"])
        );
    }
}

#[test]
fn markers_of_the_corpus_vectors_are_aiperf_s() {
    let all = vector("cache_bust.json");
    assert!(!list(&all["markers"]).is_empty());
    for case in list(&all["markers"]) {
        let hex = replay::marker_hex(
            text(&case["benchmark_id"]),
            case["recycle_pass"].as_u64().unwrap(),
            case["lane"].as_u64().unwrap() as u32,
            text(&case["base_trace_id"]),
        );
        assert_eq!(format!("[rid:{hex}]\n\n"), text(&case["marker"]));
    }
}

#[test]
fn a_pool_without_requests_is_refused() {
    let case = &vector("trajectories.json")["vectors"][0];
    let refused = Plan::draw(&[], &settings(case)).err();
    assert_eq!(refused, Some(PlanError::EmptyPool { traces: 0 }));
}
