//! A small run on disk.

use std::collections::BTreeMap;
use std::path::Path;

use record::folder::Recorder;
use record::header::{
    Digests, HEADER_VERSION, Host, RunHeader, Selection, ServerFacts, ServerUrl, Slo, ValidityInputs,
};
use record::marks::{Mark, RunEvent, Stop};
use record::request::{CancelCause, ContentChunk, FailureKind, Outcome, Phase, RequestRecord, Stamps, Usage};

const MS: u64 = 1_000_000;

pub(crate) fn header() -> RunHeader {
    RunHeader {
        schema_version: HEADER_VERSION,
        turnmill_version: "0.1.0".into(),
        benchmark_id: "0123456789ab".into(),
        dialect: "aiperf-0.12.0".into(),
        loop_kind: "closed".into(),
        seed: 42,
        concurrency: 4,
        wall_start: "2026-02-03T04:05:06Z".parse().unwrap(),
        server: ServerFacts {
            url: ServerUrl::new("http://user:secret@127.0.0.1:8000/v1"),
            model: "Qwen/Qwen3-8B".into(),
            max_model_len: Some(32768),
            version: Some("0.32.0".into()),
        },
        host: Host {
            os: "linux".into(),
            cpu: "test".into(),
            cores: 2,
        },
        digests: Digests {
            plan: Some("ab".repeat(32)),
            ..Digests::default()
        },
        selection: Some(Selection {
            scanned: 1200,
            kept: 900,
            dropped: 300,
            largest: 31_999,
        }),
        trace: None,
        validity: ValidityInputs {
            scenario: Some("inferencex-agentx-mvp".into()),
            override_locks: vec!["benchmark_duration_s is 20, the lock asks for at least 900".into()],
            corpus_pinned: true,
            output_length_locked: true,
            latency_window_s: None,
        },
        slo: BTreeMap::from([(
            "default".to_owned(),
            Slo {
                ttft_ms: 150.0,
                itl_ms: 50.0,
                e2e_ms: 0.0,
            },
        )]),
        limits: BTreeMap::new(),
        options: BTreeMap::new(),
        scenario: serde_json::Value::Null,
    }
}

fn answered(phase: Phase, sequence: u64, written: u64, times: &[u64]) -> RequestRecord {
    let chunks: Vec<ContentChunk> = times
        .iter()
        .map(|at| ContentChunk {
            at_ns: at * MS,
            same_read: false,
        })
        .collect();
    let (first, last) = (
        chunks.first().map(|chunk| chunk.at_ns),
        chunks.last().map(|chunk| chunk.at_ns),
    );
    RequestRecord {
        request_id: format!("{sequence}"),
        sequence,
        phase,
        conversation_id: "t".into(),
        trace_id: "t".into(),
        session_id: "s".into(),
        turns_total: 1,
        isl_planned: 20_000,
        osl_planned: times.len() as u64,
        theoretical_hit_blocks: 3,
        theoretical_total_blocks: 4,
        body_bytes: 1,
        response_bytes: 1,
        stamps: Stamps {
            due_ns: written * MS,
            start_ns: written * MS,
            headers_written_ns: Some(written * MS),
            body_written_ns: Some(written * MS),
            first_byte_ns: first,
            first_content_ns: first,
            first_output_ns: first,
            last_content_ns: last,
            last_byte_ns: last,
            stream_end_ns: last.map(|last| last + MS),
            connected_ns: None,
        },
        usage: Usage {
            prompt_tokens: Some(20_000),
            completion_tokens: Some(times.len() as u64),
            cached_tokens: Some(12_500),
            reasoning_tokens: None,
        },
        chunks,
        parse_lag_max_ns: 10_000,
        http_status: Some(200),
        finish_reason: Some("length".into()),
        done_seen: true,
        ..RequestRecord::due(0)
    }
}

/// 45 answers, one refused, one cut by the end of the grace period, after one primer.
pub(crate) fn records() -> Vec<RequestRecord> {
    let mut records = vec![answered(Phase::Warmup, 0, 0, &[40])];
    for index in 0..45 {
        let at = 1000 + 1000 * index;
        let ttft = 100 + 2 * index;
        let times: Vec<u64> = (0..10).map(|token| at + ttft + 20 * token).collect();
        records.push(answered(Phase::Profiling, index, at, &times));
    }
    let given_up = |sequence, end: u64, outcome| {
        let mut record = answered(Phase::Profiling, sequence, 46_000, &[]);
        record.stamps.stream_end_ns = Some(end * MS);
        record.usage = Usage::default();
        record.outcome = outcome;
        record
    };
    records.push(RequestRecord {
        failure_kind: Some(FailureKind::Refused),
        http_status: Some(503),
        error: Some("engine\n\u{1b}[2J17 is dead".into()),
        ..given_up(45, 46_100, Outcome::Failed)
    });
    records.push(RequestRecord {
        cancel_cause: Some(CancelCause::Grace),
        ..given_up(46, 61_000, Outcome::Cancelled)
    });
    records
}

pub(crate) fn marks() -> Vec<Mark> {
    [
        (0, RunEvent::PhaseStart(Phase::Warmup)),
        (10, RunEvent::SendingEnd(Phase::Warmup)),
        (
            50,
            RunEvent::PhaseEnd {
                phase: Phase::Warmup,
                started: 1,
            },
        ),
        (1_000, RunEvent::PhaseStart(Phase::Profiling)),
        (51_000, RunEvent::SendingEnd(Phase::Profiling)),
        (
            61_000,
            RunEvent::PhaseEnd {
                phase: Phase::Profiling,
                started: 47,
            },
        ),
        (
            61_001,
            RunEvent::RunEnd {
                stop: Stop::Done,
                reason: String::new(),
            },
        ),
    ]
    .map(|(at_ms, event)| Mark {
        at_ns: at_ms * MS,
        event,
    })
    .into()
}

pub(crate) fn write(folder: &Path, marks: &[Mark]) {
    let mut recorder = Recorder::create(folder, &header()).unwrap();
    for mark in marks {
        recorder.mark(mark).unwrap();
    }
    for record in records() {
        recorder.append(&record).unwrap();
    }
}
