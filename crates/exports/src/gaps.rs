//! The gaps between content chunks of all requests, pooled; kept one by one as long as that is reasonable.

use record::stats::gaps::Gaps;
use record::timeline::Gap;

use crate::figures::{Figures, Quantity};

/// Gaps that are kept one by one: 8 bytes each, and four times that while step functions are made of them. Beyond, percentiles come from
/// a histogram, right to three digits, without p1 and p5; mean, deviation, extremes and count stay exact.
pub(crate) const GAPS_MAX: usize = 16_000_000;

/// Gaps while they are collected, in ns.
#[derive(Clone, Debug)]
pub(crate) struct GapSample {
    max: usize,
    exact: Vec<u64>,
    coarse: Option<Gaps>,
}

impl Default for GapSample {
    fn default() -> Self {
        Self::keeping(GAPS_MAX)
    }
}

impl GapSample {
    fn keeping(max: usize) -> Self {
        Self {
            max,
            exact: Vec::new(),
            coarse: None,
        }
    }

    pub(crate) fn push(&mut self, ns: u64) {
        let coarse_gap = |ns| Gap { ns, same_read: false };
        if self.coarse.is_none() && self.exact.len() < self.max {
            self.exact.push(ns);
            return;
        }
        let kept = std::mem::take(&mut self.exact);
        let coarse = self.coarse.get_or_insert_with(|| Gaps::keeping(0));
        for ns in kept.into_iter().chain([ns]) {
            coarse.push(coarse_gap(ns));
        }
    }

    /// Every gap in the order in which they came; none when they are no longer kept.
    pub(crate) fn exact(&self) -> &[u64] {
        &self.exact
    }

    /// The figures in ms; `None` without a gap.
    pub(crate) fn figures(self, unit: &'static str) -> Option<Figures> {
        let Some(coarse) = self.coarse else {
            return Figures::of(unit, self.exact.iter().map(|ns| *ns as f64 * 1e-6).collect());
        };
        let found = coarse.pooled().distribution;
        Some(Figures {
            unit,
            avg: found.mean,
            p10: found.p10,
            p25: found.p25,
            p50: found.p50,
            p75: found.p75,
            p90: found.p90,
            p95: found.p95,
            p99: found.p99,
            min: found.min,
            max: found.max,
            std: found.std,
            count: Some(found.n),
            sum: found.mean.map(|mean| Quantity::Real(mean * found.n as f64)),
            ..Figures::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(max: usize) -> Figures {
        let mut sample = GapSample::keeping(max);
        (1..=1000).for_each(|ms| sample.push(ms * 1_000_000));
        sample.figures("ms").unwrap()
    }

    #[test]
    fn too_many_to_keep() {
        let (exact, coarse) = (figures(1000), figures(999));
        assert_eq!(
            (exact.count, exact.min, exact.max),
            (coarse.count, coarse.min, coarse.max)
        );
        for (a, b) in [
            (exact.avg, coarse.avg),
            (exact.std, coarse.std),
            (exact.p99, coarse.p99),
            (exact.p10, coarse.p10),
        ] {
            let (a, b) = (a.unwrap(), b.unwrap());
            assert!((a - b).abs() <= 1e-3 * a, "{a} {b}");
        }
        assert!(exact.p1.is_some() && coarse.p1.is_none());
    }
}
