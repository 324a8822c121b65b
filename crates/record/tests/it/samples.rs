//! Requests and headers that tests begin with.

use std::collections::BTreeMap;

use record::header::{Digests, Host, RunHeader, ServerFacts, ServerUrl, ValidityInputs};
use record::request::{ContentChunk, Outcome, RequestRecord, Stamps, Usage};

pub(crate) const MS: u64 = 1_000_000;

/// An answered request: content chunks at these times, all stamps in ms from the anchor, written at `written`.
pub(crate) fn answered(sequence: u64, written: u64, chunk_times: &[u64]) -> RequestRecord {
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
        conversation_id: "trace_a::sa:1".into(),
        trace_id: "trace_a".into(),
        session_id: format!("session-{sequence}"),
        turns_total: 3,
        marker: "0123456789ab".into(),
        isl_planned: 100,
        osl_planned: chunks.len() as u64,
        theoretical_hit_blocks: 1,
        theoretical_total_blocks: 4,
        body_bytes: 900,
        response_bytes: 1200,
        stamps: Stamps {
            due_ns: written * MS,
            start_ns: written * MS,
            connected_ns: None,
            headers_written_ns: Some(written * MS),
            body_written_ns: Some(written * MS),
            first_byte_ns: first,
            first_content_ns: first,
            first_output_ns: first,
            last_content_ns: last,
            last_byte_ns: last,
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

/// A request that did not get an answer, given up at `end` ms.
pub(crate) fn unanswered(sequence: u64, written: u64, end: u64, outcome: Outcome) -> RequestRecord {
    let mut record = answered(sequence, written, &[]);
    record.stamps.stream_end_ns = Some(end * MS);
    record.usage = Usage::default();
    record.osl_planned = 5;
    record.done_seen = false;
    record.outcome = outcome;
    record
}

pub(crate) fn header() -> RunHeader {
    RunHeader {
        schema_version: 1,
        turnmill_version: "0.1.0".into(),
        benchmark_id: "0123456789ab".into(),
        dialect: "aiperf-0.12.0".into(),
        loop_kind: "closed".into(),
        seed: 42,
        concurrency: 4,
        wall_start: "2026-02-03T04:05:06.789012345Z".parse().unwrap(),
        server: ServerFacts {
            url: ServerUrl::new("http://127.0.0.1:8000/v1"),
            model: "m".into(),
            max_model_len: Some(32768),
            version: Some("0.32".into()),
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
        selection: None,
        trace: None,
        validity: ValidityInputs {
            scenario: Some("inferencex-agentx-mvp".into()),
            override_locks: vec![],
            corpus_pinned: true,
            output_length_locked: true,
            latency_window_s: None,
        },
        slo: BTreeMap::new(),
        limits: BTreeMap::from([("request_timeout_s".to_owned(), 21600.into())]),
        options: BTreeMap::new(),
        scenario: serde_json::json!({"workload": {"replay": {"concurrency": 4}}}),
    }
}
