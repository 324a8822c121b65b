//! One phase while its requests are read.
//!
//! Sums of what a file states saturate: a number that no server sends must not end the report.

use std::collections::BTreeMap;

use super::errors::ErrorTally;
use super::goodput::GoodputTally;
use super::{
    CacheHits, ClientCost, Counts, EarlyFinish, Held, Interactivity, LatencySeen, PhaseSummary,
    PhaseThroughput, Tokens, share,
};
use crate::folder::Entry;
use crate::header::Slo;
use crate::request::{Outcome, RequestRecord};
use crate::stats::gaps::Gaps;
use crate::stats::sample::{Distribution, Sample};
use crate::stats::window::Totals;
use crate::timeline::{self, Timeline};
use crate::words::Word;

/// A request that starts later than this was late.
pub const LATE_NS: u64 = 1_000_000;

/// Nanoseconds in a millisecond.
const MS: f64 = 1e6;

/// What the marks say about a phase.
#[derive(Clone, Copy, Debug, Default)]
pub struct PhaseMarks {
    /// When it began.
    pub start_ns: Option<u64>,
    /// When it stopped sending.
    pub sending_end_ns: Option<u64>,
    /// When it ended.
    pub end_ns: Option<u64>,
    /// Requests started in it.
    pub started: Option<u64>,
}

/// Sums and samples of one phase.
#[derive(Clone, Debug, Default)]
pub struct PhaseTally {
    marks: PhaseMarks,
    counts: Counts,
    sequence_end: u64,
    first_start_ns: Option<u64>,
    last_stamp_ns: u64,
    span: Option<(u64, u64)>,
    all: Totals,
    while_sending: Totals,
    ttft: Sample,
    ttfo: Sample,
    tpot: Sample,
    full_response_itl: Sample,
    e2e: Sample,
    isl: Sample,
    osl: Sample,
    gaps: Gaps,
    without_chunks: u64,
    tokens: Tokens,
    chunked_tokens: u64,
    chunks: u64,
    cache: CacheHits,
    early: EarlyFinish,
    last_first_token_ns: Option<u64>,
    last_spaced_end_ns: Option<u64>,
    goodput: GoodputTally,
    held: Sample,
    lateness: Sample,
    late: u64,
    parse_lag: Sample,
    connect: Sample,
    ok_without_done: u64,
    malformed_events: u64,
    errors: ErrorTally,
    first_error: Option<String>,
}

impl PhaseTally {
    /// An empty tally of a phase with these marks, counting goodput for these classes.
    pub fn new(marks: PhaseMarks, slo: &BTreeMap<String, Slo>) -> Self {
        Self {
            marks,
            goodput: GoodputTally::new(slo),
            ..Self::default()
        }
    }

    /// The last stamp of any request so far.
    pub fn last_stamp_ns(&self) -> u64 {
        self.last_stamp_ns
    }

    /// Nothing was started, as far as is known.
    pub fn is_empty(&self) -> bool {
        self.sequence_end == 0 && self.marks.started.unwrap_or(0) == 0
    }

    /// Takes a request of the phase.
    pub fn push(&mut self, entry: &Entry) {
        let record = &entry.record;
        let intervals = timeline::of(record);
        self.sequence_end = self.sequence_end.max(record.sequence.saturating_add(1));
        let start_ns = record.stamps.start_ns;
        self.first_start_ns = Some(self.first_start_ns.map_or(start_ns, |first| first.min(start_ns)));
        self.last_stamp_ns = self.last_stamp_ns.max(timeline::last_stamp_ns(&record.stamps));
        self.malformed_events = self.malformed_events.saturating_add(record.malformed_events);
        self.push_client_cost(record, &intervals);
        self.push_outcome(record);
        self.goodput.push(record, &intervals);
        if record.outcome == Outcome::Ok {
            self.push_window(record);
            self.push_intervals(&intervals);
            self.push_seen(record);
            self.push_gaps(entry);
            self.push_tokens(record);
            self.ok_without_done += u64::from(!record.done_seen);
        }
    }

    fn push_client_cost(&mut self, record: &RequestRecord, intervals: &Timeline) {
        if record.held_ns > 0 {
            self.held.push(Some(record.held_ns as f64));
        }
        self.lateness.push(Some(intervals.lateness_ns as f64));
        self.late += u64::from(intervals.lateness_ns > LATE_NS);
        self.parse_lag.push(
            record
                .stamps
                .first_byte_ns
                .map(|_| record.parse_lag_max_ns as f64),
        );
        self.connect.push(intervals.connect_ns.map(|ns| ns as f64));
    }

    fn push_outcome(&mut self, record: &RequestRecord) {
        let counts = &mut self.counts;
        match record.outcome {
            Outcome::Ok => counts.ok += 1,
            Outcome::Failed => counts.failed += 1,
            Outcome::Overflow => counts.overflow += 1,
            Outcome::Cancelled => counts.cancelled += 1,
        }
        if let Some(kind) = record.failure_kind {
            *counts.failure_kinds.entry(kind.word().to_owned()).or_default() += 1;
        }
        if let Some(cause) = record.cancel_cause {
            *counts.cancel_causes.entry(cause.word().to_owned()).or_default() += 1;
        }
        if matches!(record.outcome, Outcome::Failed | Outcome::Overflow) {
            self.errors.push(record);
            if self.first_error.is_none() {
                self.first_error.clone_from(&record.error);
            }
        }
    }

    fn push_window(&mut self, record: &RequestRecord) {
        let (start_ns, end_ns) = (record.stamps.start_ns, timeline::last_stamp_ns(&record.stamps));
        let (first, last) = self.span.unwrap_or((start_ns, end_ns));
        self.span = Some((first.min(start_ns), last.max(end_ns)));
        let (prompt, output) = (record.usage.prompt_tokens, record.usage.completion_tokens);
        self.all.add(prompt, output);
        if self
            .marks
            .sending_end_ns
            .is_none_or(|sending_end| end_ns <= sending_end)
        {
            self.while_sending.add(prompt, output);
        }
    }

    fn push_intervals(&mut self, intervals: &Timeline) {
        let ns = |interval: Option<u64>| interval.map(|ns| ns as f64);
        self.ttft.push(ns(intervals.ttft_ns));
        self.ttfo.push(ns(intervals.ttfo_ns));
        self.e2e.push(ns(intervals.e2e_ns));
        self.tpot.push(intervals.tpot_ns);
        self.full_response_itl.push(intervals.full_response_itl_ns);
    }

    fn push_seen(&mut self, record: &RequestRecord) {
        let stamps = &record.stamps;
        self.last_first_token_ns = self.last_first_token_ns.max(stamps.first_content_ns);
        // The stamps tell whether there was a gap even where the chunks' own are lost.
        if stamps.last_content_ns > stamps.first_content_ns {
            self.last_spaced_end_ns = self.last_spaced_end_ns.max(stamps.stream_end_ns);
        }
    }

    fn push_gaps(&mut self, entry: &Entry) {
        self.without_chunks += u64::from(!entry.chunks_known);
        timeline::gaps(&entry.record.chunks).for_each(|gap| self.gaps.push(gap));
        if let (Some(osl), false) = (
            entry.record.usage.completion_tokens,
            entry.record.chunks.is_empty(),
        ) {
            self.chunked_tokens = self.chunked_tokens.saturating_add(osl);
            self.chunks += entry.record.chunks.len() as u64;
        }
    }

    fn push_tokens(&mut self, record: &RequestRecord) {
        let usage = &record.usage;
        self.isl.push(usage.prompt_tokens.map(|tokens| tokens as f64));
        self.osl.push(usage.completion_tokens.map(|tokens| tokens as f64));
        if usage.prompt_tokens.is_some() {
            self.tokens.isl_planned = self.tokens.isl_planned.saturating_add(record.isl_planned);
        }
        match usage.completion_tokens {
            Some(osl) => {
                self.tokens.osl_planned = self.tokens.osl_planned.saturating_add(record.osl_planned);
                self.early.known += 1;
                self.early.requests += u64::from(osl < record.osl_planned);
            }
            None => self.tokens.without_usage += 1,
        }
        let total_blocks = record.theoretical_total_blocks;
        self.cache.theoretical_hit_blocks = self
            .cache
            .theoretical_hit_blocks
            .saturating_add(record.theoretical_hit_blocks.min(total_blocks));
        self.cache.theoretical_total_blocks =
            self.cache.theoretical_total_blocks.saturating_add(total_blocks);
        if let (Some(cached), Some(prompt)) = (usage.cached_tokens, usage.prompt_tokens) {
            self.cache.reported_requests += 1;
            self.cache.cached_tokens = self.cache.cached_tokens.saturating_add(cached);
            self.cache.prompt_tokens = self.cache.prompt_tokens.saturating_add(prompt);
        }
    }

    /// The phase's figures. `last_ns` stands for an end that no mark states.
    pub fn finish(mut self, last_ns: u64) -> PhaseSummary {
        let throughput = self.throughput(last_ns);
        let recorded = self.counts.recorded();
        self.counts.started = self
            .marks
            .started
            .unwrap_or(0)
            .max(self.sequence_end)
            .max(recorded);
        self.counts.unrecorded = self.counts.started - recorded;
        let seconds = throughput
            .span
            .map(|span| span.seconds)
            .filter(|seconds| *seconds > 0.0);
        let (goodput, goodput_total) = self.goodput.finish(seconds);
        let held = (!self.held.is_empty()).then(|| Held {
            requests: self.held.len() as u64,
            delay_ms: self.held.distribution(MS),
        });
        let phase_start_ns = self.marks.start_ns.or(self.first_start_ns);
        let until_s = |at_ns: Option<u64>| Some(at_ns?.saturating_sub(phase_start_ns?) as f64 / 1e9);
        let seen = LatencySeen {
            ttft_until_s: until_s(self.last_first_token_ns),
            itl_until_s: until_s(self.last_spaced_end_ns),
        };
        let late_share = share(self.late, recorded);
        let tpot_ms = self.tpot.distribution(MS);
        let mut itl_ms = self.gaps.pooled();
        itl_ms.distribution.missing = self.without_chunks;
        PhaseSummary {
            counts: self.counts,
            throughput,
            ttft_ms: self.ttft.distribution(MS),
            ttfo_ms: self.ttfo.distribution(MS),
            tps_per_user: interactivity(&tpot_ms),
            tpot_ms,
            full_response_itl_ms: self.full_response_itl.distribution(MS),
            itl_ms,
            e2e_ms: self.e2e.distribution(MS),
            isl: self.isl.distribution(1.0),
            osl: self.osl.distribution(1.0),
            tokens: Tokens {
                isl: self.all.prompt_tokens(),
                osl: self.all.output_tokens(),
                per_chunk: share(self.chunked_tokens, self.chunks),
                ..self.tokens
            },
            cache: CacheHits {
                theoretical_share: share(
                    self.cache.theoretical_hit_blocks,
                    self.cache.theoretical_total_blocks,
                ),
                reported_share: share(self.cache.cached_tokens, self.cache.prompt_tokens),
                ..self.cache
            },
            early_finish: EarlyFinish {
                share: share(self.early.requests, self.early.known),
                ..self.early
            },
            seen,
            goodput,
            goodput_total,
            held,
            client: ClientCost {
                lateness_ms: self.lateness.distribution(MS),
                late_share,
                parse_lag_ms: self.parse_lag.distribution(MS),
                connect_ms: self.connect.distribution(MS),
            },
            ok_without_done: self.ok_without_done,
            malformed_events: self.malformed_events,
            errors: self.errors.finish(),
            first_error: self.first_error,
        }
    }

    fn throughput(&self, last_ns: u64) -> PhaseThroughput {
        let start_ns = self.marks.start_ns.or(self.first_start_ns);
        let end_ns = self.marks.end_ns.unwrap_or(last_ns);
        let sending_end_ns = self.marks.sending_end_ns.unwrap_or(end_ns);
        PhaseThroughput {
            send: start_ns.map(|start_ns| self.while_sending.over(start_ns, sending_end_ns)),
            span: self.span.map(|(first, last)| self.all.over(first, last)),
            phase: start_ns.map(|start_ns| self.all.over(start_ns, end_ns)),
            end_stated: self.marks.end_ns.is_some(),
        }
    }
}

fn interactivity(tpot_ms: &Distribution) -> Interactivity {
    let inverse = |ms: Option<f64>| ms.filter(|ms| *ms > 0.0).map(|ms| 1e3 / ms);
    Interactivity {
        mean: inverse(tpot_ms.mean),
        p50: inverse(tpot_ms.p50),
        p90: inverse(tpot_ms.p90),
        p95: inverse(tpot_ms.p95),
        p99: inverse(tpot_ms.p99),
    }
}
