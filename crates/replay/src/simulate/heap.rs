//! What is due when, in the order in which Python's event loop has it.
//!
//! Which of two things at one instant comes first is nobody's rule, yet it decides which lane takes which trace when several
//! trees drain at once, and so it shows in aiperf's logs. There it comes from the event loop's timers: a binary heap as
//! Python's `heapq` keeps it, which is not stable. What is dropped stays in the heap until it comes to the top, or until
//! there is too much of it.

use crate::Seconds;
use std::collections::HashMap;
use std::hash::Hash;

/// A heap larger than this is cleared of what was dropped once that is more than half of it.
const MOST_KEPT: usize = 100;

struct Entry<K> {
    at: Seconds,
    key: K,
    /// Tells the entry from others that were set for the same key.
    set: u64,
}

/// Instants by key; each key has one at most.
pub(super) struct Heap<K> {
    entries: Vec<Entry<K>>,
    live: HashMap<K, Live>,
    sets: u64,
    /// How many were dropped, as the event loop counts: one that came to its time all the same is never taken off.
    dropped: usize,
}

/// What is set for a key.
struct Live {
    set: u64,
    is_in_heap: bool,
}

impl<K: Copy + Eq + Hash> Heap<K> {
    pub(super) fn new() -> Self {
        Self {
            entries: Vec::new(),
            live: HashMap::new(),
            sets: 0,
            dropped: 0,
        }
    }

    /// Sets the instant of `key`; what was set for it before is dropped.
    pub(super) fn set(&mut self, key: K, at: Seconds) {
        self.drop(key);
        self.sets += 1;
        let set = self.sets;
        let is_in_heap = true;
        self.live.insert(key, Live { set, is_in_heap });
        self.entries.push(Entry { at, key, set });
        self.rise(0, self.entries.len() - 1);
    }

    pub(super) fn drop(&mut self, key: K) {
        let was = self.live.remove(&key);
        self.dropped += usize::from(was.is_some_and(|live| live.is_in_heap));
    }

    /// How many keys have an instant.
    pub(super) fn len(&self) -> usize {
        self.live.len()
    }

    /// Clears away what was dropped, as far as the event loop does that before it waits. Gives the next instant.
    pub(super) fn sweep(&mut self) -> Option<Seconds> {
        if self.entries.len() > MOST_KEPT && 2 * self.dropped > self.entries.len() {
            let live = &self.live;
            self.entries
                .retain(|entry| live.get(&entry.key).is_some_and(|live| live.set == entry.set));
            for place in (0..self.entries.len() / 2).rev() {
                self.sink(place);
            }
            self.dropped = 0;
        } else {
            while self
                .entries
                .first()
                .is_some_and(|entry| !self.is_live(entry.key, entry.set))
            {
                self.pop();
                self.dropped = self.dropped.saturating_sub(1);
            }
        }
        self.entries.first().map(|entry| entry.at)
    }

    /// Takes what is due before `end`, in the heap's order. It counts as live until [`Self::come`].
    pub(super) fn take_due(&mut self, end: Seconds) -> Vec<(K, u64)> {
        let mut due = Vec::new();
        while self.entries.first().is_some_and(|entry| entry.at < end) {
            let Some(Entry { key, set, .. }) = self.pop() else {
                break;
            };
            if let Some(live) = self.live.get_mut(&key).filter(|live| live.set == set) {
                live.is_in_heap = false;
            }
            due.push((key, set));
        }
        due
    }

    /// Whether what was taken still holds; it does not any more after this.
    pub(super) fn come(&mut self, key: K, set: u64) -> bool {
        let holds = self.is_live(key, set);
        if holds {
            self.live.remove(&key);
        }
        holds
    }

    fn is_live(&self, key: K, set: u64) -> bool {
        self.live.get(&key).is_some_and(|live| live.set == set)
    }

    fn pop(&mut self) -> Option<Entry<K>> {
        let last = self.entries.pop()?;
        if self.entries.is_empty() {
            return Some(last);
        }
        let first = std::mem::replace(&mut self.entries[0], last);
        self.sink(0);
        Some(first)
    }

    /// Moves the entry at `place` up, past entries that are due later, no further than `top`.
    fn rise(&mut self, top: usize, mut place: usize) {
        while place > top {
            let parent = (place - 1) / 2;
            if self.entries[place].at >= self.entries[parent].at {
                return;
            }
            self.entries.swap(place, parent);
            place = parent;
        }
    }

    /// Moves the entry at `top` down to a leaf along the earlier children, the right one of equals, and then up again.
    fn sink(&mut self, top: usize) {
        let end = self.entries.len();
        let mut place = top;
        let mut child = 2 * place + 1;
        while child < end {
            let right = child + 1;
            if right < end && self.entries[child].at >= self.entries[right].at {
                child = right;
            }
            self.entries.swap(place, child);
            place = child;
            child = 2 * place + 1;
        }
        self.rise(top, place);
    }
}

#[cfg(test)]
mod tests {
    use super::Heap;

    fn due(heap: &mut Heap<i32>, end: f64) -> Vec<i32> {
        let taken = heap.take_due(end);
        taken
            .into_iter()
            .filter(|(key, set)| heap.come(*key, *set))
            .map(|(key, _)| key)
            .collect()
    }

    #[test]
    fn equals_come_in_heapq_s_order() {
        // Python: five entries far away, four pushed for the same instant and one before it, popped one by one.
        let mut heap = Heap::new();
        for name in [11, 12, 13, 14, 15] {
            heap.set(name, 9.0);
        }
        for name in [4, 5, 6, 7] {
            heap.set(name, 1.0);
        }
        heap.set(3, 0.5);
        assert_eq!(due(&mut heap, 0.6), [3]);
        assert_eq!(due(&mut heap, 1.1), [5, 4, 6, 7]);
        assert_eq!((heap.sweep(), heap.len()), (Some(9.0), 5));
    }

    #[test]
    fn what_is_dropped_or_set_anew_does_not_come() {
        let mut heap = Heap::new();
        heap.set(1, 1.0);
        heap.set(2, 2.0);
        heap.set(3, 3.0);
        heap.set(2, 4.0);
        heap.drop(1);
        assert_eq!(heap.sweep(), Some(3.0));
        assert_eq!(due(&mut heap, 5.0), [3, 2]);
        assert_eq!(heap.sweep(), None);
    }

    #[test]
    fn a_large_heap_is_made_anew_once_most_of_it_was_dropped() {
        // Python: 120 entries for three instants, all but every eighth cancelled, cleared and heapified, popped one by one.
        let mut heap = Heap::new();
        for name in 0..120 {
            heap.set(name, f64::from(name % 3 + 1));
        }
        for name in (0..120).filter(|name| name % 8 != 0) {
            heap.drop(name);
        }
        assert_eq!(heap.sweep(), Some(1.0));
        assert_eq!(due(&mut heap, 4.0), MADE_ANEW);
    }

    const MADE_ANEW: [i32; 15] = [96, 48, 0, 72, 24, 112, 64, 88, 40, 16, 56, 80, 8, 104, 32];
}
