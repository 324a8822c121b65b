//! One number a request: its distribution, exact, with the requests that have no value counted beside it.

use serde::{Deserialize, Serialize};

use super::quantile::quantile_if_enough;

/// Percentiles of a [`Distribution`], as shares.
pub const PERCENTILES: [f64; 7] = [0.10, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99];

/// Values of one metric while they are collected; 8 bytes a request.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    values: Vec<f64>,
    missing: u64,
}

impl Sample {
    /// Takes a value, or counts that there is none. A value that is not finite counts as none.
    pub fn push(&mut self, value: Option<f64>) {
        match value.filter(|value| value.is_finite()) {
            Some(value) => self.values.push(value),
            None => self.missing += 1,
        }
    }

    /// Values so far.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// No value so far.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The values in ascending order.
    pub fn sorted(mut self) -> Vec<f64> {
        self.values.sort_unstable_by(f64::total_cmp);
        self.values
    }

    /// The distribution of the values, each divided by `unit`: 1e6 makes milliseconds of nanoseconds.
    pub fn distribution(self, unit: f64) -> Distribution {
        let missing = self.missing;
        let sorted = self.sorted();
        let n = sorted.len() as u64;
        let mean = mean(&sorted);
        let scaled = |value: Option<f64>| value.map(|value| value / unit);
        let percentiles = PERCENTILES.map(|p| scaled(quantile_if_enough(&sorted, p)));
        Distribution {
            n,
            missing,
            mean: scaled(mean),
            std: scaled(mean.map(|mean| deviation(&sorted, mean))),
            min: scaled(sorted.first().copied()),
            max: scaled(sorted.last().copied()),
            ..Distribution::with_percentiles(percentiles)
        }
    }
}

/// A distribution. `None` (`null` in files) stands for what the sample is too small for; never 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Values.
    pub n: u64,
    /// Requests that have no value, and are in no figure here.
    pub missing: u64,
    /// Mean.
    pub mean: Option<f64>,
    /// Population standard deviation.
    pub std: Option<f64>,
    /// Smallest value.
    pub min: Option<f64>,
    /// 10th percentile.
    pub p10: Option<f64>,
    /// 25th percentile.
    pub p25: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 75th percentile.
    pub p75: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
}

impl Distribution {
    /// Only the percentiles, in the order of [`PERCENTILES`].
    pub(crate) fn with_percentiles([p10, p25, p50, p75, p90, p95, p99]: [Option<f64>; 7]) -> Self {
        Self {
            p10,
            p25,
            p50,
            p75,
            p90,
            p95,
            p99,
            ..Self::default()
        }
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn deviation(values: &[f64], mean: f64) -> f64 {
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / values.len() as f64).sqrt()
}
