//! What all connections share: the engine behind a lock, who waits for which sequence, and the one task that drives it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::alarm::Alarm;
use super::feed::Feed;
use crate::clock::Clock;
use crate::config::Config;
use crate::engine::{Emission, Engine, SequenceId, Work};
use crate::faults::Fault;
use crate::log::Log;
use crate::{metrics, mix};

pub(super) struct Shared {
    pub(super) config: Config,
    pub(super) clock: Clock,
    pub(super) log: Arc<Log>,
    pub(super) faults: Mutex<Vec<Fault>>,
    floor: Mutex<Floor>,
    /// Told when the idle engine gets work.
    work_came: Notify,
    n_asked: AtomicU64,
    n_ids: AtomicU64,
    started_s: f64,
}

struct Floor {
    engine: Engine,
    feeds: HashMap<SequenceId, (Arc<Feed>, usize)>,
}

impl Shared {
    pub(super) fn new(config: Config, clock: Clock) -> Self {
        let engine = Engine::new(config.engine, config.seed);
        Self {
            log: Arc::new(Log::new(config.log)),
            faults: Mutex::new(config.faults.clone()),
            config,
            clock,
            floor: Mutex::new(Floor {
                engine,
                feeds: HashMap::new(),
            }),
            work_came: Notify::new(),
            n_asked: AtomicU64::new(0),
            n_ids: AtomicU64::new(0),
            started_s: clock.wall_s(),
        }
    }

    /// Numbers the generating requests from 1.
    pub(super) fn next_nth(&self) -> u64 {
        self.n_asked.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A seeded id of 16 hexadecimal digits.
    pub(super) fn next_id(&self) -> String {
        let n = self.n_ids.fetch_add(1, Ordering::Relaxed);
        format!("{:016x}", mix::draw(self.config.seed, n))
    }

    /// Queues one piece of work for each choice.
    pub(super) fn submit(self: &Arc<Self>, works: Vec<Work>) -> Ticket {
        let feed = Arc::new(Feed::new(works.len()));
        let mut floor = self.lock();
        let now_ns = self.clock.now_ns();
        let mut sequences = Vec::with_capacity(works.len());
        for (choice, work) in works.into_iter().enumerate() {
            let id = floor.engine.submit(now_ns, work);
            floor.feeds.insert(id, (Arc::clone(&feed), choice));
            sequences.push(id);
        }
        drop(floor);
        self.work_came.notify_one();
        Ticket {
            feed,
            sequences,
            shared: Arc::clone(self),
        }
    }

    pub(super) fn load(&self) -> (usize, usize) {
        let floor = self.lock();
        (floor.engine.n_running(), floor.engine.n_waiting())
    }

    pub(super) fn metrics(&self) -> String {
        let floor = self.lock();
        metrics::page(
            &floor.engine,
            &self.config.engine,
            &self.config.model,
            self.started_s,
        )
    }

    fn lock(&self) -> MutexGuard<'_, Floor> {
        self.floor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request's sequences; dropping it before they have ended takes them out of the engine.
pub(super) struct Ticket {
    pub(super) feed: Arc<Feed>,
    sequences: Vec<SequenceId>,
    shared: Arc<Shared>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut floor = self.shared.lock();
        for id in &self.sequences {
            // Those that have ended are no longer listed.
            if floor.feeds.remove(id).is_some() {
                floor.engine.abort(*id);
            }
        }
    }
}

/// Drives the engine for ever: waits for the end of the step under way, hands out its tokens.
pub(super) async fn drive(shared: Arc<Shared>, alarm: Alarm) {
    let mut emissions = Vec::new();
    loop {
        let deadline = shared.lock().engine.deadline();
        match deadline {
            // Work that comes while a step is under way does not move the step's end.
            None => shared.work_came.notified().await,
            Some(at) if at > shared.clock.now_ns() => {
                let waited = alarm.until(at, &shared.clock).await;
                waited.expect("a timer of our own can be set and read");
            }
            // Behind its time: the connections get a chance all the same.
            Some(_) => tokio::task::yield_now().await,
        }
        let mut floor = shared.lock();
        floor.engine.advance(shared.clock.now_ns(), &mut emissions);
        for emission in emissions.drain(..) {
            floor.deliver(&emission);
        }
    }
}

impl Floor {
    fn deliver(&mut self, emission: &Emission) {
        let Some((feed, choice)) = self.feeds.get(&emission.sequence) else {
            return;
        };
        feed.push(*choice, emission);
        if emission.finish.is_some() {
            self.feeds.remove(&emission.sequence);
        }
    }
}
