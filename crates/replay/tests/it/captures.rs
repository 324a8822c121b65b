//! The schedule against what aiperf 0.12.0 really sent: runs without gap cap and cache pressure, in virtual time with the
//! recording mock's times.
//!
//! A real run lags behind a computed one, so requests due in the last half second of the window may be missing there.

use corpus::{Corpus, LoadOptions};
use replay::simulate::{Logged, Service, ServiceModel, simulate};
use replay::{Dialect, Mark, OnPrimerFailure, Phase, Plan, Sampling, Send, Settings};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tree::Trace;

/// How long before the window's end a real run may fall behind.
const LAG_S: f64 = 0.5;
/// Requests of one tree that are due closer together than this may swap on the wire.
const SWAP_S: f64 = 0.25;

#[derive(Deserialize)]
struct Capture {
    benchmark_id: String,
    command: String,
    log: Vec<String>,
    requests: Vec<Captured>,
}

#[derive(Deserialize)]
struct Captured {
    phase: String,
    conversation_id: String,
    turn: usize,
    marker: String,
}

impl Capture {
    fn option(&self, name: &str) -> Option<&str> {
        let mut words = self.command.split(' ').skip_while(|word| *word != name);
        words.next()?;
        words.next()
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.option(name).map(|text| text.parse().unwrap())
    }

    fn settings(&self) -> Settings {
        Settings {
            dialect: Dialect::Aiperf0120,
            concurrency: self.number("--concurrency").unwrap() as u32,
            seed: 42,
            benchmark_id: self.benchmark_id.clone(),
            min_ratio: self.number("--trajectory-start-min-ratio").unwrap_or(0.0),
            max_ratio: self.number("--trajectory-start-max-ratio").unwrap_or(1.0),
            sampling: Sampling::Sequential,
            duration_s: self.number("--benchmark-duration").unwrap(),
            grace_s: self.number("--benchmark-grace-period").unwrap(),
            system_idle_gap_cap_s: 10.0,
            trace_idle_gap_cap_s: None,
            warmup: replay::Warmup::Primers,
            warmup_grace_s: f64::INFINITY,
            burst_phase_starts: self.command.contains("--burst-phase-starts"),
            request_cap: None,
            on_primer_failure: OnPrimerFailure::Abort,
        }
    }
}

struct Case {
    capture: Capture,
    traces: Arc<[Arc<Trace>]>,
    settings: Settings,
}

/// `None` where the shared folder is absent.
fn case(name: &str, split: bool) -> Option<Case> {
    let file = testkit::shared(&format!("oracle/captures/{name}.json.gz"))?;
    let capture: Capture = testkit::json(&file);
    let corpus_file = if name.starts_with("a_") {
        "corpus_a.jsonl"
    } else {
        "corpus_b.jsonl.gz"
    };
    let folder = testkit::tempdir().unwrap();
    let local = folder.path().join("corpus.jsonl");
    let packed = testkit::shared(&format!("oracle/corpora/{corpus_file}"))?;
    std::fs::write(&local, testkit::bytes(&packed)).unwrap();
    let mut options = LoadOptions::default();
    options.selection.max_context_length = capture.number("--max-context-length").map(|limit| limit as u64);
    options.reconstruct.split_flattened_agents = split;
    let corpus = Corpus::load(&local, None, &options, None).unwrap();
    let traces: Arc<[Arc<Trace>]> = corpus.traces.into_iter().map(Arc::new).collect();
    let settings = capture.settings();
    Some(Case {
        capture,
        traces,
        settings,
    })
}

fn check(name: &str, split: bool, token_times: (f64, f64)) {
    let Some(case) = case(name, split) else { return };
    let plan = Plan::draw(&case.traces, &case.settings).unwrap();
    check_lanes(name, &case, &plan);
    let (ttft, itl) = token_times;
    let model = ServiceModel {
        service: Service::Tokens { ttft, itl },
        service_for: Vec::new(),
        warm_s: 0.5,
        failures: Vec::new(),
    };
    let log = simulate(case.traces.clone(), case.settings.clone(), plan, &model);
    let sent: Vec<&Send> = log
        .iter()
        .filter_map(|logged| {
            if let Logged::Sent(sent) = logged {
                Some(sent)
            } else {
                None
            }
        })
        .collect();
    let window = log.iter().find_map(|logged| match logged {
        Logged::Mark(Mark::PhaseStart {
            phase: Phase::Profiling,
            at,
        }) => Some(*at),
        _ => None,
    });
    check_requests(name, &case, &sent, window.unwrap());
    check_order(name, &case, &sent);
}

/// `lane=`, `root_next=`, the share of the span, the live streams and the trace, as aiperf logged them.
fn check_lanes(name: &str, case: &Case, plan: &Plan) {
    let logged: Vec<&String> = case
        .capture
        .log
        .iter()
        .filter(|line| line.contains("lane="))
        .collect();
    assert!(!logged.is_empty(), "{name} logs its lanes");
    for line in logged {
        let word = |key: &str| {
            let after = line
                .split_once(key)
                .unwrap_or_else(|| panic!("{line}: no {key}"))
                .1;
            after.split_whitespace().next().unwrap_or_default().to_string()
        };
        let lane = &plan.lanes[word("lane=").parse::<usize>().unwrap()];
        let trace = &case.traces[lane.trace];
        assert_eq!(*trace.id, *word("trace_id="), "{name}: {line}");
        let root_next = word("root_next=")
            .split('/')
            .next()
            .unwrap()
            .parse::<usize>()
            .unwrap();
        assert_eq!(lane.root_next_turn(), root_next, "{name}: {line}");
        assert_eq!(lane.streams.len().to_string(), word("live="), "{name}: {line}");
        let starts = || {
            trace
                .conversations
                .iter()
                .flat_map(|one| &one.turns)
                .filter_map(|turn| turn.timestamp_ms)
        };
        let (first, last) = (
            starts().fold(f64::INFINITY, f64::min),
            starts().fold(0.0, f64::max),
        );
        let share = format!("{:.0}%", (lane.t_star_ms - first) / (last - first) * 100.0);
        assert_eq!(share, word("sample_time="), "{name}: {line}");
    }
}

type Counts = HashMap<(String, String, usize), i64>;

fn conversation(case: &Case, sent: &Send) -> String {
    case.traces[sent.trace].conversations[sent.turn.conversation]
        .id
        .to_string()
}

fn phase_name(phase: Phase) -> String {
    match phase {
        Phase::Warmup => "warmup".to_string(),
        Phase::Profiling => "profiling".to_string(),
    }
}

/// The same requests in each phase, but for what is due at the very end of the window.
fn check_requests(name: &str, case: &Case, sent: &[&Send], window: f64) {
    let mut excess = Counts::new();
    let mut at_the_end: HashMap<(String, String, usize), i64> = HashMap::new();
    for sent in sent {
        let key = (phase_name(sent.phase), conversation(case, sent), sent.turn.turn);
        if sent.phase == Phase::Profiling && sent.at > window + case.settings.duration_s - LAG_S {
            *at_the_end.entry(key.clone()).or_default() += 1;
        }
        *excess.entry(key).or_default() += 1;
    }
    for request in &case.capture.requests {
        *excess
            .entry((
                request.phase.clone(),
                request.conversation_id.clone(),
                request.turn,
            ))
            .or_default() -= 1;
    }
    for (key, excess) in excess {
        let allowed = at_the_end.get(&key).copied().unwrap_or_default();
        assert!(
            (0..=allowed).contains(&excess),
            "{name}: {key:?} is sent {excess} times too often"
        );
    }
}

/// Within the trees that both sides mark alike: the turns of a conversation in the same order, and requests of different
/// conversations too unless they are due close together.
fn check_order(name: &str, case: &Case, sent: &[&Send]) {
    let mut ours: BTreeMap<String, Vec<(f64, String, usize)>> = BTreeMap::new();
    for sent in sent.iter().filter(|sent| sent.phase == Phase::Profiling) {
        let request = (sent.at, conversation(case, sent), sent.turn.turn);
        ours.entry(format!("[rid:{}]", sent.marker))
            .or_default()
            .push(request);
    }
    let mut compared = 0;
    for (marker, ours) in ours {
        let theirs: HashMap<(&str, usize), usize> = case
            .capture
            .requests
            .iter()
            .filter(|request| request.phase == "profiling" && request.marker == marker)
            .enumerate()
            .map(|(place, request)| ((request.conversation_id.as_str(), request.turn), place))
            .collect();
        for (index, (at, id, turn)) in ours.iter().enumerate() {
            for (later_at, later_id, later_turn) in &ours[index + 1..] {
                let ordered = id == later_id || later_at - at > SWAP_S;
                let places = (
                    theirs.get(&(id.as_str(), *turn)),
                    theirs.get(&(later_id.as_str(), *later_turn)),
                );
                if let (true, (Some(first), Some(second))) = (ordered, places) {
                    assert!(
                        first < second,
                        "{name} {marker}: {id} {turn} before {later_id} {later_turn}"
                    );
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 0, "{name}: no two requests of one tree to compare");
}

const MOCK_A: (f64, f64) = (0.030, 0.002);
const MOCK_B: (f64, f64) = (0.020, 0.001);

#[test]
fn corpus_a_two_lanes() {
    check("a_c2_r1", true, MOCK_A);
    check("a_c2_r2", true, MOCK_A);
    check("a_c2_hfdir_r1", true, MOCK_A);
    check("a_c2_toolshape_r1", true, MOCK_A);
}

#[test]
fn corpus_a_without_splitting() {
    check("a_c2_nosplit_r1", false, MOCK_A);
}

#[test]
fn corpus_a_four_lanes() {
    check("a_c4_r1", true, MOCK_A);
    check("a_c4_r2", true, MOCK_A);
    check("a_c4_r3", true, MOCK_A);
    check("a_c4_scnratios_r1", true, MOCK_A);
    check("a_c4_burst_r1", true, MOCK_A);
}

#[test]
fn corpus_a_eight_lanes() {
    check("a_c8_r1", true, MOCK_A);
}

#[test]
fn corpus_b() {
    for name in ["b_c2_r1", "b_c2_r2", "b_c4_r1", "b_c4_r2", "b_c8_r1", "b_c8_r2"] {
        check(name, true, MOCK_B);
    }
}
