//! Several ways of doing one thing, measured in turn.
//!
//! The figure is CPU time of the calling thread, and of it the least over several rounds: what others do on the machine
//! can only add to it. The ways take turns within each round, so that a slow spell meets all of them.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Rounds of a contest.
const ROUNDS: usize = 7;

/// One way: its name, and a function that does it once and gives its cost in nanoseconds per unit.
pub(crate) type Way<'a> = (&'static str, Box<dyn FnMut() -> f64 + 'a>);

/// Nanoseconds that the calling thread has spent on a processor.
pub(crate) fn cpu_ns() -> f64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::ThreadCPUTime);
    tv_sec as f64 * 1e9 + tv_nsec as f64
}

/// CPU nanoseconds of `work`, and what it gave.
pub(crate) fn cost<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let before = cpu_ns();
    let made = std::hint::black_box(work());
    (cpu_ns() - before, made)
}

/// The least cost of each way.
pub(crate) fn least<const N: usize>(mut ways: [Way<'_>; N]) -> [f64; N] {
    let mut costs = [f64::INFINITY; N];
    for _ in 0..ROUNDS {
        for ((_, way), least) in ways.iter_mut().zip(&mut costs) {
            *least = way().min(*least);
        }
    }
    costs
}
