//! Pending wake-ups, in order of time and then of arming.

use crate::Seconds;
use std::collections::BTreeMap;

/// When a timer is due, and which of two due at once was armed first.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Key {
    at: Seconds,
    armed: u64,
}

impl Eq for Key {}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.total_cmp(&other.at).then(self.armed.cmp(&other.armed))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// A set of timers that can be moved together.
pub(crate) struct Timers<T> {
    pending: BTreeMap<Key, T>,
    armed: u64,
}

impl<T> Default for Timers<T> {
    fn default() -> Self {
        Self {
            pending: BTreeMap::new(),
            armed: 0,
        }
    }
}

impl<T> Timers<T> {
    pub(crate) fn arm(&mut self, at: Seconds, what: T) {
        self.pending.insert(
            Key {
                at,
                armed: self.armed,
            },
            what,
        );
        self.armed += 1;
    }

    pub(crate) fn earliest(&self) -> Option<Seconds> {
        self.pending.first_key_value().map(|(key, _)| key.at)
    }

    pub(crate) fn latest(&self) -> Option<Seconds> {
        self.pending.last_key_value().map(|(key, _)| key.at)
    }

    /// Takes all that are due at `now`, with the instants at which they were due.
    pub(crate) fn take_due(&mut self, now: Seconds) -> Vec<(Seconds, T)> {
        let later = self.pending.split_off(&Key {
            at: now,
            armed: u64::MAX,
        });
        std::mem::replace(&mut self.pending, later)
            .into_iter()
            .map(|(key, what)| (key.at, what))
            .collect()
    }

    /// Takes the earliest, whether it is due or not, with the instant at which it is.
    pub(crate) fn take_first(&mut self) -> Option<(Seconds, T)> {
        self.pending.pop_first().map(|(key, what)| (key.at, what))
    }

    /// Moves all timers earlier by what makes the earliest due `budget` after `now`; their spacing stays.
    /// Gives the seconds removed, 0 when the earliest is due by then anyway.
    pub(crate) fn pull_in(&mut self, now: Seconds, budget: Seconds) -> Seconds {
        let Some(earliest) = self.earliest() else {
            return 0.0;
        };
        let shift = earliest - now - budget;
        if shift <= 0.0 {
            return 0.0;
        }
        self.pending = std::mem::take(&mut self.pending)
            .into_iter()
            .map(|(key, what)| {
                (
                    Key {
                        at: now.max(key.at - shift),
                        ..key
                    },
                    what,
                )
            })
            .collect();
        shift
    }

    /// As [`Self::pull_in`] for the timers that `is_one` names, which become due now; the others stay.
    pub(crate) fn pull_in_those(&mut self, now: Seconds, is_one: impl Fn(&T) -> bool) -> Seconds {
        let first = self
            .pending
            .iter()
            .find(|(_, what)| is_one(what))
            .map(|(key, _)| key.at);
        let shift = first.map_or(0.0, |first| first - now);
        if shift <= 0.0 {
            return 0.0;
        }
        let moved = |(key, what): (Key, T)| {
            let at = if is_one(&what) {
                now.max(key.at - shift)
            } else {
                key.at
            };
            (Key { at, ..key }, what)
        };
        self.pending = std::mem::take(&mut self.pending).into_iter().map(moved).collect();
        shift
    }

    /// Drops all timers and gives what they would have done.
    pub(crate) fn take_all(&mut self) -> Vec<T> {
        std::mem::take(&mut self.pending).into_values().collect()
    }

    /// Whether one of them is what `is_one` names.
    pub(crate) fn any(&self, is_one: impl Fn(&T) -> bool) -> bool {
        self.pending.values().any(is_one)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }
}
