//! aiperf's own rows as records of ours: a row's stamps and metrics say all that the definitions need.
//!
//! The anchor is the start of 1970, so that stamps are wall times and lose the same digits as doubles as in aiperf.

use std::path::Path;

use record::request::{ContentChunk, Phase, RequestRecord};
use serde_json::Value;

use crate::runs::{answered, header, run};

/// Writes the run of `profile_export.jsonl` and the window that `profile_export_aiperf.json` states, and gives that document.
pub(crate) fn folder_of(artifacts: &Path, folder: &Path) -> Value {
    let rows = ["profile_export.jsonl", "profile_export.jsonl.gz"].map(|name| artifacts.join(name));
    let rows = crate::runs::lines(rows.iter().find(|path| path.exists()).unwrap());
    let document: Value = testkit::json(&artifacts.join("profile_export_aiperf.json"));
    let mut records: Vec<RequestRecord> = rows.iter().map(record).collect();
    let hits = &document["theoretical_prefix_cache_hit"];
    let first = records.iter_mut().find(|record| record.phase == Phase::Profiling);
    if let (Some(first), Some(total)) = (first, hits["count"].as_u64()) {
        // Rows do not say which blocks they had.
        first.theoretical_total_blocks = total;
        first.theoretical_hit_blocks = hits["sum"].as_u64().unwrap();
    }
    let mut header = header();
    document["benchmark_id"]
        .as_str()
        .unwrap()
        .clone_into(&mut header.benchmark_id);
    run(folder, &header, &records, window(&document));
    document
}

/// The start is stated to the microsecond, the length follows from a rate.
fn window(document: &Value) -> (u64, u64) {
    let start = format!("{}Z", document["start_time"].as_str().unwrap());
    let start: jiff::Timestamp = start.parse().unwrap();
    let start_ns = start.as_nanosecond() as u64;
    let seconds = number(&document["request_count"]["avg"]) / number(&document["request_throughput"]["avg"]);
    (start_ns, start_ns + (seconds * 1e9).round() as u64)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn record(row: &Value) -> RequestRecord {
    let metadata = &row["metadata"];
    let metric = |tag: &str| row["metrics"][tag]["value"].as_f64();
    let whole = |tag: &str| row["metrics"][tag]["value"].as_u64();
    let ns = |tag: &str| metric(tag).map(|ms| (ms * 1e6).round() as u64);
    let stamp = |key: &str| metadata[key].as_u64();
    let text = |key: &str| metadata[key].as_str().map(str::to_owned);
    let start = stamp("request_start_ns").unwrap();
    let mut record = answered(metadata["session_num"].as_u64().unwrap(), 1, &[]);
    record.request_id = text("x_request_id").unwrap();
    record.session_id = text("x_correlation_id").unwrap();
    record.conversation_id = text("conversation_id").unwrap();
    record.trace_id = text("source_trace_id").unwrap_or_default();
    record.parent_session_id = text("parent_correlation_id");
    record.turn_index = metadata["turn_index"].as_u64().unwrap() as u32;
    record.depth = metadata["agent_depth"].as_u64().unwrap() as u32;
    if metadata["benchmark_phase"] == "warmup" {
        record.phase = Phase::Warmup;
    }
    record.theoretical_hit_blocks = 0;
    record.theoretical_total_blocks = 0;
    record.usage.prompt_tokens = whole("input_sequence_length");
    record.usage.completion_tokens = whole("output_sequence_length");
    record.usage.cached_tokens = whole("usage_prompt_cache_read_tokens");
    record.osl_planned = asked(metric("output_sequence_length"), metric("osl_mismatch_diff_pct"));
    record.body_bytes = (metric("http_req_data_sent").unwrap() * 1024.0) as u64;
    record.response_bytes = (metric("http_req_data_received").unwrap() * 1024.0) as u64;

    let first = start + ns("time_to_first_token").unwrap();
    let mut at_ns = first;
    let mut push = |at_ns| {
        record.chunks.push(ContentChunk {
            at_ns,
            same_read: false,
        });
    };
    push(first);
    for gap in row["metrics"]["inter_chunk_latency"]["value"]
        .as_array()
        .into_iter()
        .flatten()
    {
        at_ns += (number(gap) * 1e6).round() as u64;
        push(at_ns);
    }
    let stamps = &mut record.stamps;
    let written = start + ns("http_req_connecting").unwrap();
    stamps.due_ns = stamp("credit_issued_ns").unwrap();
    stamps.start_ns = start;
    stamps.connected_ns = (whole("http_req_connection_reused") == Some(0)).then_some(written);
    stamps.headers_written_ns = Some(written);
    stamps.body_written_ns = Some(written + ns("http_req_sending").unwrap());
    stamps.first_byte_ns = stamp("request_ack_ns");
    stamps.first_content_ns = Some(first);
    stamps.first_output_ns = Some(start + ns("time_to_first_output_token").unwrap());
    stamps.last_content_ns = Some(start + ns("request_latency").unwrap());
    stamps.last_byte_ns = Some(written + ns("http_req_duration").unwrap());
    stamps.stream_end_ns = stamp("request_end_ns");
    assert_eq!(Some(at_ns), stamps.last_content_ns, "gaps add up");
    record
}

/// OSL = asked · (1 + diff / 100).
fn asked(osl: Option<f64>, diff_pct: Option<f64>) -> u64 {
    (osl.unwrap() / (1.0 + diff_pct.unwrap() / 100.0)).round() as u64
}
