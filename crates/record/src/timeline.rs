//! Stamps to intervals: the one place where TTFT, TPOT, ITL and the others are defined.
//!
//! Definitions are those of `house-style` §3 and `design` §3: TTFT and E2E count from the first byte of the request
//! written, E2E ends with the last content chunk, TPOT divides by the output tokens that the server reported. What
//! cannot be known is `None`, never 0. How aiperf, vLLM and others define the same names: `docs/reference/records.md`.

use crate::request::{ContentChunk, RequestRecord, Stamps};

/// The intervals of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Start − due, 0 when it began early: how late the driver was.
    pub lateness_ns: u64,
    /// Connection stood − start; `None` when an open connection was reused or none came.
    pub connect_ns: Option<u64>,
    /// First byte of the answer − first byte of the request written.
    pub ttfb_ns: Option<u64>,
    /// First content chunk (content, reasoning or tool call) − first byte of the request written.
    pub ttft_ns: Option<u64>,
    /// The same to the first content chunk that is not reasoning.
    pub ttfo_ns: Option<u64>,
    /// Last content chunk − first byte of the request written.
    pub e2e_ns: Option<u64>,
    /// (last − first content chunk) ÷ (OSL − 1); `None` for fewer than two output tokens or an unknown count.
    pub tpot_ns: Option<f64>,
    /// (end of stream − first content chunk) ÷ (OSL − 1): what `InferenceX`'s site prefers, since it holds a hidden tail.
    pub full_response_itl_ns: Option<f64>,
}

/// The intervals between `stamps`, with the output tokens that the server reported.
pub fn timeline(stamps: &Stamps, osl: Option<u64>) -> Timeline {
    let from_written = |end: Option<u64>| interval(stamps.headers_written_ns, end);
    let per_token = |end: Option<u64>| {
        let gaps = osl.filter(|tokens| *tokens >= 2)? - 1;
        Some(interval(stamps.first_content_ns, end)? as f64 / gaps as f64)
    };
    Timeline {
        lateness_ns: stamps.start_ns.saturating_sub(stamps.due_ns),
        connect_ns: interval(Some(stamps.start_ns), stamps.connected_ns),
        ttfb_ns: from_written(stamps.first_byte_ns),
        ttft_ns: from_written(stamps.first_content_ns),
        ttfo_ns: from_written(stamps.first_output_ns),
        e2e_ns: from_written(stamps.last_content_ns),
        tpot_ns: per_token(stamps.last_content_ns),
        full_response_itl_ns: per_token(stamps.stream_end_ns),
    }
}

/// [`timeline`] of a record.
pub fn of(record: &RequestRecord) -> Timeline {
    timeline(&record.stamps, record.usage.completion_tokens)
}

/// The gap between a content chunk and the one before it: one ITL value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Its length; 0 when both chunks came in one socket read.
    pub ns: u64,
    /// Both chunks came in one socket read, so that it says nothing about the server.
    pub same_read: bool,
}

/// The gaps of a request, one fewer than its content chunks.
pub fn gaps(chunks: &[ContentChunk]) -> impl Iterator<Item = Gap> + '_ {
    chunks.windows(2).map(|pair| Gap {
        ns: pair[1].at_ns.saturating_sub(pair[0].at_ns),
        same_read: pair[1].same_read,
    })
}

/// The last stamp that a request has: its end, or as far as it came.
pub fn last_stamp_ns(stamps: &Stamps) -> u64 {
    [
        stamps.connected_ns,
        stamps.headers_written_ns,
        stamps.body_written_ns,
        stamps.first_byte_ns,
        stamps.last_content_ns,
        stamps.last_byte_ns,
        stamps.stream_end_ns,
    ]
    .into_iter()
    .flatten()
    .fold(stamps.start_ns, u64::max)
}

/// `None` also when the end lies before the start, which no clock of ours gives: such a pair is not an interval.
fn interval(start: Option<u64>, end: Option<u64>) -> Option<u64> {
    end?.checked_sub(start?)
}
