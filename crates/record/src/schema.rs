//! The row of `requests.jsonl`, version 1: a type of its own, converted by hand from and to [`RequestRecord`].
//!
//! A row holds every raw stamp, and behind them the intervals of [`crate::timeline`] for whoever reads it with other
//! tools. Reading takes the raw stamps only: the intervals of an old row follow today's definitions.
//!
//! Adding a key does not raise [`ROW_VERSION`]; changing what a key means does. Keys that are unknown are passed over,
//! and a key without a value is left out.

use serde::{Deserialize, Serialize};

use crate::request::{CancelCause, FailureKind, Outcome, Phase, RequestRecord, Stamps, Usage};
use crate::timeline;
use crate::words::Worded;

/// Version of the rows that are written; rows up to it are read.
pub const ROW_VERSION: u32 = 1;

/// A column of `requests.jsonl`, as documented in `docs/reference/records.md`.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its key.
    pub name: &'static str,
    /// What a value is: `ns`, `tokens`, `text` …
    pub unit: &'static str,
    /// What it says, and when it is left out.
    pub meaning: &'static str,
}

macro_rules! row {
    ($($(#[$attribute:meta])* $name:ident : $kind:ty, $unit:literal, $meaning:literal;)*) => {
        /// One line of `requests.jsonl`. Keys stand in this order.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub struct Row {
            $(#[doc = $meaning] $(#[$attribute])* pub $name: $kind,)*
        }

        /// Every column, in the order of the keys.
        pub const COLUMNS: &[Column] = &[
            $(Column { name: stringify!($name), unit: $unit, meaning: $meaning },)*
        ];
    };
}

row! {
    v: u32, "number", "Version of the row: 1.";
    request_id: String, "text", "Value of `X-Request-ID`; unique in the run.";
    sequence: u64, "number", "Position in its phase in order of sending, from 0.";
    phase: Worded<Phase>, "word", "`warmup` (never counts) or `profiling` (the measurement).";
    lane: u32, "number", "Lane that its session tree runs on, from 0.";
    tree_pass: u64, "number", "How many trees of the same trace were started before its own.";
    trace_id: String, "text", "The recorded trace.";
    conversation_id: String, "text", "The conversation in the data set: the trace, or one of its subagents.";
    session_id: String, "text", "Value of `X-Correlation-ID`: this replay of the conversation.";
    #[serde(skip_serializing_if = "Option::is_none", default)]
    parent_session_id: Option<String>, "text", "`session_id` of the parent's replay; left out for a root.";
    turn_index: u32, "number", "Turn in its conversation, from 0.";
    turns_total: u32, "number", "Turns that the conversation has.";
    depth: u32, "number", "0 for a root, 1 for its subagents.";
    marker: String, "text", "Twelve hex digits of the cache-bust marker; empty without one.";
    #[serde(skip_serializing_if = "Option::is_none", default)]
    slo_class: Option<String>, "text", "SLO class of the row of a trace file; left out when it has none.";
    isl_planned: u64, "tokens", "Prompt tokens recorded in the trace; marker and chat template not counted.";
    #[serde(skip_serializing_if = "Option::is_none", default)]
    isl: Option<u64>, "tokens", "Prompt tokens as the server reported them; left out when it did not.";
    osl_planned: u64, "tokens", "Output tokens asked for.";
    #[serde(skip_serializing_if = "Option::is_none", default)]
    osl: Option<u64>, "tokens", "Output tokens as the server reported them, reasoning included; left out when it did not.";
    #[serde(skip_serializing_if = "Option::is_none", default)]
    cached_tokens: Option<u64>, "tokens", "Prompt tokens that the server says it took from its prefix cache.";
    #[serde(skip_serializing_if = "Option::is_none", default)]
    reasoning_tokens: Option<u64>, "tokens", "Output tokens that the server says it spent on reasoning.";
    theoretical_hit_blocks: u64, "blocks", "Leading blocks that an infinite prefix cache would hold.";
    theoretical_total_blocks: u64, "blocks", "Blocks of the prompt that have a hash id.";
    body_bytes: u64, "bytes", "Size of the request body.";
    response_bytes: u64, "bytes", "Body bytes of the answer, framing removed.";
    due_ns: u64, "ns", "When the schedule wanted the request to start, or later, when the cap on requests in flight let it.";
    #[serde(skip_serializing_if = "is_zero", default)]
    held_ns: u64, "ns", "How long that cap had held it back by then; left out when it did not.";
    start_ns: u64, "ns", "When we began to carry it out.";
    #[serde(skip_serializing_if = "Option::is_none", default)]
    connected_ns: Option<u64>, "ns", "When a new connection stood, TLS included; left out when an open one was reused.";
    #[serde(skip_serializing_if = "Option::is_none", default)]
    headers_written_ns: Option<u64>, "ns", "When the first byte of the request was handed to the socket.";
    #[serde(skip_serializing_if = "Option::is_none", default)]
    body_written_ns: Option<u64>, "ns", "When the last byte of the body was handed to the socket.";
    #[serde(skip_serializing_if = "Option::is_none", default)]
    first_byte_ns: Option<u64>, "ns", "When the read returned that brought the first byte of the answer.";
    #[serde(skip_serializing_if = "Option::is_none", default)]
    first_content_ns: Option<u64>, "ns", "The same for the first chunk with content, reasoning or tool-call text.";
    #[serde(skip_serializing_if = "Option::is_none", default)]
    first_output_ns: Option<u64>, "ns", "The same for the first such chunk that is not reasoning.";
    #[serde(skip_serializing_if = "Option::is_none", default)]
    last_content_ns: Option<u64>, "ns", "The same for the last content chunk.";
    #[serde(skip_serializing_if = "Option::is_none", default)]
    last_byte_ns: Option<u64>, "ns", "The same for the last byte of the answer so far, whatever it was part of.";
    #[serde(skip_serializing_if = "Option::is_none", default)]
    stream_end_ns: Option<u64>, "ns", "When the read returned that ended the stream, or when the request was given up.";
    content_chunks: u64, "chunks", "Chunks with content, reasoning or tool-call text; their stamps are in `chunks.bin`.";
    reasoning_chunks: u64, "chunks", "How many of them held reasoning only.";
    parse_lag_max_ns: u64, "ns", "Longest time from a socket read to the moment its bytes were parsed.";
    #[serde(skip_serializing_if = "Option::is_none", default)]
    http_status: Option<u16>, "number", "HTTP status; left out when no answer came.";
    #[serde(skip_serializing_if = "Option::is_none", default)]
    finish_reason: Option<String>, "text", "`finish_reason` of the stream.";
    done_seen: bool, "true/false", "`[DONE]` came.";
    malformed_events: u64, "events", "Events that were no JSON of the expected shape.";
    outcome: Worded<Outcome>, "word", "`ok`, `failed`, `overflow` (the prompt does not fit the context window) or `cancelled`.";
    #[serde(skip_serializing_if = "Option::is_none", default)]
    failure_kind: Option<Worded<FailureKind>>, "word", "`refused` (HTTP status), `error_object`, `truncated`, `timed_out`, `broken_stream`, `malformed`, `connect` or `unsent` (its prompt could not be made).";
    #[serde(skip_serializing_if = "Option::is_none", default)]
    cancel_cause: Option<Worded<CancelCause>>, "word", "`grace`, `interrupt` or `abort`.";
    #[serde(skip_serializing_if = "Option::is_none", default)]
    error: Option<String>, "text", "The error's text, cut to a stated length.";
    #[serde(skip_deserializing, default)]
    lateness_ns: u64, "ns", "Derived: `start_ns` − `due_ns`, 0 when it began early.";
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing, default)]
    connect_ns: Option<u64>, "ns", "Derived: `connected_ns` − `start_ns`.";
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing, default)]
    ttfb_ns: Option<u64>, "ns", "Derived: `first_byte_ns` − `headers_written_ns`.";
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing, default)]
    ttft_ns: Option<u64>, "ns", "Derived: `first_content_ns` − `headers_written_ns`.";
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing, default)]
    ttfo_ns: Option<u64>, "ns", "Derived: `first_output_ns` − `headers_written_ns`.";
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing, default)]
    e2e_ns: Option<u64>, "ns", "Derived: `last_content_ns` − `headers_written_ns`.";
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing, default)]
    tpot_ns: Option<f64>, "ns", "Derived: (`last_content_ns` − `first_content_ns`) ÷ (`osl` − 1); left out below two output tokens.";
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing, default)]
    full_response_itl_ns: Option<f64>, "ns", "Derived: (`stream_end_ns` − `first_content_ns`) ÷ (`osl` − 1).";
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing, default)]
    tps_per_user: Option<f64>, "tokens/s", "Derived: 10⁹ ÷ `tpot_ns`; left out where that is 0 or unknown.";
}

impl Row {
    /// The record's row; the chunk stamps themselves go to `chunks.bin`.
    pub fn from_record(record: &RequestRecord) -> Self {
        let intervals = timeline::of(record);
        let stamps = &record.stamps;
        Self {
            v: ROW_VERSION,
            request_id: record.request_id.clone(),
            sequence: record.sequence,
            phase: Worded(record.phase),
            lane: record.lane,
            tree_pass: record.tree_pass,
            trace_id: record.trace_id.clone(),
            conversation_id: record.conversation_id.clone(),
            session_id: record.session_id.clone(),
            parent_session_id: record.parent_session_id.clone(),
            turn_index: record.turn_index,
            turns_total: record.turns_total,
            depth: record.depth,
            marker: record.marker.clone(),
            slo_class: record.slo_class.clone(),
            isl_planned: record.isl_planned,
            isl: record.usage.prompt_tokens,
            osl_planned: record.osl_planned,
            osl: record.usage.completion_tokens,
            cached_tokens: record.usage.cached_tokens,
            reasoning_tokens: record.usage.reasoning_tokens,
            theoretical_hit_blocks: record.theoretical_hit_blocks,
            theoretical_total_blocks: record.theoretical_total_blocks,
            body_bytes: record.body_bytes,
            response_bytes: record.response_bytes,
            due_ns: stamps.due_ns,
            held_ns: record.held_ns,
            start_ns: stamps.start_ns,
            connected_ns: stamps.connected_ns,
            headers_written_ns: stamps.headers_written_ns,
            body_written_ns: stamps.body_written_ns,
            first_byte_ns: stamps.first_byte_ns,
            first_content_ns: stamps.first_content_ns,
            first_output_ns: stamps.first_output_ns,
            last_content_ns: stamps.last_content_ns,
            last_byte_ns: stamps.last_byte_ns,
            stream_end_ns: stamps.stream_end_ns,
            content_chunks: record.chunks.len() as u64,
            reasoning_chunks: record.reasoning_chunks,
            parse_lag_max_ns: record.parse_lag_max_ns,
            http_status: record.http_status,
            finish_reason: record.finish_reason.clone(),
            done_seen: record.done_seen,
            malformed_events: record.malformed_events,
            outcome: Worded(record.outcome),
            failure_kind: record.failure_kind.map(Worded),
            cancel_cause: record.cancel_cause.map(Worded),
            error: record.error.clone(),
            lateness_ns: intervals.lateness_ns,
            connect_ns: intervals.connect_ns,
            ttfb_ns: intervals.ttfb_ns,
            ttft_ns: intervals.ttft_ns,
            ttfo_ns: intervals.ttfo_ns,
            e2e_ns: intervals.e2e_ns,
            tpot_ns: intervals.tpot_ns,
            full_response_itl_ns: intervals.full_response_itl_ns,
            tps_per_user: intervals
                .tpot_ns
                .filter(|tpot| *tpot > 0.0)
                .map(|tpot| 1e9 / tpot),
        }
    }

    /// The record, without chunk stamps: [`Row::content_chunks`] says how many there should be.
    pub fn into_record(self) -> RequestRecord {
        RequestRecord {
            request_id: self.request_id,
            sequence: self.sequence,
            phase: self.phase.0,
            lane: self.lane,
            tree_pass: self.tree_pass,
            conversation_id: self.conversation_id,
            trace_id: self.trace_id,
            session_id: self.session_id,
            parent_session_id: self.parent_session_id,
            turn_index: self.turn_index,
            turns_total: self.turns_total,
            depth: self.depth,
            marker: self.marker,
            slo_class: self.slo_class,
            isl_planned: self.isl_planned,
            osl_planned: self.osl_planned,
            theoretical_hit_blocks: self.theoretical_hit_blocks,
            theoretical_total_blocks: self.theoretical_total_blocks,
            body_bytes: self.body_bytes,
            response_bytes: self.response_bytes,
            held_ns: self.held_ns,
            stamps: Stamps {
                due_ns: self.due_ns,
                start_ns: self.start_ns,
                connected_ns: self.connected_ns,
                headers_written_ns: self.headers_written_ns,
                body_written_ns: self.body_written_ns,
                first_byte_ns: self.first_byte_ns,
                first_content_ns: self.first_content_ns,
                first_output_ns: self.first_output_ns,
                last_content_ns: self.last_content_ns,
                last_byte_ns: self.last_byte_ns,
                stream_end_ns: self.stream_end_ns,
            },
            chunks: Vec::new(),
            reasoning_chunks: self.reasoning_chunks,
            parse_lag_max_ns: self.parse_lag_max_ns,
            http_status: self.http_status,
            finish_reason: self.finish_reason,
            done_seen: self.done_seen,
            malformed_events: self.malformed_events,
            usage: Usage {
                prompt_tokens: self.isl,
                completion_tokens: self.osl,
                cached_tokens: self.cached_tokens,
                reasoning_tokens: self.reasoning_tokens,
            },
            outcome: self.outcome.0,
            failure_kind: self.failure_kind.map(|kind| kind.0),
            cancel_cause: self.cancel_cause.map(|cause| cause.0),
            error: self.error,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// [`COLUMNS`] as the table of `docs/reference/records.md`.
pub fn columns_markdown() -> String {
    let rows = COLUMNS
        .iter()
        .map(|column| format!("| `{}` | {} | {} |\n", column.name, column.unit, column.meaning));
    std::iter::once("| key | unit | meaning |\n|---|---|---|\n".to_owned())
        .chain(rows)
        .collect()
}
