//! The simulator's own reader of the operating system's clocks.
//!
//! It may not use the driver's clock: the two must be able to disagree, and a test compares them. Everything else in
//! this crate is told what time it is.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A monotonic clock that counts nanoseconds from one anchor, with the wall time of that anchor.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    anchor: Instant,
    wall_at_anchor: Duration,
}

impl Clock {
    /// A clock whose zero is now.
    #[expect(
        clippy::disallowed_methods,
        reason = "the simulated server has a clock of its own, as a real server on another machine has"
    )]
    pub fn start() -> Self {
        Self {
            anchor: Instant::now(),
            wall_at_anchor: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
        }
    }

    /// Nanoseconds since the anchor.
    pub fn now_ns(&self) -> u64 {
        // Wraps after 584 years.
        self.anchor.elapsed().as_nanos() as u64
    }

    /// The instant that is 0 ns here, by which a client in the same process can compare its stamps with ours.
    pub fn anchor(&self) -> Instant {
        self.anchor
    }

    /// Seconds since the Unix epoch: the anchor's wall time plus what passed since, so it never steps.
    pub fn wall_s(&self) -> f64 {
        (self.wall_at_anchor + Duration::from_nanos(self.now_ns())).as_secs_f64()
    }
}
