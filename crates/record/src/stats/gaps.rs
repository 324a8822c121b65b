//! ITL: the gaps between content chunks of all requests, pooled.
//!
//! A long run has hundreds of millions, so they are kept one by one only up to [`EXACT_GAPS_MAX`]. Above it they move into
//! a histogram: percentiles are then right to three significant digits ([`HISTOGRAM_ERROR`]), while count, mean, standard
//! deviation and extremes stay exact.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::quantile::{quantile_if_enough, rank, values_needed};
use super::sample::{Distribution, PERCENTILES};
use crate::timeline::Gap;

/// Gaps that are kept one by one: 32 MB.
pub const EXACT_GAPS_MAX: usize = 4_000_000;

/// Largest relative error of a percentile that comes from the histogram.
pub const HISTOGRAM_ERROR: f64 = 1e-3;

/// Gaps below this say more about buffering on the way than about token times.
pub const SHORT_GAP_NS: u64 = 1_000_000;

/// Longest gap that the histogram tells apart: one day.
const HISTOGRAM_MAX_NS: u64 = 86_400_000_000_000;

/// Gaps while they are collected.
#[derive(Clone, Debug)]
pub struct Gaps {
    exact: Vec<f64>,
    histogram: Option<Histogram<u64>>,
    exact_max: usize,
    n: u64,
    same_read: u64,
    short: u64,
    sum_ns: u128,
    squares: f64,
    min_ns: u64,
    max_ns: u64,
}

impl Default for Gaps {
    fn default() -> Self {
        Self::keeping(EXACT_GAPS_MAX)
    }
}

impl Gaps {
    /// Keeps up to `exact_max` gaps one by one.
    pub fn keeping(exact_max: usize) -> Self {
        Self {
            exact: Vec::new(),
            histogram: None,
            exact_max,
            n: 0,
            same_read: 0,
            short: 0,
            sum_ns: 0,
            squares: 0.0,
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }

    /// Takes a gap.
    pub fn push(&mut self, gap: Gap) {
        self.n += 1;
        self.same_read += u64::from(gap.same_read);
        self.short += u64::from(gap.ns < SHORT_GAP_NS);
        self.sum_ns += u128::from(gap.ns);
        self.squares += (gap.ns as f64).powi(2);
        self.min_ns = self.min_ns.min(gap.ns);
        self.max_ns = self.max_ns.max(gap.ns);
        match &mut self.histogram {
            Some(histogram) => histogram.saturating_record(gap.ns),
            None if self.exact.len() < self.exact_max => self.exact.push(gap.ns as f64),
            None => self.move_to_histogram(gap.ns),
        }
    }

    fn move_to_histogram(&mut self, next_ns: u64) {
        let mut histogram = Histogram::new_with_bounds(1, HISTOGRAM_MAX_NS, 3)
            .expect("the bounds are constants that the histogram takes");
        for gap_ns in std::mem::take(&mut self.exact) {
            histogram.saturating_record(gap_ns as u64);
        }
        histogram.saturating_record(next_ns);
        self.histogram = Some(histogram);
    }

    /// The pooled distribution in milliseconds, and what the pooling found.
    pub fn pooled(mut self) -> PooledGaps {
        let of_all = |count: u64| (self.n > 0).then(|| count as f64 / self.n as f64);
        let (burst_share, short_share) = (of_all(self.same_read), of_all(self.short));
        let mean_ns = (self.n > 0).then(|| self.sum_ns as f64 / self.n as f64);
        self.exact.sort_unstable_by(f64::total_cmp);
        let percentiles = PERCENTILES.map(|p| match &self.histogram {
            Some(histogram) => histogram_quantile(histogram, p),
            None => quantile_if_enough(&self.exact, p),
        });
        let in_ms = |ns: Option<f64>| ns.map(|ns| ns / 1e6);
        let extreme = |ns: u64| (self.n > 0).then_some(ns as f64);
        PooledGaps {
            distribution: Distribution {
                n: self.n,
                mean: in_ms(mean_ns),
                std: in_ms(mean_ns.map(|mean| self.deviation(mean))),
                min: in_ms(extreme(self.min_ns)),
                max: in_ms(extreme(self.max_ns)),
                ..Distribution::with_percentiles(percentiles.map(in_ms))
            },
            burst_share,
            short_share,
            percentile_error: self.histogram.map_or(0.0, |_| HISTOGRAM_ERROR),
        }
    }

    fn deviation(&self, mean_ns: f64) -> f64 {
        (self.squares / self.n as f64 - mean_ns * mean_ns).max(0.0).sqrt()
    }
}

/// Pooled ITL of a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PooledGaps {
    /// The gaps in milliseconds. Its `missing` counts requests whose chunk stamps were lost.
    #[serde(flatten)]
    pub distribution: Distribution,
    /// Share of gaps whose two chunks came in one socket read.
    pub burst_share: Option<f64>,
    /// Share of gaps under [`SHORT_GAP_NS`].
    pub short_share: Option<f64>,
    /// Largest relative error of the percentiles; 0 when every gap was kept.
    pub percentile_error: f64,
}

/// The interpolated percentile, of values known to [`HISTOGRAM_ERROR`].
fn histogram_quantile(histogram: &Histogram<u64>, p: f64) -> Option<f64> {
    let n = histogram.len();
    if n < values_needed(p) {
        return None;
    }
    let (low, share) = rank(usize::try_from(n).ok()? - 1, p);
    // The value of index i is the smallest at which i + 1 values are counted; the half keeps rounding from adding one.
    let at = |index: usize| {
        let value = histogram.value_at_quantile((index as f64 + 0.5) / n as f64);
        histogram.median_equivalent(value) as f64
    };
    let (value, next) = (at(low), at((low + 1).min(n as usize - 1)));
    Some(value + (next - value) * share)
}
