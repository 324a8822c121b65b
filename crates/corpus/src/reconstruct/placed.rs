//! A recorded request with its place in the row and its time on the trace's clock: what all of reconstruction handles.

use std::cmp::Ordering;

use crate::formats::weka::{Request, Subagent};

/// Slack in seconds within which two recorded times count as one (aiperf 0.12.0).
pub(super) const TIME_SLACK_S: f64 = 1e-6;

/// One request and where it comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed<'r> {
    /// Index in the row's `requests`; a subagent's entry for its requests.
    pub(super) outer: usize,
    /// Index in the subagent entry's `requests`.
    pub(super) inner: Option<usize>,
    /// Start in seconds on the trace's clock.
    pub(super) t: f64,
    /// As recorded.
    pub(super) request: &'r Request,
}

impl Placed<'_> {
    /// Start + duration, in seconds.
    pub(super) fn end(&self) -> f64 {
        self.t + duration(self.request.api_time)
    }

    /// Position in its own layer: what orders equal times.
    pub(super) fn index(&self) -> usize {
        self.inner.unwrap_or(self.outer)
    }

    /// By start, then by position.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        self.t.total_cmp(&other.t).then(self.index().cmp(&other.index()))
    }
}

/// A call's duration in seconds; absent, negative and not finite ones count as 0.
pub(super) fn duration(api_time: Option<f64>) -> f64 {
    api_time
        .filter(|seconds| seconds.is_finite())
        .map_or(0.0, |seconds| seconds.max(0.0))
}

/// True when the inner time `t` counts from the spawn, as old captures have it (`aiperf-corpus` §4.2). A time from the
/// spawn that lies beyond the spawn time cannot be told from one that counts from the trace's start.
pub(super) fn counts_from_spawn(entry: &Subagent, t: f64) -> bool {
    t + TIME_SLACK_S < entry.t
}

/// A subagent's requests on the trace's clock, in recorded order.
pub(super) fn place_inner(outer: usize, entry: &Subagent) -> Vec<Placed<'_>> {
    let placed = entry.requests.iter().enumerate().map(|(inner, request)| Placed {
        outer,
        inner: Some(inner),
        t: if counts_from_spawn(entry, request.t) {
            entry.t + request.t
        } else {
            request.t
        },
        request,
    });
    placed.collect()
}

/// Length of the common prefix of two id lists, compared in strides so that long equal parts go at memory speed.
pub(super) fn common_prefix(a: &[i64], b: &[i64]) -> usize {
    const STRIDE: usize = 64;
    let shorter = a.len().min(b.len());
    let mut equal = 0;
    while equal + STRIDE <= shorter && a[equal..equal + STRIDE] == b[equal..equal + STRIDE] {
        equal += STRIDE;
    }
    let rest = a[equal..shorter].iter().zip(&b[equal..shorter]);
    equal + rest.take_while(|(x, y)| x == y).count()
}

#[cfg(test)]
mod tests {
    use super::common_prefix;

    #[test]
    fn common_prefixes() {
        let long: Vec<i64> = (0..500).collect();
        for (length, expected) in [(0, 0), (1, 1), (64, 64), (65, 65), (500, 500)] {
            assert_eq!(common_prefix(&long, &long[..length]), expected);
        }
        for differing in [0, 1, 63, 64, 127, 128, 499] {
            let mut other = long.clone();
            other[differing] = -1;
            assert_eq!(common_prefix(&long, &other), differing);
        }
    }
}
