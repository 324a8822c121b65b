//! What holds of any run, whatever the traces and the server do.

use crate::inputs::blank;
use proptest::prelude::*;
use replay::simulate::{Failure, Glob, Logged, Service, ServiceModel, simulate};
use replay::{Dialect, Mark, OnPrimerFailure, Phase, Plan, RunEnd, Sampling, Send, Settings, Warmup};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tree::{Branch, Conversation, Trace, Turn, TurnRef};

/// A child: its turns' lengths, the root turn that starts it, and whether a later turn waits for it.
type Child = (Vec<(f64, f64)>, usize, bool);

fn arbitrary_trace(id: usize) -> impl Strategy<Value = Trace> {
    let lengths = || prop::collection::vec((0.0..30_000.0, 0.0..8_000.0), 1..6);
    (
        lengths(),
        prop::collection::vec((lengths(), 0_usize..6, any::<bool>()), 0..4),
        any::<u64>(),
    )
        .prop_map(move |(root, children, edges)| build(id, &root, &children, edges))
}

fn build(id: usize, root: &[(f64, f64)], children: &[Child], edges: u64) -> Trace {
    let id: Arc<str> = format!("t{id}").into();
    let mut conversations = vec![conversation(&id, None, 0.0, root, &id)];
    for (index, (lengths, spawn, joined)) in children.iter().enumerate() {
        let spawn = spawn % root.len();
        let begun = conversations[0].turns[spawn].timestamp_ms.unwrap() + 1_000.0 * index as f64;
        let name: Arc<str> = format!("{id}::fa:{index:03}").into();
        conversations.push(conversation(&name, Some(0), begun, lengths, &id));
        let join = (spawn + 1..root.len()).find(|_| *joined);
        conversations[0].branches.push(Branch {
            id: format!("{id}:flatspawn:{index}").into(),
            children: vec![index + 1],
            background: join.is_none(),
            start_ms: Some(begun),
        });
        conversations[0].turns[spawn].spawns.push(index);
        if let Some(join) = join {
            conversations[0].turns[join].joins.push(index);
        }
    }
    add_predecessors(&mut conversations, edges);
    Trace {
        id,
        conversations,
        block_ids: Vec::new(),
        peak_tokens: 0,
    }
}

pub(crate) fn conversation(
    id: &Arc<str>,
    parent: Option<usize>,
    begun: f64,
    lengths: &[(f64, f64)],
    scope: &Arc<str>,
) -> Conversation {
    let mut at = begun;
    let turns = lengths.iter().enumerate().map(|(index, (delay, api))| {
        at += if index == 0 { 0.0 } else { *delay };
        let turn = Turn {
            timestamp_ms: Some(at),
            delay_ms: (index > 0).then_some(*delay),
            api_time_ms: Some(*api),
            ..blank()
        };
        at += api;
        turn
    });
    Conversation {
        id: id.clone(),
        parent,
        depth: u32::from(parent.is_some()),
        replay_scope: scope.clone(),
        turns: turns.collect(),
        branches: Vec::new(),
    }
}

/// Edges as a recording gives them: from a turn that had ended when another stream's turn began.
fn add_predecessors(conversations: &mut [Conversation], edges: u64) {
    let ends: Vec<Vec<(f64, f64)>> = conversations
        .iter()
        .map(|one| {
            one.turns
                .iter()
                .map(|turn| (turn.timestamp_ms.unwrap(), turn.api_time_ms.unwrap()))
                .collect()
        })
        .collect();
    let mut bit = 0;
    for (index, one) in conversations.iter_mut().enumerate() {
        for (number, turn) in one.turns.iter_mut().enumerate() {
            for (other, intervals) in ends.iter().enumerate().filter(|(other, _)| *other != index) {
                let begun = ends[index][number].0;
                let ended = intervals
                    .iter()
                    .rposition(|(start, api)| *start < begun && start + api <= begun);
                bit = (bit + 1) % 64;
                if let Some(before) = ended.filter(|_| edges >> bit & 1 == 1) {
                    turn.predecessors.push(TurnRef {
                        conversation: other,
                        turn: before,
                    });
                }
            }
        }
    }
}

fn arbitrary_run() -> impl Strategy<Value = (Vec<Trace>, Settings, ServiceModel)> {
    let traces = (arbitrary_trace(0), arbitrary_trace(1), arbitrary_trace(2));
    let settings = (
        1_u32..7,
        any::<u64>(),
        any::<bool>(),
        0.0..60.0,
        prop::option::of(1_u64..40),
        0_usize..3,
        any::<bool>(),
        (0_usize..3, 1_u64..8, prop::option::of(5.0..60.0)),
    );
    let model = (0.01..20.0, prop::option::of((0_usize..4, any::<bool>())));
    (traces, settings, model).prop_map(
        |((a, b, c), (lanes, seed, burst, grace_s, request_cap, order, fork, warm), (service, fail))| {
            let (stage, amount, trace_idle_gap_cap_s) = warm;
            let settings = Settings {
                dialect: Dialect::ALL[usize::from(fork)],
                concurrency: lanes,
                seed,
                benchmark_id: "bench".into(),
                min_ratio: 0.0,
                max_ratio: 1.0,
                sampling: [Sampling::Sequential, Sampling::Shuffle, Sampling::Random][order],
                duration_s: 120.0,
                grace_s: if grace_s > 55.0 { f64::INFINITY } else { grace_s },
                system_idle_gap_cap_s: 10.0,
                trace_idle_gap_cap_s: trace_idle_gap_cap_s.filter(|_| fork),
                warmup: match stage {
                    1 => Warmup::PressureFor(amount as f64),
                    2 if fork => Warmup::PressureRequests(amount),
                    _ => Warmup::Primers,
                },
                warmup_grace_s: f64::INFINITY,
                burst_phase_starts: burst,
                request_cap,
                on_primer_failure: OnPrimerFailure::Abort,
            };
            let failures = fail.map(|(turn, is_overflow)| Failure {
                conversation: Glob("*".into()),
                turn: Some(turn),
                text: "no".into(),
                is_overflow,
            });
            let model = ServiceModel {
                service: Service::Fixed(service),
                service_for: Vec::new(),
                warm_s: 0.5,
                failures: failures.into_iter().collect(),
            };
            (vec![a, b, c], settings, model)
        },
    )
}

fn check(traces: Vec<Trace>, settings: &Settings, model: &ServiceModel) {
    let traces: Arc<[Arc<Trace>]> = traces.into_iter().map(Arc::new).collect();
    let plan = Plan::draw(&traces, settings).unwrap();
    let lanes = plan.lanes.len();
    let log = simulate(traces.clone(), settings.clone(), plan, model);
    assert_eq!(
        log.last(),
        Some(&Logged::Mark(Mark::End(RunEnd::Complete))),
        "a run ends"
    );

    let mut open: HashMap<u64, Send> = HashMap::new();
    let mut sent_once = HashSet::new();
    let mut ended: HashSet<(u32, u64, usize, usize, usize)> = HashSet::new();
    let mut next_turn: HashMap<u64, usize> = HashMap::new();
    let mut window = None;
    for logged in &log {
        match logged {
            Logged::Mark(Mark::PhaseStart {
                phase: Phase::Profiling,
                at,
            }) => window = Some(*at),
            Logged::Mark(_) => {}
            Logged::Sent(sent) => {
                let key = (
                    sent.lane,
                    sent.tree_pass,
                    sent.trace,
                    sent.turn.conversation,
                    sent.turn.turn,
                );
                assert!(sent_once.insert((sent.phase, key)), "{sent:?} went out twice");
                assert!((sent.lane as usize) < lanes);
                // In virtual time nobody is late: waiting for other streams is no lateness.
                assert!(
                    (sent.due - sent.at).abs() < 1e-9,
                    "{sent:?} went out when it was not due"
                );
                let same_stream = open.values().filter(|other| other.stream == sent.stream).count();
                assert_eq!(same_stream, 0, "a stream has one request in flight");
                if let Some(start) = window {
                    assert!(
                        sent.at < start + settings.duration_s,
                        "nothing is sent after the window"
                    );
                    let expected = next_turn.insert(sent.stream.0, sent.turn.turn + 1);
                    assert!(
                        expected.is_none_or(|turn| turn == sent.turn.turn),
                        "{sent:?} skips turns"
                    );
                }
                open.insert(sent.request, sent.clone());
            }
            Logged::Returned { sent, .. } | Logged::Cancelled { sent, .. } => {
                assert!(open.remove(&sent.request).is_some(), "{sent:?} ended twice");
                ended.insert((
                    sent.lane,
                    sent.tree_pass,
                    sent.trace,
                    sent.turn.conversation,
                    sent.turn.turn,
                ));
            }
        }
    }
    assert!(open.is_empty(), "every request that was sent has ended");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_run_keeps_the_rules((traces, settings, model) in arbitrary_run()) {
        check(traces, &settings, &model);
    }
}
