//! Step functions over time: what was true at once, and for how long (the sweep-line metrics of aiperf 0.12.0,
//! `metrics-and-exports` §1.8).
//!
//! A function is given by its jumps, in any order. Its figures are weighted by time; a percentile is the first value at which the
//! cumulative time reaches the share, not interpolated.

use crate::figures::Figures;

/// Sums of rates that cancel leave this much at most; no rate is so small.
const RESIDUE: f64 = 1e-6;

/// A function that is constant between its jumps; 0 before the first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps(Vec<(f64, f64)>);

impl Steps {
    /// The function that jumps by `.1` at `.0` (in ns), for each of `jumps`.
    pub(crate) fn of(mut jumps: Vec<(f64, f64)>) -> Self {
        jumps.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut level = 0.0;
        let mut kept = 0;
        for index in 0..jumps.len() {
            let (at, jump) = jumps[index];
            level += jump;
            if kept > 0 && jumps[kept - 1].0 >= at {
                kept -= 1;
            }
            jumps[kept] = (at, if level.abs() < RESIDUE { 0.0 } else { level });
            kept += 1;
        }
        jumps.truncate(kept);
        Self(jumps)
    }
}

/// Where two functions are looked at together: for each stretch of `window` on which both are constant, its length and their values.
pub(crate) fn together(a: &Steps, b: &Steps, window: (f64, f64), mut see: impl FnMut(f64, f64, f64)) {
    let (start, end) = window;
    let (mut i, mut j) = (0, 0);
    let (mut value_a, mut value_b) = (0.0, 0.0);
    let mut from = start;
    loop {
        while let Some((_, value)) = a.0.get(i).filter(|(at, _)| *at <= from) {
            value_a = *value;
            i += 1;
        }
        while let Some((_, value)) = b.0.get(j).filter(|(at, _)| *at <= from) {
            value_b = *value;
            j += 1;
        }
        let next = |steps: &Steps, index: usize| steps.0.get(index).map_or(end, |(at, _)| *at);
        let to = next(a, i).min(next(b, j)).min(end);
        if to <= from {
            break;
        }
        see(to - from, value_a, value_b);
        from = to;
    }
}

/// Values with the time for which they held.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weighted(Vec<(f64, f64)>);

impl Weighted {
    pub(crate) fn push(&mut self, value: f64, time: f64) {
        self.0.push((value, time));
    }

    /// `avg`, `min`, `max`, `p50` to `p99` and `std`; `None` when no time passed.
    pub(crate) fn figures(mut self, unit: &'static str) -> Option<Figures> {
        let total: f64 = self.0.iter().map(|(_, time)| time).sum();
        if total <= 0.0 {
            return None;
        }
        self.0.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mean = self.0.iter().map(|(value, time)| value * time).sum::<f64>() / total;
        let variance = self
            .0
            .iter()
            .map(|(value, time)| (value - mean).powi(2) * time)
            .sum::<f64>()
            / total;
        let [p50, p90, p95, p99] = self.quantiles([0.50, 0.90, 0.95, 0.99], total);
        Some(Figures {
            unit,
            avg: Some(mean),
            p50,
            p90,
            p95,
            p99,
            min: self.0.first().map(|(value, _)| *value),
            max: self.0.last().map(|(value, _)| *value),
            std: Some(variance.sqrt()),
            ..Figures::default()
        })
    }

    /// The values are sorted, and the shares too.
    fn quantiles<const N: usize>(&self, shares: [f64; N], total: f64) -> [Option<f64>; N] {
        let mut index = 0;
        let mut time = self.0.first().map_or(0.0, |(_, time)| *time);
        shares.map(|share| {
            while time < share * total && index + 1 < self.0.len() {
                index += 1;
                time += self.0[index].1;
            }
            self.0.get(index).map(|(value, _)| *value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(jumps: &[(f64, f64)], window: (f64, f64), stretches: &[(f64, f64)]) {
        let mut seen = Vec::new();
        together(
            &Steps::of(jumps.to_vec()),
            &Steps::default(),
            window,
            |time, value, _| seen.push((time, value)),
        );
        assert_eq!(seen, stretches);
    }

    #[test]
    fn stretches_of_a_window() {
        let two = [(2.0, 1.0), (6.0, -1.0), (4.0, 1.0), (6.0, -1.0)];
        check(
            &two,
            (0.0, 8.0),
            &[(2.0, 0.0), (2.0, 1.0), (2.0, 2.0), (2.0, 0.0)],
        );
        check(&two, (3.0, 5.0), &[(1.0, 1.0), (1.0, 2.0)]);
        check(&two, (5.0, 5.0), &[]);
        check(&[], (0.0, 1.0), &[(1.0, 0.0)]);
    }

    #[test]
    fn figures_are_weighted_by_time() {
        let mut weighted = Weighted::default();
        weighted.push(10.0, 1.0);
        weighted.push(0.0, 3.0);
        let figures = weighted.figures("requests").unwrap();
        assert_eq!(figures.avg, Some(2.5));
        assert_eq!((figures.p50, figures.p90), (Some(0.0), Some(10.0)));
        assert_eq!((figures.min, figures.max), (Some(0.0), Some(10.0)));
        assert_eq!(figures.std, Some((0.75_f64 * 6.25 + 0.25 * 56.25).sqrt()));
    }
}
