//! Whole runs against the simulated server: what it saw is what was planned, and what was recorded.

use crate::support::{Bench, err, json, out, text, turnmill};
use record::folder::RunReader;
use record::request::{Outcome, Phase, RequestRecord};
use serde_json::Value;
use sim::{Config, Server};
use std::collections::{HashMap, HashSet};
use std::path::Path;

fn records(folder: &Path) -> Vec<RequestRecord> {
    RunReader::open(folder)
        .unwrap()
        .map(|entry| entry.unwrap().record)
        .collect()
}

fn summary(folder: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join("summary.json")).unwrap()).unwrap()
}

/// A server that answers quickly, remembers bodies, and counts a token a byte without any template.
fn config() -> Config {
    let mut config = Config::paced(1_000_000);
    config.template = sim::tokens::Template::bare(1);
    config.engine.block_size = 64;
    config.log.keep_bodies = true;
    config
}

fn run(bench: &Bench, server: &Server, more: &[&str]) -> Vec<RequestRecord> {
    run_ending(bench, server, more, 0)
}

fn run_ending(bench: &Bench, server: &Server, more: &[&str], code: i32) -> Vec<RequestRecord> {
    let (url, folder) = (server.url(), bench.out());
    let mut arguments = bench.arguments("run", &["--url", &url, "--out", text(&folder)]);
    arguments.extend_from_slice(more);
    let output = turnmill(&arguments);
    assert_eq!(output.status.code(), Some(code), "{}", err(&output));
    assert_eq!(
        out(&output),
        std::fs::read_to_string(folder.join("summary.txt")).unwrap()
    );
    records(&folder)
}

#[test]
fn cache_pressure_sends_one_token_requests_and_hands_over() {
    let server = Server::start(config()).unwrap();
    let bench = Bench::demo(&[
        "concurrency: 4",
        "benchmark_duration_s: 60",
        "grace_period_s: 5",
        "warmup: {mode: cache_pressure, requests_per_lane: 5}",
    ]);
    // The request cap ends the window long before its time, so that its end has seen no latency.
    let records = run_ending(&bench, &server, &["--request-cap", "20"], 1);
    let (warmup, window): (Vec<_>, Vec<_>) = records.iter().partition(|record| record.phase == Phase::Warmup);
    assert!(warmup.iter().all(|record| record.osl_planned == 1));
    let primers = warmup.len() - 4 * 5;
    assert!(
        (1..=16).contains(&primers),
        "four lanes, five requests each after {primers} primers"
    );
    // What was sent under pressure is not sent again in the same tree.
    let turn = |record: &RequestRecord| {
        (
            record.session_id.clone(),
            record.conversation_id.clone(),
            record.turn_index,
        )
    };
    let sent: HashSet<_> = warmup.iter().map(|record| turn(record)).collect();
    assert!(!window.is_empty() && window.iter().all(|record| !sent.contains(&turn(record))));
    let header: Value =
        serde_json::from_slice(&std::fs::read(bench.out().join("run.json")).unwrap()).unwrap();
    assert_eq!(header["dialect"], "agentx-1.0");
    let reasons = summary(&bench.out())["validity"]["reasons"].to_string();
    assert!(reasons.contains("latency_coverage_too_low"), "{reasons}");
}

#[test]
fn the_server_saw_what_was_recorded_and_planned() {
    let server = Server::start(config()).unwrap();
    let bench = Bench::demo(&["concurrency: 8", "benchmark_duration_s: 6", "grace_period_s: 5"]);
    let records = run(&bench, &server, &["--benchmark-id", "bench"]);

    // Every request that was started has a record and an outcome.
    let counts = &summary(&bench.out())["profiling"]["counts"];
    let count = |key: &str| counts[key].as_u64().unwrap();
    assert_eq!(
        count("started"),
        count("ok") + count("failed") + count("overflow") + count("cancelled")
    );
    assert!(count("ok") > 20, "{counts}");
    assert!(records.iter().all(|record| record.outcome == Outcome::Ok));

    // The server's own log has exactly these, with exactly these bodies.
    let seen: HashMap<String, sim::log::Observation> = server
        .log()
        .into_iter()
        .filter(|seen| seen.method == "POST")
        .map(|seen| (seen.x_request_id.clone().unwrap(), seen))
        .collect();
    assert_eq!(seen.len(), records.len());
    let bodies = Bodies::new(&bench);
    for record in &records {
        let seen = &seen[&record.request_id];
        assert_eq!(seen.x_correlation_id.as_deref(), Some(record.session_id.as_str()));
        assert_eq!(
            seen.body.as_deref(),
            Some(bodies.of(record).as_slice()),
            "{}",
            record.conversation_id
        );
        assert_eq!(seen.prompt_tokens as u64, record.usage.prompt_tokens.unwrap());
        assert_eq!(
            record.usage.completion_tokens,
            Some(record.osl_planned),
            "ignore_eos is obeyed"
        );
    }

    // The warm-up is the plan's, lane by lane, and each stream goes on turn by turn from where the plan cut it.
    let plan = json(&bench.arguments(
        "plan",
        &[
            "--benchmark-id",
            "bench",
            "--max-model-len",
            "131072",
            "--format",
            "json",
        ],
    ));
    check_plan(&plan, &records);
    check_server_metrics(&summary(&bench.out()));
}

/// The server's counters over the measurement say what its answers said.
fn check_server_metrics(summary: &Value) {
    let (metrics, reported) = (&summary["server_metrics"], &summary["profiling"]);
    let close = |one: &Value, other: &Value| {
        let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
        assert!(
            (one / other - 1.0).abs() < 0.02,
            "{one} is not {other}: {metrics}"
        );
    };
    close(&metrics["cache"]["share"], &reported["cache"]["reported_share"]);
    close(&metrics["prompt_tokens"], &reported["tokens"]["isl"]);
    close(&metrics["generation_tokens"], &reported["tokens"]["osl"]);
    assert_eq!(
        metrics["cache"]["source"],
        "vllm:prefix_cache_hits / vllm:prefix_cache_queries"
    );
    assert_eq!(metrics["endpoints"][0]["missed"], 0);
    assert_eq!(metrics["damaged_lines"], 0);
}

#[test]
fn metrics_that_are_not_there_change_nothing_but_the_report() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string();
    for (option, is_read) in [
        (&["--no-server-metrics"][..], false),
        (&["--server-metrics", &gone], true),
    ] {
        let server = Server::start(config()).unwrap();
        let bench = Bench::demo(&["concurrency: 2", "benchmark_duration_s: 1", "grace_period_s: 2"]);
        let records = run(&bench, &server, option);
        assert!(records.iter().all(|record| record.outcome == Outcome::Ok));
        let summary = summary(&bench.out());
        assert_eq!(summary.get("server_metrics").is_some(), is_read, "{summary}");
        assert_eq!(bench.out().join("server_metrics.jsonl").exists(), is_read);
        let codes = summary["warnings"].as_array().unwrap().iter();
        let mut codes = codes.map(|warning| warning["code"].as_str().unwrap());
        assert_eq!(
            codes.any(|code| code == "no_server_metrics"),
            is_read,
            "{summary}"
        );
    }
}

fn check_plan(plan: &Value, records: &[RequestRecord]) {
    let place = |record: &RequestRecord| {
        (
            record.lane,
            record.conversation_id.clone(),
            u64::from(record.turn_index),
        )
    };
    let mut primers = HashSet::new();
    let mut next: HashMap<(u32, String), u64> = HashMap::new();
    for lane in plan["lanes"].as_array().unwrap() {
        let number = lane["lane"].as_u64().unwrap() as u32;
        for stream in lane["streams"].as_array().unwrap() {
            let conversation = stream["conversation"].as_str().unwrap().to_string();
            if let Some(turn) = stream["warmup_turn"].as_u64() {
                primers.insert((number, conversation.clone(), turn));
            }
            next.insert((number, conversation), stream["next_turn"].as_u64().unwrap());
        }
    }
    let warm: HashSet<_> = records
        .iter()
        .filter(|record| record.phase == Phase::Warmup)
        .map(place)
        .collect();
    assert_eq!(warm, primers);

    // Conversations of a lane's first tree go on at the planned turn, all others begin at 0; none skips a turn.
    let first_trees: HashMap<u32, u64> = records
        .iter()
        .filter(|record| record.phase == Phase::Warmup)
        .map(|record| (record.lane, record.tree_pass))
        .collect();
    let mut streams: HashMap<&str, Vec<&RequestRecord>> = HashMap::new();
    for record in records.iter().filter(|record| record.phase == Phase::Profiling) {
        streams.entry(&record.session_id).or_default().push(record);
    }
    for (session, mut stream) in streams {
        stream.sort_by_key(|record| record.sequence);
        let first = stream[0];
        let planned = next.get(&(first.lane, first.conversation_id.clone()));
        let is_first_tree = first_trees.get(&first.lane) == Some(&first.tree_pass) && first.turn_index > 0;
        let begins = if is_first_tree {
            planned.copied().unwrap()
        } else {
            0
        };
        for (offset, record) in stream.iter().enumerate() {
            assert_eq!(u64::from(record.turn_index), begins + offset as u64, "{session}");
        }
    }
}

/// The bodies that aiperf would send, made without the run.
struct Bodies {
    traces: Vec<tree::Trace>,
    prompter: corpus::prompt::Prompter,
    envelope: std::sync::Arc<corpus::prompt::Envelope>,
}

impl Bodies {
    fn new(bench: &Bench) -> Self {
        use corpus::prompt::{Envelope, EnvelopeOptions, Pool, Prompter, Tokenizer};
        let corpus =
            corpus::Corpus::load(&bench.corpus, None, &corpus::LoadOptions::default(), None).unwrap();
        let pool = Pool::built_in(std::sync::Arc::new(Tokenizer::builtin())).unwrap();
        let options = EnvelopeOptions {
            model: "sim".into(),
            ignore_eos: true,
            usage: true,
            ..EnvelopeOptions::default()
        };
        Self {
            traces: corpus.traces,
            prompter: Prompter::new(std::sync::Arc::new(pool), 42),
            envelope: std::sync::Arc::new(Envelope::new(&options).unwrap()),
        }
    }

    fn of(&self, record: &RequestRecord) -> Vec<u8> {
        use corpus::prompt::{BlockStarts, BodyOptions};
        let trace = self
            .traces
            .iter()
            .find(|trace| *trace.id == *record.trace_id)
            .unwrap();
        let conversation = trace
            .conversations
            .iter()
            .position(|one| *one.id == *record.conversation_id)
            .unwrap();
        let turn = tree::TurnRef {
            conversation,
            turn: record.turn_index as usize,
        };
        let marker = format!("[rid:{}]\n\n", record.marker);
        let recorded = &trace.conversations[conversation].turns[turn.turn];
        let options = BodyOptions {
            envelope: &self.envelope,
            max_tokens: if record.phase == Phase::Warmup {
                1
            } else {
                recorded.max_tokens
            },
            marker: Some(&marker),
            tool_shaped: false,
        };
        let mut body = self
            .prompter
            .body(&BlockStarts::new(trace), trace, turn, &options);
        let length = body.content_length();
        let mut bytes = Vec::new();
        while let Some(chunk) = body.next_chunk() {
            bytes.extend_from_slice(&chunk);
        }
        assert_eq!(bytes.len() as u64, length, "the length is known before the text");
        bytes
    }
}

/// With a cache that holds everything and no template between messages, the server finds in its cache what an infinite
/// cache holds by the trace: block for block, but for the block that the marker shifts into the next.
#[test]
fn cached_tokens_are_the_theoretical_blocks() {
    let mut config = config();
    config.engine.kv_blocks = 1 << 20;
    let server = Server::start(config).unwrap();
    // One lane from the beginning of a trace: no request overlaps another's computing.
    let keys = [
        "concurrency: 1",
        "benchmark_duration_s: 6",
        "grace_period_s: 5",
        "trajectory_start: {min_ratio: 0, max_ratio: 0}",
    ];
    let bench = Bench::demo(&keys);
    let records = run(&bench, &server, &["--request-cap", "60"]);
    let mut compared = 0;
    for record in records
        .iter()
        .filter(|record| record.phase == Phase::Profiling && record.outcome == Outcome::Ok)
    {
        let theoretical = record.theoretical_hit_blocks * 64;
        let cached = record.usage.cached_tokens.unwrap();
        assert!(
            cached + 64 >= theoretical && cached <= theoretical + 128,
            "{} turn {}: {cached} tokens cached, {theoretical} by the trace",
            record.conversation_id,
            record.turn_index
        );
        compared += u64::from(theoretical > 0);
    }
    assert!(compared > 5, "{compared}");
}

#[test]
fn a_request_that_is_never_answered_ends_at_the_grace() {
    let mut config = config();
    config.faults = vec![sim::faults::Fault::every(sim::faults::FaultKind::Silence, 9)];
    let server = Server::start(config).unwrap();
    let bench = Bench::demo(&["concurrency: 4", "benchmark_duration_s: 3", "grace_period_s: 1"]);
    let records = run(
        &bench,
        &server,
        &[
            "--burst-phase-starts",
            "--request-timeout-s",
            "60",
            "--on-primer-failure",
            "continue",
        ],
    );
    let cancelled: Vec<_> = records
        .iter()
        .filter(|record| record.outcome == Outcome::Cancelled)
        .collect();
    assert!(!cancelled.is_empty());
    for record in cancelled {
        assert_eq!(record.cancel_cause, Some(record::request::CancelCause::Grace));
        assert!(record.stamps.stream_end_ns.is_some());
    }
    let counts = &summary(&bench.out())["profiling"]["counts"];
    assert_eq!(
        counts["started"].as_u64().unwrap() as usize,
        records.iter().filter(|one| one.phase == Phase::Profiling).count()
    );
}

#[test]
fn an_endless_grace_ends_with_the_last_answer() {
    let server = Server::start(config()).unwrap();
    let bench = Bench::demo(&[
        "concurrency: 4",
        "benchmark_duration_s: 2",
        "grace_period_s: .inf",
    ]);
    let started = std::time::Duration::from_secs(60);
    let records = run(&bench, &server, &["--burst-phase-starts"]);
    let last = records
        .iter()
        .filter_map(|record| record.stamps.stream_end_ns)
        .max()
        .unwrap();
    assert!(u128::from(last) < started.as_nanos());
    assert!(records.iter().all(|record| record.outcome == Outcome::Ok));
}
