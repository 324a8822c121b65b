//! A request's record and a run's header that only serve measuring.

use record::header::{Digests, HEADER_VERSION, Host, RunHeader, ServerFacts, ServerUrl, ValidityInputs};
use record::request::{ContentChunk, RequestRecord, Stamps, Usage};
use std::collections::BTreeMap;

const NS_PER_MS: u64 = 1_000_000;

/// A request of the measurement of which nothing is known yet.
pub(crate) fn record(sequence: u64) -> RequestRecord {
    RequestRecord {
        request_id: format!("bench-{sequence}"),
        sequence,
        session_id: "bench".to_owned(),
        turns_total: 1,
        ..RequestRecord::due(0)
    }
}

/// The same, answered with `chunks` content chunks a millisecond or so apart.
pub(crate) fn answered(sequence: u64, chunks: u64) -> RequestRecord {
    let start_ns = (sequence + 1) * NS_PER_MS;
    let first_ns = start_ns + 100 * NS_PER_MS + sequence * 7919 % NS_PER_MS;
    let contents: Vec<ContentChunk> = (0..chunks)
        .map(|n| ContentChunk {
            at_ns: first_ns + n * NS_PER_MS + (sequence + n) * 104_729 % 10_000,
            same_read: false,
        })
        .collect();
    let last_ns = contents.last().map(|chunk| chunk.at_ns);
    RequestRecord {
        lane: (sequence % 64) as u32,
        conversation_id: "trace_0001".to_owned(),
        trace_id: "trace_0001".to_owned(),
        isl_planned: 50_000,
        osl_planned: chunks,
        body_bytes: 200_000,
        response_bytes: 250 * chunks,
        stamps: Stamps {
            due_ns: start_ns - NS_PER_MS / 2,
            start_ns,
            connected_ns: None,
            headers_written_ns: Some(start_ns + 10_000),
            body_written_ns: Some(start_ns + 60_000),
            first_byte_ns: Some(first_ns),
            first_content_ns: Some(first_ns),
            first_output_ns: Some(first_ns),
            last_content_ns: last_ns,
            last_byte_ns: last_ns,
            stream_end_ns: last_ns,
        },
        chunks: contents,
        http_status: Some(200),
        finish_reason: Some("length".to_owned()),
        done_seen: true,
        usage: Usage {
            prompt_tokens: Some(50_010),
            completion_tokens: Some(chunks),
            cached_tokens: Some(40_000),
            reasoning_tokens: None,
        },
        ..record(sequence)
    }
}

/// The header of a run that never was.
pub(crate) fn header() -> RunHeader {
    RunHeader {
        schema_version: HEADER_VERSION,
        turnmill_version: env!("CARGO_PKG_VERSION").to_owned(),
        benchmark_id: "bench".to_owned(),
        dialect: "aiperf-0.12.0".to_owned(),
        loop_kind: "closed".to_owned(),
        seed: 42,
        concurrency: 64,
        wall_start: jiff::Timestamp::UNIX_EPOCH,
        server: ServerFacts {
            url: ServerUrl::new("http://127.0.0.1"),
            model: "sim".to_owned(),
            max_model_len: None,
            version: None,
        },
        host: Host::default(),
        digests: Digests::default(),
        selection: None,
        trace: None,
        validity: ValidityInputs::default(),
        slo: BTreeMap::new(),
        limits: BTreeMap::new(),
        options: BTreeMap::new(),
        scenario: serde_json::Value::Null,
    }
}
