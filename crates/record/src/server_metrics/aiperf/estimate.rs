//! Percentiles of a histogram, from the counts of its buckets.
//!
//! The observations of a bucket are taken to lie evenly in it. aiperf 0.12.0 also uses the sums that it saw grow between
//! two scrapes, so its estimates differ by parts of a bucket where observations crowd at one end of it.

/// Estimates percentiles of a histogram.
#[derive(Debug)]
pub(super) struct Estimate {
    /// Lower bound, upper bound, count.
    buckets: Vec<(f64, f64, f64)>,
    n: f64,
}

impl Estimate {
    /// `cumulative` counts up to each bound, the lowest first. What lies behind the last finite bound is taken to lie at it.
    pub(super) fn new(cumulative: &[(f64, f64)]) -> Self {
        let (mut low, mut before) = (0.0_f64, 0.0);
        let mut buckets = Vec::new();
        for (bound, count) in cumulative {
            let high = if bound.is_finite() { *bound } else { low };
            if *count > before {
                buckets.push((low.min(high), high, count - before));
                before = *count;
            }
            low = high;
        }
        Self { buckets, n: before }
    }

    /// The value at `p`: linear between the two observations around rank (n − 1) · p, the i-th of a bucket's k lying at
    /// (i + ½) / k of its width.
    pub(super) fn at(&self, p: f64) -> f64 {
        let rank = (self.n - 1.0).max(0.0) * p;
        let (low, share) = (rank.floor(), rank.fract());
        let value = self.observation(low);
        if share == 0.0 {
            return value;
        }
        value + (self.observation(low + 1.0) - value) * share
    }

    fn observation(&self, rank: f64) -> f64 {
        let mut before = 0.0;
        for (low, high, count) in &self.buckets {
            if rank < before + count {
                return low + (high - low) * (rank - before + 0.5) / count;
            }
            before += count;
        }
        self.buckets.last().map_or(0.0, |(_, high, _)| *high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Buckets and estimates of aiperf 0.12.0's export of a run in which all observations were equal.
    #[test]
    fn observations_lie_evenly_in_their_bucket() {
        let estimate = Estimate::new(&[(0.01, 0.0), (0.05, 20.0), (0.1, 20.0), (f64::INFINITY, 20.0)]);
        let expected = [
            (0.01, 0.01138),
            (0.05, 0.0129),
            (0.10, 0.0148),
            (0.25, 0.0205),
            (0.50, 0.03),
            (0.75, 0.0395),
            (0.90, 0.0452),
            (0.95, 0.0471),
            (0.99, 0.04862),
        ];
        for (p, value) in expected {
            assert!((estimate.at(p) - value).abs() < 1e-12, "{p}: {}", estimate.at(p));
        }
        let beyond = Estimate::new(&[(1.0, 1.0), (f64::INFINITY, 2.0)]);
        assert!((beyond.at(1.0) - 1.0).abs() < 1e-12);
        assert!(Estimate::new(&[]).at(0.5).abs() < 1e-12);
    }
}
