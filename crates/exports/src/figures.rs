//! The figures of one metric as aiperf 0.12.0 and vLLM compute them: percentiles by linear interpolation at rank (n − 1) · p whatever the
//! size of the sample, population standard deviation (`metrics-and-exports` §1.2).

use record::stats::quantile::quantile;
use serde::Serialize;

/// A number that is whole in the other tool's file, or is not.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Quantity {
    /// Tokens, requests, blocks.
    Whole(u64),
    /// Anything that is measured.
    Real(f64),
}

impl Quantity {
    /// The number.
    pub fn value(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Real(real) => real,
        }
    }
}

/// One metric object of `profile_export_aiperf.json`. What is absent is left out of the file; a metric with `avg` alone is a scalar.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Unit of every figure but `count`.
    pub unit: &'static str,
    /// Mean, or the value of a scalar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avg: Option<f64>,
    /// Percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p1: Option<f64>,
    /// Percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p5: Option<f64>,
    /// Percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p10: Option<f64>,
    /// Percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p25: Option<f64>,
    /// Percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50: Option<f64>,
    /// Percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p75: Option<f64>,
    /// Percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90: Option<f64>,
    /// Percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95: Option<f64>,
    /// Percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99: Option<f64>,
    /// Smallest value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Largest value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Population standard deviation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub std: Option<f64>,
    /// Values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Sum of the values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum: Option<Quantity>,
}

impl Figures {
    /// A metric of one number.
    pub fn scalar(unit: &'static str, value: f64) -> Self {
        Self {
            unit,
            avg: Some(value),
            ..Self::default()
        }
    }

    /// The figures of a sample; `None` when it is empty.
    pub fn of(unit: &'static str, mut values: Vec<f64>) -> Option<Self> {
        values.sort_unstable_by(f64::total_cmp);
        let (mean, std, sum) = moments(&values)?;
        let at = |p: f64| quantile(&values, p);
        Some(Self {
            unit,
            avg: Some(mean),
            min: values.first().copied(),
            max: values.last().copied(),
            std: Some(std),
            count: Some(values.len() as u64),
            sum: Some(Quantity::Real(sum)),
            ..Self::default().with_percentiles(at)
        })
    }

    /// The figures of a sample to which every one of `failures` requests adds an infinite value (`adj_*`, §1.8): percentiles by nearest
    /// rank, and whatever is infinite left out. `None` when nothing finite is left.
    pub fn with_failures(unit: &'static str, mut values: Vec<f64>, failures: u64) -> Option<Self> {
        values.sort_unstable_by(f64::total_cmp);
        let count = values.len() as u64 + failures;
        let at = |p: f64| {
            let rank = (count - 1) as f64 * p;
            values.get(rank.round_ties_even() as usize).copied()
        };
        let min = values.first().copied()?;
        Some(Self {
            unit,
            min: Some(min),
            count: Some(count),
            ..Self::default().with_percentiles(at)
        })
    }

    fn with_percentiles(self, at: impl Fn(f64) -> Option<f64>) -> Self {
        Self {
            p1: at(0.01),
            p5: at(0.05),
            p10: at(0.10),
            p25: at(0.25),
            p50: at(0.50),
            p75: at(0.75),
            p90: at(0.90),
            p95: at(0.95),
            p99: at(0.99),
            ..self
        }
    }

    /// In the order of the CSV's columns `p1` to `p99`.
    pub(crate) fn percentiles(&self) -> [Option<f64>; 9] {
        [
            self.p1, self.p5, self.p10, self.p25, self.p50, self.p75, self.p90, self.p95, self.p99,
        ]
    }
}

/// Mean, population standard deviation and sum; `None` for no values.
pub(crate) fn moments(values: &[f64]) -> Option<(f64, f64, f64)> {
    let n = values.len() as f64;
    let sum: f64 = values.iter().sum();
    let mean = sum / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (!values.is_empty()).then(|| (mean, (squares / n).sqrt(), sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_infinite() {
        // 0-based ranks of 4 + 4 values: p25 is rank 1.75, p50 rank 3.5 (ties go to the even one), p75 rank 5.25.
        let figures = Figures::with_failures("ms", vec![4.0, 3.0, 2.0, 1.0], 4).unwrap();
        assert_eq!(figures.p25, Some(3.0));
        assert_eq!(figures.p50, None);
        assert_eq!(figures.p75, None);
        assert_eq!(
            (figures.min, figures.max, figures.count),
            (Some(1.0), None, Some(8))
        );
        assert!(Figures::with_failures("ms", vec![], 3).is_none());
    }
}
