//! How long a fetch waits and how often it tries.

use std::time::Duration;

/// Deadlines and counts of one fetch. Every wait has one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From opening a connection to its being ready, TLS included.
    pub connect: Duration,
    /// From sending a request to the head of its answer, for each redirect anew.
    pub first_byte: Duration,
    /// Between two reads of the content.
    pub idle: Duration,
    /// The span in which at least `pace_bytes` must come, so that a hub that drips does not hold a fetch for ever.
    pub pace_window: Duration,
    /// See `pace_window`.
    pub pace_bytes: u64,
    /// How many attempts in a row may fail before the fetch does.
    pub failures_max: u32,
    /// An attempt that came this much further than any before it ends a row of failures: a long download may break often.
    pub progress_bytes: u64,
    /// The pause after the first failure; it doubles with every further one, up to `pause_max`.
    pub pause: Duration,
    /// The longest pause, also where the hub asks for a longer one.
    pub pause_max: Duration,
    /// Content longer than this is refused.
    pub bytes_max: u64,
}

impl Limits {
    /// What the program uses.
    pub const DEFAULT: Self = Self {
        connect: Duration::from_secs(10),
        first_byte: Duration::from_secs(30),
        idle: Duration::from_secs(30),
        pace_window: Duration::from_secs(120),
        pace_bytes: 64 * 1024,
        failures_max: 5,
        progress_bytes: 1 << 20,
        pause: Duration::from_secs(1),
        pause_max: Duration::from_secs(30),
        bytes_max: 64 << 30,
    };

    /// The pause after `failures` attempts in a row have failed, the hub having asked for `asked`.
    pub(super) fn pause_after(&self, failures: u32, asked: Option<Duration>) -> Duration {
        let doubled = self.pause.saturating_mul(1 << failures.saturating_sub(1).min(16));
        doubled.max(asked.unwrap_or_default()).min(self.pause_max)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Redirects followed for one request.
pub(super) const REDIRECTS_MAX: usize = 5;

/// Characters of the hub's own words that an error repeats.
pub(super) const REASON_MAX: usize = 200;

/// How often content with a wrong digest whose beginning came from an earlier attempt is fetched anew from its start.
pub(super) const FRESH_STARTS_MAX: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_their_limit_and_heed_the_hub() {
        let limits = Limits::DEFAULT;
        let seconds = |failures, asked: Option<u64>| {
            limits
                .pause_after(failures, asked.map(Duration::from_secs))
                .as_secs()
        };
        assert_eq!([1, 2, 3, 6, 99].map(|n| seconds(n, None)), [1, 2, 4, 30, 30]);
        assert_eq!((seconds(1, Some(7)), seconds(1, Some(9000))), (7, 30));
    }
}
