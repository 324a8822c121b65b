//! The cache-bust marker: a short text that makes the prompts of one play of a trace unlike those of any other.
//!
//! Root and children of one play share it, warm-up and measurement alike (`aiperf-corpus` §5.8, target
//! `first_turn_prefix`). Never put before a system message.

use super::sha256_hex;

/// The marker of a play: `[rid:` + 12 hex digits + `]` + two newlines.
///
/// `pass` counts the plays of this trace in the run from 0, over all lanes; `trace_id` may be the id of any conversation
/// of the trace.
pub fn text(benchmark_id: &str, pass: u64, lane: u64, trace_id: &str) -> String {
    let trace_id = base_trace_id(trace_id);
    let digest = sha256_hex(format!("{benchmark_id}:{pass}:{lane}:{trace_id}").as_bytes());
    format!("[rid:{}]\n\n", &digest[..12])
}

/// The trace that a conversation belongs to: its id up to the first `::`.
pub fn base_trace_id(conversation_id: &str) -> &str {
    conversation_id
        .split_once("::")
        .map_or(conversation_id, |(trace_id, _)| trace_id)
}
