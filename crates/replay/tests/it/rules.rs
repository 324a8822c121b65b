//! Rows of the table of differences that no event log decides, on traces made for them.

use crate::invariants::conversation;
use replay::simulate::{Glob, Logged, Service, ServiceModel, simulate};
use replay::{Dialect, OnPrimerFailure, Phase, Plan, PlanError, Sampling, Seconds, Settings, Warmup};
use std::sync::Arc;
use tree::{Branch, Trace};

fn trace(id: &str, root: &[(f64, f64)]) -> Trace {
    let id: Arc<str> = id.into();
    Trace {
        conversations: vec![conversation(&id, None, 0.0, root, &id)],
        id,
        block_ids: Vec::new(),
        peak_tokens: 0,
    }
}

fn settings(dialect: Dialect, concurrency: u32, ratio: f64) -> Settings {
    Settings {
        dialect,
        concurrency,
        seed: 42,
        benchmark_id: "bench".into(),
        min_ratio: ratio,
        max_ratio: ratio,
        sampling: Sampling::Sequential,
        duration_s: 120.0,
        grace_s: 30.0,
        system_idle_gap_cap_s: 10.0,
        trace_idle_gap_cap_s: None,
        warmup: Warmup::Primers,
        warmup_grace_s: f64::INFINITY,
        burst_phase_starts: false,
        request_cap: None,
        on_primer_failure: OnPrimerFailure::Abort,
    }
}

/// When the turn of the first tree was sent in the measurement, seconds after its start; every request takes 1 s, those
/// of `slow` 150 s.
fn sent(
    traces: &[Trace],
    settings: &Settings,
    conversation: &str,
    turn: usize,
    slow: &str,
) -> Option<Seconds> {
    let traces: Arc<[Arc<Trace>]> = traces.iter().cloned().map(Arc::new).collect();
    let plan = Plan::draw(&traces, settings).unwrap();
    let model = ServiceModel {
        service: Service::Fixed(1.0),
        service_for: vec![(Glob(slow.into()), Service::Fixed(150.0))],
        warm_s: 1.0,
        failures: Vec::new(),
    };
    let mut start = 0.0;
    let log = simulate(traces.clone(), settings.clone(), plan, &model);
    log.iter().find_map(|logged| match logged {
        Logged::Mark(replay::Mark::PhaseStart {
            phase: Phase::Profiling,
            at,
        }) => {
            start = *at;
            None
        }
        Logged::Sent(sent)
            if sent.phase == Phase::Profiling && sent.turn.turn == turn && sent.tree_pass == 0 =>
        {
            let id = &traces[sent.trace].conversations[sent.turn.conversation].id;
            (&**id == conversation).then_some(sent.at - start)
        }
        _ => None,
    })
}

#[test]
fn a_tree_that_idles_for_the_cap_has_its_next_turn_pulled_in() {
    // The other lane is busy all the time, so that the system never idles.
    let traces = [
        trace("idle", &[(0.0, 1_000.0), (100_000.0, 1_000.0)]),
        trace("busy", &[(0.0, 200_000.0)]),
    ];
    for (cap, at) in [(None, 101.0), (Some(20.0), 21.0), (Some(100.0), 101.0)] {
        let settings = Settings {
            trace_idle_gap_cap_s: cap,
            ..settings(Dialect::Agentx10, 2, 0.0)
        };
        assert_eq!(sent(&traces, &settings, "idle", 1, "busy"), Some(at), "{cap:?}");
    }
}

/// A root that waits for its child of ten turns, of which cache pressure has time for three. The snapshot lies between the
/// root's two turns.
fn waiting_parent() -> Trace {
    let mut trace = trace("tree", &[(0.0, 1_000.0), (20_000.0, 1_000.0)]);
    let child: Arc<str> = "tree::fa:000".into();
    let turns: Vec<_> = (0..10).map(|_| (1_000.0, 800.0)).collect();
    trace
        .conversations
        .push(conversation(&child, Some(0), 1_500.0, &turns, &trace.id));
    trace.conversations[0].branches.push(Branch {
        id: "tree:flatspawn:0".into(),
        children: vec![1],
        background: false,
        start_ms: Some(1_500.0),
    });
    trace.conversations[0].turns[0].spawns.push(0);
    trace.conversations[0].turns[1].joins.push(0);
    trace
}

#[test]
fn a_parent_that_waits_through_cache_pressure_goes_on_in_the_fork_alone() {
    let traces = [waiting_parent()];
    let settings = |dialect| Settings {
        warmup: Warmup::PressureFor(3.0),
        warmup_grace_s: 30.0,
        ..settings(dialect, 1, 0.5)
    };
    let parent = |dialect| sent(&traces, &settings(dialect), "tree", 1, "none");
    let child = |dialect| sent(&traces, &settings(dialect), "tree::fa:000", 9, "none");
    assert!(child(Dialect::Aiperf0120).is_some() && child(Dialect::Agentx10).is_some());
    assert!(
        parent(Dialect::Agentx10) > child(Dialect::Agentx10),
        "after its child"
    );
    assert_eq!(parent(Dialect::Aiperf0120), None, "the rest of its turns is lost");
}

#[test]
fn stock_knows_neither_requests_per_lane_nor_a_trace_idle_cap() {
    let traces: Arc<[Arc<Trace>]> = Arc::new([Arc::new(trace("t", &[(0.0, 1_000.0)]))]);
    let per_lane = |dialect| Settings {
        warmup: Warmup::PressureRequests(3),
        ..settings(dialect, 1, 0.0)
    };
    let capped = |dialect| Settings {
        trace_idle_gap_cap_s: Some(300.0),
        ..settings(dialect, 1, 0.0)
    };
    let refused = |settings: Settings| {
        matches!(
            Plan::draw(&traces, &settings),
            Err(PlanError::UnknownToDialect { .. })
        )
    };
    assert!(refused(per_lane(Dialect::Aiperf0120)) && refused(capped(Dialect::Aiperf0120)));
    assert!(!refused(per_lane(Dialect::Agentx10)) && !refused(capped(Dialect::Agentx10)));
}
