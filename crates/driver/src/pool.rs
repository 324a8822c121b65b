//! Connections of one server that wait for their next request.
//!
//! The last one put back is the first taken out, so that a run uses few and lets the others go. The lock is held for a
//! push or a pop, never between the first byte of a request and the last of its answer.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use crate::conn::Conn;

/// Most connections kept open without a request on them; the oldest makes room.
pub const IDLE_CONNECTIONS_MAX: usize = 4096;
/// Longest time that a connection is kept without a request on it (aiperf 0.12.0). Servers give up much earlier.
pub const IDLE_AGE_MAX: Duration = Duration::from_secs(300);

/// In the order in which they were put back.
#[derive(Default)]
pub(crate) struct Pool(Mutex<VecDeque<Idle>>);

struct Idle {
    conn: Conn,
    since_ns: u64,
}

impl Idle {
    fn is_fresh(&self, now_ns: u64) -> bool {
        u128::from(now_ns.saturating_sub(self.since_ns)) < IDLE_AGE_MAX.as_nanos()
    }
}

impl Pool {
    /// A kept connection that still stands.
    pub(crate) async fn take(&self, now_ns: u64) -> Option<Conn> {
        loop {
            let mut idle = self.pop()?;
            if idle.is_fresh(now_ns) && idle.conn.is_alive().await {
                return Some(idle.conn);
            }
        }
    }

    /// Keeps a connection that is ready for another request, and lets go of those that nobody took for too long.
    pub(crate) fn put(&self, conn: Conn, now_ns: u64) {
        let mut kept = self.lock();
        while kept
            .front()
            .is_some_and(|oldest| kept.len() >= IDLE_CONNECTIONS_MAX || !oldest.is_fresh(now_ns))
        {
            kept.pop_front();
        }
        kept.push_back(Idle {
            conn,
            since_ns: now_ns,
        });
    }

    fn pop(&self) -> Option<Idle> {
        self.lock().pop_back()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Idle>> {
        self.0.lock().expect("no code panics while it holds the pool")
    }
}
