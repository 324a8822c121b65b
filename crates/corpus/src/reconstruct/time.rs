//! A conversation's recorded times: start, gap to the turn before, duration (`aiperf-corpus` §4.2).
//!
//! The order of operations on doubles is aiperf 0.12.0's, so that every bit of a result is.

use super::DelaySource;
use super::placed::Placed;

/// Maps recorded seconds to those that are replayed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Clock {
    /// Idle spans that are cut short, in order.
    gaps: Vec<Gap>,
}

/// A pause between two neighbouring starts that is longer than the cap.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Gap {
    start: f64,
    end: f64,
    /// What is left of it.
    cap: f64,
    /// Seconds that this and all earlier gaps lose.
    removed: f64,
}

impl Clock {
    /// No pause between two of `starts` lasts longer than `cap` seconds.
    pub(super) fn capped(mut starts: Vec<f64>, cap: f64) -> Self {
        starts.sort_by(f64::total_cmp);
        let mut removed = 0.0;
        let mut gaps = Vec::new();
        for pair in starts.windows(2) {
            let (start, end) = (pair[0], pair[1]);
            if end - start > cap {
                removed += end - start - cap;
                gaps.push(Gap {
                    start,
                    end,
                    cap,
                    removed,
                });
            }
        }
        Self { gaps }
    }

    /// True when no time is mapped to another.
    pub(super) fn is_recorded(&self) -> bool {
        self.gaps.is_empty()
    }

    /// The replayed second of a recorded one. Inside a gap time runs until the cap and then stands still.
    pub(super) fn map(&self, t: f64) -> f64 {
        let begun = self.gaps.partition_point(|gap| gap.start < t);
        let Some((last, earlier)) = self.gaps[..begun].split_last() else {
            return t;
        };
        if t >= last.end {
            return t - last.removed;
        }
        let before = earlier.last().map_or(0.0, |gap| gap.removed);
        t.min(last.start + last.cap) - before
    }
}

/// Recorded times of one turn, in ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Timing {
    pub(super) timestamp: f64,
    pub(super) delay: Option<f64>,
    pub(super) api_time: Option<f64>,
}

/// The times of a conversation's turns.
pub(super) fn timings(
    turns: &[Placed<'_>],
    clock: &Clock,
    source: DelaySource,
    is_root: bool,
) -> Vec<Timing> {
    let mut earlier: Option<&Placed<'_>> = None;
    let times = turns.iter().map(|turn| {
        let timing = Timing {
            timestamp: clock.map(turn.t) * 1000.0,
            delay: earlier.and_then(|earlier| delay(earlier, turn, clock, source, is_root)),
            api_time: finite(turn.request.api_time).map(|seconds| seconds.max(0.0) * 1000.0),
        };
        earlier = Some(turn);
        timing
    });
    times.collect()
}

fn delay(
    earlier: &Placed<'_>,
    turn: &Placed<'_>,
    clock: &Clock,
    source: DelaySource,
    is_root: bool,
) -> Option<f64> {
    if source == DelaySource::ThinkTime
        && clock.is_recorded()
        && let Some(think_time) = turn.request.think_time
    {
        let stated = think_time * 1000.0;
        let floored = if is_root { stated.max(0.0) } else { stated };
        return finite(Some(floored));
    }
    let between = clock.map(turn.t) * 1000.0 - clock.map(earlier.t) * 1000.0;
    let api_time = finite(earlier.request.api_time).unwrap_or(0.0);
    finite(Some((between - api_time * 1000.0).max(0.0)))
}

fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::Clock;

    #[test]
    fn a_capped_clock() {
        let clock = Clock::capped(vec![30.0, 0.0, 2.0, 100.0], 5.0);
        for (recorded, replayed) in [
            (0.0, 0.0),
            (2.0, 2.0),
            (6.0, 6.0),
            (7.5, 7.0),
            (30.0, 7.0),
            (31.0, 8.0),
            (99.0, 12.0),
            (100.0, 12.0),
            (101.0, 13.0),
        ] {
            assert_eq!(
                clock.map(recorded).to_bits(),
                f64::to_bits(replayed),
                "{recorded}"
            );
        }
        assert!(Clock::capped(vec![0.0, 5.0], 5.0).is_recorded());
    }
}
