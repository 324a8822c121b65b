//! Percentiles: linear interpolation at rank (n − 1) · p, as numpy, vLLM and aiperf 0.12.0 compute them, and the rule
//! for when a sample is large enough for one.

/// Values that a percentile needs on the far side of it. With fewer it is the extreme value, or a point on the way to it,
/// wearing a percentile's name: p99 over 128 requests is the second-worst one.
pub const TAIL_VALUES_MIN: f64 = 2.0;

/// The value at `p` (0 to 1) of `sorted`, whatever its size; `None` when it is empty.
pub fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let (low, share) = rank(last, p);
    let high = (low + 1).min(last);
    Some(sorted[low] + (sorted[high] - sorted[low]) * share)
}

/// [`quantile`] where the sample is large enough for it by [`values_needed`].
pub fn quantile_if_enough(sorted: &[f64], p: f64) -> Option<f64> {
    quantile(sorted, p).filter(|_| sorted.len() as u64 >= values_needed(p))
}

/// Values that a sample must have for its percentile `p`: n · (1 − p) ≥ [`TAIL_VALUES_MIN`], from the nearer end. p99 needs
/// 200, p95 needs 40, p90 needs 20, p75 needs 8. The median is no tail and needs one.
pub fn values_needed(p: f64) -> u64 {
    let tail = p.min(1.0 - p);
    if tail >= 0.5 {
        return 1;
    }
    // 0.01 has no exact double: without the small cut 200 values would not do for p99.
    (TAIL_VALUES_MIN / tail - 1e-6).ceil() as u64
}

/// The index at or below rank `last` · `p`, and how far the rank lies behind it.
pub(crate) fn rank(last: usize, p: f64) -> (usize, f64) {
    let rank = last as f64 * p.clamp(0.0, 1.0);
    let low = (rank.floor() as usize).min(last);
    (low, rank - low as f64)
}
