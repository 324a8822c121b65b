//! Records as rows of a trace (`trace-csv` §2, §6).
//!
//! Rounds count what a session sent in its phase, since the measurement goes on in the middle of recorded conversations and
//! a trace's sessions have no gap. Arrivals count from the start of the request's phase; the other stamps are wall time.

mod header;
mod scraped;

use std::collections::HashMap;
use std::fmt::Write;

use trace::csv::Row;

pub use header::trace_header;
pub use scraped::Scraped;

use crate::header::RunHeader;
use crate::marks::{Mark, RunEvent};
use crate::request::{FailureKind, Outcome, Phase, RequestRecord};

/// Makes rows of a run's records, which must come in the order of the file.
#[derive(Debug)]
pub struct TraceRows {
    wall_start_ns: i128,
    model: String,
    starts_ns: HashMap<Phase, u64>,
    warm_up_requests: u64,
    sessions: HashMap<(Phase, String), Rounds>,
    lane: String,
}

#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    sent: u32,
    last_end_ns: u64,
}

impl TraceRows {
    /// For the run of that header and those marks.
    pub fn new(header: &RunHeader, marks: &[Mark]) -> Self {
        let starts_ns = marks.iter().filter_map(|mark| match mark.event {
            RunEvent::PhaseStart(phase) => Some((phase, mark.at_ns)),
            _ => None,
        });
        Self {
            wall_start_ns: header.wall_start.as_nanosecond(),
            model: header.server.model.clone(),
            starts_ns: starts_ns.collect(),
            warm_up_requests: warm_up_requests(marks),
            sessions: HashMap::new(),
            lane: String::new(),
        }
    }

    /// Dispatch index over both phases.
    pub fn request_id(&self, record: &RequestRecord) -> u64 {
        match record.phase {
            Phase::Warmup => record.sequence,
            Phase::Profiling => self.warm_up_requests + record.sequence,
        }
    }

    /// The row of a record. What a cap held back arrived when it was wanted, and thought as long as it was to.
    pub fn row<'r>(&'r mut self, record: &'r RequestRecord) -> Row<'r> {
        let request_id = self.request_id(record);
        let stamps = &record.stamps;
        let wanted_ns = stamps.due_ns.saturating_sub(record.held_ns);
        let input_tokens = tokens(Some(record.isl_planned));
        let end_ns = stamps.stream_end_ns.unwrap_or(stamps.start_ns);
        let key = (record.phase, record.session_id.clone());
        let rounds = self.sessions.entry(key).or_default();
        let (round_index, before_ns) = (rounds.sent, rounds.last_end_ns);
        *rounds = Rounds {
            sent: round_index + 1,
            last_end_ns: end_ns,
        };
        let think_ns = if round_index == 0 {
            0
        } else {
            wanted_ns.saturating_sub(before_ns)
        };
        let start_ns = self.starts_ns.get(&record.phase).copied().unwrap_or(0);
        self.lane.clear();
        write!(self.lane, "lane-{}", record.lane).expect("a string takes everything");
        Row {
            request_id,
            client_id: &self.lane,
            slo_class: record.slo_class.as_deref().unwrap_or_default(),
            session_id: &record.session_id,
            round_index,
            streaming: true,
            input_tokens,
            output_tokens: tokens(record.usage.completion_tokens),
            text_tokens: input_tokens,
            model: &self.model,
            server_input_tokens: tokens(record.usage.prompt_tokens),
            arrival_us: (wanted_ns.cast_signed() - start_ns.cast_signed()).div_euclid(1000),
            send_us: self.wall_us(stamps.headers_written_ns.or(Some(stamps.start_ns))),
            first_chunk_us: self.wall_us(stamps.first_content_ns),
            last_chunk_us: self.wall_us(stamps.last_content_ns),
            num_chunks: record.chunks.len() as u64,
            status: status(record),
            error_message: record.error.as_deref().unwrap_or_default(),
            finish_reason: record.finish_reason.as_deref().unwrap_or_default(),
            x_request_id: &record.request_id,
            think_time_us: (think_ns / 1000).cast_signed(),
            ..Row::default()
        }
    }

    /// When the content chunks of a record came, in wall µs since 1970.
    pub fn chunk_times(&self, record: &RequestRecord) -> impl Iterator<Item = i64> {
        record.chunks.iter().map(|chunk| self.wall_us(Some(chunk.at_ns)))
    }

    /// Wall time of a stamp in µs since 1970; 0 for none.
    fn wall_us(&self, stamp_ns: Option<u64>) -> i64 {
        stamp_ns.map_or(0, |ns| ((self.wall_start_ns + i128::from(ns)) / 1000) as i64)
    }
}

/// Requests that the warm-up started: ids of the measurement begin with it. 0 for a run that was killed in its warm-up.
fn warm_up_requests(marks: &[Mark]) -> u64 {
    let ended = marks.iter().find_map(|mark| match mark.event {
        RunEvent::PhaseEnd {
            phase: Phase::Warmup,
            started,
        } => Some(started),
        _ => None,
    });
    ended.unwrap_or(0)
}

fn tokens(count: Option<u64>) -> u32 {
    count.map_or(0, |count| u32::try_from(count).unwrap_or(u32::MAX))
}

/// Four outcomes in three words (`trace-csv` §6).
fn status(record: &RequestRecord) -> &'static str {
    match (record.outcome, record.failure_kind) {
        (Outcome::Ok, _) => "ok",
        (Outcome::Failed, Some(FailureKind::TimedOut)) => "timeout",
        _ => "error",
    }
}
