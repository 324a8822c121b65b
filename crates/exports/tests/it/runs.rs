//! Run folders that tests begin with.

use std::collections::BTreeMap;
use std::path::Path;

use exports::aiperf::{self, Options};
use record::folder::Recorder;
use record::header::{Digests, Host, RunHeader, Selection, ServerFacts, ServerUrl, Slo, ValidityInputs};
use record::marks::{Mark, RunEvent, Stop};
use record::request::{CancelCause, ContentChunk, FailureKind, Outcome, Phase, RequestRecord, Stamps, Usage};
use serde_json::{Value, json};

pub(crate) const MS: u64 = 1_000_000;

/// A header like one of `run`; the anchor is the start of 1970, so that a stamp is a wall time.
pub(crate) fn header() -> RunHeader {
    RunHeader {
        schema_version: 1,
        turnmill_version: "0.1.0".into(),
        benchmark_id: "0123456789ab".into(),
        dialect: "aiperf-0.12.0".into(),
        loop_kind: "closed".into(),
        seed: 42,
        concurrency: 4,
        wall_start: "1970-01-01T00:00:00Z".parse().unwrap(),
        server: ServerFacts {
            url: ServerUrl::new("http://127.0.0.1:8000/v1/chat/completions"),
            model: "m".into(),
            max_model_len: Some(32768),
            version: None,
        },
        host: Host::default(),
        digests: Digests::default(),
        selection: Some(Selection::default()),
        trace: None,
        validity: ValidityInputs {
            scenario: Some("inferencex-agentx-mvp".into()),
            override_locks: vec!["duration".into()],
            corpus_pinned: true,
            output_length_locked: false,
            latency_window_s: None,
        },
        slo: BTreeMap::new(),
        limits: BTreeMap::from([
            ("duration_s".to_owned(), 30.0.into()),
            ("grace_s".to_owned(), 5.0.into()),
            ("system_idle_gap_cap_s".to_owned(), 10.0.into()),
            ("failed_request_threshold".to_owned(), 0.1.into()),
        ]),
        options: BTreeMap::new(),
        scenario: json!({"document": {"workload": {"replay": {
            "corpus": {
                "format": "weka-trace-v7", "loader": "some_loader",
                "source": {"file": "traces.jsonl", "huggingface": "owner/name", "split": "train"},
            },
            "trajectory_start": {"min_ratio": 0.25, "max_ratio": 0.75},
        }}}}),
    }
}

/// An answered request of the measurement: t0 and chunk arrivals in ms, one token a chunk.
pub(crate) fn answered(sequence: u64, start: u64, chunk_times: &[u64]) -> RequestRecord {
    let chunks: Vec<ContentChunk> = chunk_times
        .iter()
        .map(|at| ContentChunk {
            at_ns: at * MS,
            same_read: false,
        })
        .collect();
    let first = chunks.first().map(|chunk| chunk.at_ns);
    let last = chunks.last().map(|chunk| chunk.at_ns);
    RequestRecord {
        request_id: format!("request-{sequence}"),
        sequence,
        conversation_id: "trace_a".into(),
        trace_id: "trace_a".into(),
        session_id: format!("session-{sequence}"),
        turns_total: 3,
        marker: "0123456789ab".into(),
        isl_planned: 100,
        osl_planned: chunks.len() as u64,
        theoretical_hit_blocks: 1,
        theoretical_total_blocks: 4,
        body_bytes: 2048,
        response_bytes: 1024,
        stamps: Stamps {
            due_ns: start * MS - MS / 2,
            start_ns: start * MS,
            connected_ns: None,
            headers_written_ns: Some(start * MS + MS / 2),
            body_written_ns: Some(start * MS + MS),
            first_byte_ns: first,
            first_content_ns: first,
            first_output_ns: first,
            last_content_ns: last,
            last_byte_ns: last.map(|last| last + MS),
            stream_end_ns: last.map(|last| last + MS),
        },
        usage: Usage {
            prompt_tokens: Some(100),
            completion_tokens: Some(chunks.len() as u64),
            cached_tokens: Some(25),
            reasoning_tokens: None,
        },
        chunks,
        parse_lag_max_ns: 1000,
        http_status: Some(200),
        finish_reason: Some("length".into()),
        done_seen: true,
        ..RequestRecord::due(0)
    }
}

/// A request that did not get an answer; given up 10 ms after its start.
pub(crate) fn unanswered(sequence: u64, start: u64, outcome: Outcome) -> RequestRecord {
    let mut record = answered(sequence, start, &[]);
    record.stamps.stream_end_ns = Some((start + 10) * MS);
    record.usage = Usage::default();
    record.osl_planned = 5;
    record.done_seen = false;
    record.outcome = outcome;
    record
}

/// A request answered with an HTTP status.
pub(crate) fn refused(sequence: u64, start: u64, status: u16, text: &str) -> RequestRecord {
    let mut record = unanswered(sequence, start, Outcome::Failed);
    record.http_status = Some(status);
    record.stamps.first_byte_ns = Some((start + 9) * MS);
    record.failure_kind = Some(FailureKind::Refused);
    record.error = Some(text.into());
    record
}

/// One of everything: warm-up, root and child, reasoning, failures of several kinds, an overflow, a cancelled request.
pub(crate) fn mixed() -> Vec<RequestRecord> {
    let mut primer = answered(0, 100, &[140]);
    primer.phase = Phase::Warmup;
    primer.stamps.connected_ns = Some(100 * MS + MS / 4);
    let mut child = answered(1, 1010, &[1050, 1054, 1058]);
    child.depth = 1;
    child.conversation_id = "trace_a::sa:agent_001".into();
    child.parent_session_id = Some("session-0".into());
    child.usage.reasoning_tokens = Some(1);
    let mut dead = unanswered(3, 1030, Outcome::Failed);
    dead.failure_kind = Some(FailureKind::ErrorObject);
    dead.error = Some("engine died".into());
    dead.usage.prompt_tokens = Some(90);
    let mut broken = unanswered(4, 1040, Outcome::Failed);
    broken.failure_kind = Some(FailureKind::BrokenStream);
    broken.error = Some("reset".into());
    let mut overflow = refused(5, 1050, 400, "maximum context length is 100 tokens");
    overflow.outcome = Outcome::Overflow;
    overflow.failure_kind = None;
    let mut cut = unanswered(6, 1060, Outcome::Cancelled);
    cut.cancel_cause = Some(CancelCause::Grace);
    vec![
        primer,
        answered(0, 1000, &[1040, 1050, 1060, 1070]),
        child,
        refused(2, 1020, 500, "boom"),
        dead,
        broken,
        overflow,
        cut,
        answered(7, 1070, &[1100]),
        answered(8, 1110, &[1150, 1155, 1165]),
        answered(9, 1170, &[1230, 1231]),
    ]
}

/// [`header`] with one SLO class.
pub(crate) fn header_with_slo() -> RunHeader {
    let slo = Slo {
        ttft_ms: 40.0,
        itl_ms: 100.0,
        e2e_ms: 60.0,
    };
    RunHeader {
        slo: BTreeMap::from([("all".to_owned(), slo)]),
        ..header()
    }
}

/// Writes a run: warm-up from 0, measurement over `window` in ns.
pub(crate) fn run(folder: &Path, header: &RunHeader, records: &[RequestRecord], window: (u64, u64)) {
    let mut recorder = Recorder::create(folder, header).unwrap();
    let started = |phase| records.iter().filter(|record| record.phase == phase).count() as u64;
    let mark = |at_ns, event| Mark { at_ns, event };
    let before = [
        mark(0, RunEvent::PhaseStart(Phase::Warmup)),
        mark(
            window.0,
            RunEvent::PhaseEnd {
                phase: Phase::Warmup,
                started: started(Phase::Warmup),
            },
        ),
        mark(window.0, RunEvent::PhaseStart(Phase::Profiling)),
    ];
    for mark in &before {
        recorder.mark(mark).unwrap();
    }
    for record in records {
        recorder.append(record).unwrap();
    }
    let ended = RunEvent::PhaseEnd {
        phase: Phase::Profiling,
        started: started(Phase::Profiling),
    };
    recorder.mark(&mark(window.1, ended)).unwrap();
    let stop = RunEvent::RunEnd {
        stop: Stop::Done,
        reason: String::new(),
    };
    recorder.mark(&mark(window.1, stop)).unwrap();
}

/// aiperf's files of a run.
pub(crate) struct Artifacts {
    pub(crate) json: Value,
    pub(crate) rows: Vec<Value>,
    pub(crate) csv: String,
}

pub(crate) fn artifacts(folder: &Path) -> Artifacts {
    let out = folder.join("aiperf");
    let options = Options {
        dir: Some("out".into()),
        tokenizer: Some("tok".into()),
        ..Options::default()
    };
    let paths = aiperf::write(folder, &out, &options).unwrap();
    assert!(paths.iter().all(|path| path.is_file()) && paths.len() == 3);
    Artifacts {
        json: testkit::json(&out.join(aiperf::JSON_FILE)),
        rows: lines(&out.join(aiperf::RECORDS_FILE)),
        csv: std::fs::read_to_string(out.join(aiperf::CSV_FILE)).unwrap(),
    }
}

/// The mixed run's files; its measurement lasts 2 s.
pub(crate) fn mixed_artifacts() -> Artifacts {
    let place = testkit::tempdir().unwrap();
    run(place.path(), &header_with_slo(), &mixed(), (900 * MS, 2900 * MS));
    artifacts(place.path())
}

pub(crate) fn lines(path: &Path) -> Vec<Value> {
    String::from_utf8(testkit::bytes(path))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
