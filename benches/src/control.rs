//! What the machine does to anybody: a thread that only sleeps, and quantiles to tell how late it wakes.

use driver::clock::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the thread wakes.
const EVERY: Duration = Duration::from_millis(5);

/// A thread that does nothing but sleep to given instants.
pub(crate) struct Control {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<Vec<u64>>,
}

impl Control {
    pub(crate) fn start(clock: Clock) -> anyhow::Result<Self> {
        let ended = Arc::new(AtomicBool::new(false));
        let end = ended.clone();
        let thread = std::thread::Builder::new()
            .name("control".into())
            .spawn(move || {
                let _ = driver::clock::tighten_timer_slack();
                let mut late_ns = Vec::new();
                while !end.load(Relaxed) {
                    let due_ns = clock.now_ns() + EVERY.as_nanos() as u64;
                    std::thread::sleep(EVERY);
                    late_ns.push(clock.now_ns() - due_ns);
                }
                late_ns
            })?;
        Ok(Self { ended, thread })
    }

    /// How late each of its wake-ups was, in nanoseconds.
    pub(crate) fn end(self) -> Vec<u64> {
        self.ended.store(true, Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

/// The value with this share of the others below it.
pub(crate) fn quantile(values: &[u64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len().saturating_sub(1)) as f64 * share;
    sorted
        .get(rank.round() as usize)
        .map_or(f64::NAN, |value| *value as f64)
}
