//! One phase of a run: its requests collected, and every metric of `profile_export_aiperf.json` computed from them.

use record::request::Outcome;
use record::timeline;

use super::catalogue::{
    DISPATCH, ERROR_ISL, INTER_CHUNK_LATENCY, MS_PER_NS, Metric, RECORD, RUN, SKIPPED_OVERFLOWS, named,
};
use super::failure::{ErrorCount, ErrorDetails, Failures};
use super::observed::Observed;
use super::spans::Spans;
use crate::figures::{Figures, Quantity};

/// A phase while its requests are read.
#[derive(Debug, Default)]
pub(crate) struct PhaseTally {
    /// Overflows are skipped, as in runs with a scenario; else they are failures.
    skip_overflow: bool,
    valid: u64,
    failed: u64,
    overflows: u64,
    /// One list of values for each entry of [`RECORD`].
    values: Vec<Vec<f64>>,
    error_isl: Vec<f64>,
    credit_to_start: Vec<f64>,
    effective_latency: Vec<f64>,
    spans: Spans,
    mismatches: u64,
    hit_blocks: u64,
    total_blocks: u64,
    /// Earliest t0 and latest content of valid requests.
    extent: Option<(f64, f64)>,
    last_stamp_ns: u64,
    failures: Failures,
}

/// What a phase came to.
#[derive(Debug, Default)]
pub(crate) struct PhaseFigures {
    /// Every metric that exists, in the order of the file.
    pub(crate) metrics: Vec<(String, &'static Metric, Figures)>,
    pub(crate) errors: Vec<ErrorCount>,
}

impl PhaseTally {
    pub(crate) fn new(skip_overflow: bool) -> Self {
        Self {
            skip_overflow,
            values: vec![Vec::new(); RECORD.len()],
            ..Self::default()
        }
    }

    pub(crate) fn last_stamp_ns(&self) -> u64 {
        self.last_stamp_ns
    }

    /// Nothing was answered, nor failed.
    pub(crate) fn is_empty(&self) -> bool {
        self.valid + self.failed + self.overflows == 0
    }

    pub(crate) fn push(&mut self, seen: &Observed<'_>) {
        let record = seen.record;
        self.last_stamp_ns = self.last_stamp_ns.max(timeline::last_stamp_ns(&record.stamps));
        match record.outcome {
            Outcome::Cancelled => return,
            Outcome::Ok => self.push_valid(seen),
            Outcome::Overflow => {
                self.overflows += 1;
                if self.skip_overflow {
                    return;
                }
                self.push_failed(seen);
            }
            Outcome::Failed => self.push_failed(seen),
        }
        let due_ns = record.stamps.due_ns as f64;
        let since_due = |at_ns: u64| (at_ns as f64 - due_ns).max(0.0) * MS_PER_NS;
        self.credit_to_start.push(since_due(record.stamps.start_ns));
        self.effective_latency.push(since_due(seen.end_ns()));
        self.spans.push(seen, record.outcome == Outcome::Ok);
    }

    fn push_valid(&mut self, seen: &Observed<'_>) {
        let record = seen.record;
        self.valid += 1;
        for (each, values) in RECORD.iter().zip(&mut self.values) {
            values.extend((each.value)(seen).map(Quantity::value));
        }
        self.mismatches += u64::from(seen.is_mismatch());
        let total = record.theoretical_total_blocks;
        self.hit_blocks = self
            .hit_blocks
            .saturating_add(record.theoretical_hit_blocks.min(total));
        self.total_blocks = self.total_blocks.saturating_add(total);
        if let Some(end_ns) = record.stamps.last_content_ns {
            let start = record.stamps.start_ns as f64;
            let (first, last) = self.extent.unwrap_or((start, start));
            self.extent = Some((first.min(start), last.max(end_ns as f64)));
        }
    }

    fn push_failed(&mut self, seen: &Observed<'_>) {
        self.failed += 1;
        self.error_isl.extend(seen.isl().map(|tokens| tokens as f64));
        self.failures.push(ErrorDetails::of(seen.record));
    }

    /// The metrics over `window`, from the phase's start to the end of its last request, grace period included.
    pub(crate) fn finish(self, window: (u64, u64)) -> PhaseFigures {
        let mut metrics = Vec::new();
        let mut put = |metric: &'static Metric, figures: Option<Figures>| {
            metrics.extend(figures.map(|figures| (metric.tag.to_owned(), metric, figures)));
        };
        for (metric, value) in self.run_values(window) {
            put(metric, Some(self.run_figures(metric, value)));
        }
        for (metric, figures) in self.spans.figures(window) {
            put(metric, Some(figures));
        }
        put(
            &INTER_CHUNK_LATENCY,
            self.spans.into_gaps().figures(INTER_CHUNK_LATENCY.unit),
        );
        put(&ERROR_ISL, Figures::of(ERROR_ISL.unit, self.error_isl));
        let dispatch = [self.credit_to_start, self.effective_latency];
        for (metric, values) in DISPATCH.iter().zip(dispatch) {
            put(metric, Figures::of(metric.unit, values));
        }
        let mut twins = Vec::new();
        for (each, values) in RECORD.iter().zip(self.values) {
            let metric = &each.metric;
            if each.adjusted && self.failed > 0 {
                let figures = Figures::with_failures(metric.unit, values.clone(), self.failed);
                twins.extend(figures.map(|figures| (format!("adj_{}", metric.tag), metric, figures)));
            }
            // Per record it is a metric, over the run a counter.
            if metric.tag != "good_request_count" {
                put(metric, Figures::of(metric.unit, values));
            } else if !values.is_empty() {
                put(metric, Some(Figures::scalar(metric.unit, values.iter().sum())));
            }
        }
        metrics.extend(twins);
        PhaseFigures {
            metrics,
            errors: self.failures.summary(),
        }
    }

    fn run_figures(&self, metric: &'static Metric, value: f64) -> Figures {
        let scalar = Figures::scalar(metric.unit, value);
        if metric.tag == "theoretical_prefix_cache_hit" {
            return Figures {
                count: Some(self.total_blocks),
                sum: Some(Quantity::Whole(self.hit_blocks)),
                ..scalar
            };
        }
        scalar
    }

    /// Sum over the requests that have the metric; `None` when none has.
    fn total(&self, tag: &str) -> Option<f64> {
        let index = RECORD.iter().position(|each| each.metric.tag == tag)?;
        let values = &self.values[index];
        (!values.is_empty()).then(|| values.iter().sum())
    }

    /// The scalars that exist, in the order of their table.
    fn run_values(&self, window: (u64, u64)) -> Vec<(&'static Metric, f64)> {
        let seconds = window.1.saturating_sub(window.0) as f64 * 1e-9;
        let per_second = |value: Option<f64>| value.filter(|_| seconds > 0.0).map(|value| value / seconds);
        let valid = self.valid as f64;
        let failed = self.failed as f64;
        let positive = |value: u64| (value > 0).then_some(value as f64);
        let both = self.valid > 0 && self.failed > 0;
        let (isl, osl) = (
            self.total("input_sequence_length"),
            self.total("output_sequence_length"),
        );
        let tokens = isl.zip(osl).map(|(isl, osl)| isl + osl);
        let good = self.total("good_request_count");
        let (prompt, read) = (
            self.total("usage_prompt_tokens").filter(|tokens| *tokens > 0.0),
            self.total("usage_prompt_cache_read_tokens"),
        );
        let found = [
            ("request_throughput", per_second(Some(valid))),
            ("request_count", Some(valid)),
            ("output_token_throughput", per_second(osl)),
            ("input_token_throughput", per_second(isl)),
            ("total_token_throughput", per_second(tokens)),
            ("goodput", per_second(good)),
            ("good_request_fraction", good.map(|good| good / (valid + failed))),
            ("error_request_count", positive(self.failed)),
            ("completed_request_count", both.then_some(valid + failed)),
            (
                "request_error_rate",
                both.then(|| 100.0 * failed / (valid + failed)),
            ),
            (
                "total_error_isl",
                (!self.error_isl.is_empty()).then(|| self.error_isl.iter().sum()),
            ),
            ("context_overflow_count", positive(self.overflows)),
            (
                "benchmark_duration",
                self.extent.map(|(first, last)| (last - first) * 1e-9),
            ),
            ("total_isl", isl),
            ("total_osl", osl),
            ("total_output_tokens", self.total("output_token_count")),
            ("total_reasoning_tokens", self.total("reasoning_token_count")),
            ("osl_mismatch_count", osl.map(|_| self.mismatches as f64)),
            ("total_usage_prompt_tokens", self.total("usage_prompt_tokens")),
            (
                "total_usage_completion_tokens",
                self.total("usage_completion_tokens"),
            ),
            ("total_usage_total_tokens", self.total("usage_total_tokens")),
            ("total_usage_prompt_cache_read_tokens", read),
            (
                "total_usage_reasoning_tokens",
                self.total("usage_reasoning_tokens"),
            ),
            (
                "overall_usage_prompt_cache_read_pct",
                prompt.zip(read).map(|(prompt, read)| 100.0 * read / prompt),
            ),
            (
                "theoretical_prefix_cache_hit",
                positive(self.total_blocks).map(|total| 100.0 * self.hit_blocks as f64 / total),
            ),
            (
                SKIPPED_OVERFLOWS.tag,
                positive(self.overflows).filter(|_| self.skip_overflow),
            ),
        ];
        let there = found.into_iter().filter_map(|(tag, value)| Some((tag, value?)));
        there.map(|(tag, value)| (named(RUN, tag), value)).collect()
    }
}
