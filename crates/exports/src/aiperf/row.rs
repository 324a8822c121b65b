//! A line of `profile_export.jsonl` (`metrics-and-exports` §3.3).

use std::fmt;

use record::folder::Entry;
use record::header::RunHeader;
use record::request::{Outcome, Phase};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::catalogue::{ERROR_ISL, INTER_CHUNK_LATENCY, MS_PER_NS, Metric, RECORD};
use super::failure::ErrorDetails;
use super::observed::Observed;
use crate::figures::Quantity;
use crate::folder::wall_anchor_ns;

/// We are one process: aiperf names one of several here.
const WORKER: &str = "turnmill";

/// One line.
#[derive(Debug, Serialize)]
pub(crate) struct Line<'a> {
    /// Who, when, where.
    pub metadata: Metadata<'a>,
    /// What was measured.
    pub metrics: Metrics<'a>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorDetails>,
}

/// `metadata` of a line. Stamps are wall-clock nanoseconds: the run's anchor plus the monotonic stamp.
#[derive(Debug, Serialize)]
pub(crate) struct Metadata<'a> {
    /// Number of the request within its phase, in order of sending (aiperf names it so).
    pub session_num: u64,
    /// `X-Request-ID`.
    pub x_request_id: &'a str,
    /// `X-Correlation-ID`.
    pub x_correlation_id: &'a str,
    /// Conversation in the data set.
    pub conversation_id: &'a str,
    /// Turn in it, from 0.
    pub turn_index: u32,
    /// The recorded trace.
    pub source_trace_id: &'a str,
    /// What the conversation was in the recording, see [`source_kind`].
    pub source_kind: &'static str,
    /// When the request was due.
    pub credit_issued_ns: u64,
    /// t0.
    pub request_start_ns: u64,
    /// First byte of a 2xx answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_ack_ns: Option<u64>,
    /// Last event of the stream.
    pub request_end_ns: u64,
    /// A constant.
    pub worker_id: &'static str,
    /// A constant.
    pub record_processor_id: &'static str,
    /// `warmup` or `profiling`.
    pub benchmark_phase: &'static str,
    /// The only indexed phase is the measurement.
    #[serde(flatten)]
    pub phase: Option<PhaseIndex>,
    /// A cancelled request has no line.
    pub was_cancelled: bool,
    /// An overflow that is skipped has no line.
    pub context_overflow_skip: bool,
    /// 0 for a root.
    pub agent_depth: u32,
    /// Session that started this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_correlation_id: Option<&'a str>,
    /// Root of the tree. Trees are two levels deep, so it is the parent, or the session itself.
    pub root_correlation_id: &'a str,
}

/// Keys that only rows of the measurement have.
#[derive(Debug, Serialize)]
#[allow(clippy::struct_field_names, reason = "they are the file's keys")]
pub(crate) struct PhaseIndex {
    /// 0.
    pub phase_index: u32,
    /// 0.
    pub profiling_index: u32,
    /// `profiling`.
    pub phase_name: &'static str,
    /// `profiling`.
    pub phase_kind: &'static str,
}

/// `metrics` of a line: tag to value and unit.
#[derive(Clone, Copy)]
pub(crate) struct Metrics<'a>(Observed<'a>);

impl fmt::Debug for Metrics<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Metrics").field(&self.0.record.request_id).finish()
    }
}

#[derive(Serialize)]
struct Valued<V> {
    value: V,
    unit: &'static str,
}

impl Serialize for Metrics<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let seen = &self.0;
        let mut map = serializer.serialize_map(None)?;
        let mut put = |metric: &Metric, value: Quantity| {
            let unit = metric.unit;
            map.serialize_entry(metric.tag, &Valued { value, unit })
        };
        if seen.record.outcome == Outcome::Ok {
            for each in RECORD {
                if let Some(value) = (each.value)(seen) {
                    put(&each.metric, value)?;
                }
            }
        } else if let Some(isl) = seen.isl() {
            put(&ERROR_ISL, Quantity::Whole(isl))?;
        }
        if seen.record.outcome == Outcome::Ok && seen.record.chunks.len() > 1 {
            let value: Vec<f64> = seen.gaps().map(|ns| ns as f64 * MS_PER_NS).collect();
            let unit = INTER_CHUNK_LATENCY.unit;
            map.serialize_entry(INTER_CHUNK_LATENCY.tag, &Valued { value, unit })?;
        }
        map.end()
    }
}

/// The request's line; `None` for one that leaves none in aiperf's file: cancelled, or an overflow that is skipped.
pub(crate) fn line<'a>(
    header: &RunHeader,
    entry: &'a Entry,
    seen: Observed<'a>,
    skip_overflow: bool,
) -> Option<Line<'a>> {
    let record = &entry.record;
    match record.outcome {
        Outcome::Cancelled => return None,
        Outcome::Overflow if skip_overflow => return None,
        _ => {}
    }
    let wall = |at_ns: u64| wall_anchor_ns(header).saturating_add(at_ns);
    let profiling = record.phase == Phase::Profiling;
    let acknowledged = record.stamps.first_byte_ns.filter(|_| !seen.is_refused());
    Some(Line {
        metadata: Metadata {
            session_num: record.sequence,
            x_request_id: &record.request_id,
            x_correlation_id: &record.session_id,
            conversation_id: &record.conversation_id,
            turn_index: record.turn_index,
            source_trace_id: &record.trace_id,
            source_kind: source_kind(&record.conversation_id),
            credit_issued_ns: wall(record.stamps.due_ns),
            request_start_ns: wall(record.stamps.start_ns),
            request_ack_ns: acknowledged.map(wall),
            request_end_ns: wall(seen.end_ns()),
            worker_id: WORKER,
            record_processor_id: WORKER,
            benchmark_phase: if profiling { "profiling" } else { "warmup" },
            phase: profiling.then_some(PhaseIndex {
                phase_index: 0,
                profiling_index: 0,
                phase_name: "profiling",
                phase_kind: "profiling",
            }),
            was_cancelled: false,
            context_overflow_skip: false,
            agent_depth: record.depth,
            parent_correlation_id: record.parent_session_id.as_deref(),
            root_correlation_id: record.parent_session_id.as_deref().unwrap_or(&record.session_id),
        },
        metrics: Metrics(seen),
        error: (record.outcome != Outcome::Ok).then(|| ErrorDetails::of(record)),
    })
}

/// The loader writes it into the conversation's id: `TRACE` is the main agent, `TRACE::sa:…` a subagent and what that started, and any
/// other `TRACE::…` a chain that was recorded flat in the main agent (`aiperf-corpus` §4).
fn source_kind(conversation_id: &str) -> &'static str {
    match conversation_id.split_once("::") {
        None => "weka_main",
        Some((_, chain)) if chain.starts_with("sa:") => "weka_subagent",
        Some(_) => "weka_flat",
    }
}
