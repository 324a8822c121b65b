//! Pending wake-ups, in order of time and then of arming.

use crate::Seconds;
use std::collections::BTreeMap;

/// Names a timer of one set; in order of arming.
pub(crate) type TimerId = u64;

/// When a timer is due, and which of two due at once was armed first.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Key {
    at: Seconds,
    id: TimerId,
}

impl Eq for Key {}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.total_cmp(&other.at).then(self.id.cmp(&other.id))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// What moving timers together came to.
#[derive(Default)]
pub(crate) struct Shift {
    /// Seconds removed.
    pub(crate) by: Seconds,
    /// Each timer that moved, under its new name, and when it is due now; in order of arming.
    pub(crate) moved: Vec<Moved>,
}

/// A timer that moved: moving is disarming and arming again.
pub(crate) struct Moved {
    pub(crate) was: TimerId,
    pub(crate) id: TimerId,
    pub(crate) at: Seconds,
}

/// A set of timers that can be moved together.
pub(crate) struct Timers<T> {
    pending: BTreeMap<Key, T>,
    armed: TimerId,
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
    pub(crate) fn arm(&mut self, at: Seconds, what: T) -> TimerId {
        let id = self.armed;
        self.pending.insert(Key { at, id }, what);
        self.armed += 1;
        id
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
            id: TimerId::MAX,
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

    /// Takes one, with the instant at which it was due.
    pub(crate) fn take(&mut self, id: TimerId) -> Option<(Seconds, T)> {
        let key = self.pending.keys().find(|key| key.id == id).copied()?;
        self.pending.remove(&key).map(|what| (key.at, what))
    }

    /// Moves the timers that `is_one` names earlier by what makes the first of them due `budget` after `now`; their spacing
    /// stays, and so do all others. Nothing moves when the first is due by then anyway.
    pub(crate) fn pull_in(&mut self, now: Seconds, budget: Seconds, is_one: impl Fn(&T) -> bool) -> Shift {
        let mut ones = self.pending.iter().filter(|(_, what)| is_one(what));
        let Some(earliest) = ones.next().map(|(key, _)| key.at) else {
            return Shift::default();
        };
        let by = earliest - now - budget;
        if by <= 0.0 {
            return Shift::default();
        }
        let pending = std::mem::take(&mut self.pending);
        let (mut taken, rest): (Vec<_>, Vec<_>) = pending.into_iter().partition(|(_, what)| is_one(what));
        self.pending = rest.into_iter().collect();
        taken.sort_by_key(|(key, _)| key.id);
        let again = |(key, what): (Key, T)| {
            let at = now.max(key.at - by);
            let was = key.id;
            let id = self.arm(at, what);
            Moved { was, id, at }
        };
        let moved = taken.into_iter().map(again).collect();
        Shift { by, moved }
    }

    /// Drops all timers and gives what they would have done.
    pub(crate) fn take_all(&mut self) -> Vec<(TimerId, T)> {
        let pending = std::mem::take(&mut self.pending);
        pending.into_iter().map(|(key, what)| (key.id, what)).collect()
    }

    /// Whether one of them is what `is_one` names.
    pub(crate) fn any(&self, is_one: impl Fn(&T) -> bool) -> bool {
        self.pending.values().any(is_one)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }
}
