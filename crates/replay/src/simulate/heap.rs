//! The order in which answers due at one instant arrive.
//!
//! It is nobody's rule, yet it decides which lane takes which trace when several trees drain at once, and so it shows in
//! aiperf's logs. There it comes from the event loop's timers: a binary heap as Python's `heapq` keeps it, which is not
//! stable, and which holds some timers of the harness's own beside the answers. The same heap gives the same order.

use crate::Seconds;

/// Timers of the harness's own that lie in the heap all the time, far in the future. Found by comparing orders: with five,
/// 28 of the 29 instants of the cache-pressure log that have several answers come in its order, with any other number at
/// most 12.
const STANDING_TIMERS: usize = 5;

/// Things by the time at which they are due.
pub(super) struct Heap<T> {
    entries: Vec<(Seconds, Option<T>)>,
}

impl<T> Heap<T> {
    pub(super) fn new() -> Self {
        Self {
            entries: (0..STANDING_TIMERS).map(|_| (Seconds::INFINITY, None)).collect(),
        }
    }

    /// When the next one is due.
    pub(super) fn earliest(&self) -> Option<Seconds> {
        self.entries
            .first()
            .filter(|(_, what)| what.is_some())
            .map(|(at, _)| *at)
    }

    pub(super) fn push(&mut self, at: Seconds, what: T) {
        self.entries.push((at, Some(what)));
        self.rise(0, self.entries.len() - 1);
    }

    /// Takes all that are due at `at`, in their order.
    pub(super) fn take_due(&mut self, at: Seconds) -> Vec<T> {
        let mut due = Vec::new();
        while self.earliest().is_some_and(|earliest| earliest <= at) {
            due.extend(self.pop());
        }
        due
    }

    /// Takes all there are.
    pub(super) fn take_all(&mut self) -> Vec<T> {
        self.take_due(Seconds::MAX)
    }

    fn pop(&mut self) -> Option<T> {
        let last = self.entries.pop()?;
        if self.entries.is_empty() {
            return last.1;
        }
        let first = std::mem::replace(&mut self.entries[0], last);
        self.sink();
        first.1
    }

    /// Moves the entry at `place` up, past entries that are due later, no further than `top`.
    fn rise(&mut self, top: usize, mut place: usize) {
        while place > top {
            let parent = (place - 1) / 2;
            if self.entries[place].0 >= self.entries[parent].0 {
                return;
            }
            self.entries.swap(place, parent);
            place = parent;
        }
    }

    /// Moves the first entry down to a leaf along the earlier children, the right one of equals, and then up again.
    fn sink(&mut self) {
        let end = self.entries.len();
        let mut place = 0;
        let mut child = 1;
        while child < end {
            let right = child + 1;
            if right < end && self.entries[child].0 >= self.entries[right].0 {
                child = right;
            }
            self.entries.swap(place, child);
            place = child;
            child = 2 * place + 1;
        }
        self.rise(0, place);
    }
}

#[cfg(test)]
mod tests {
    use super::Heap;

    #[test]
    fn equals_come_in_heapq_s_order() {
        // Python: five entries of infinity, then four pushed for the same instant, popped one by one.
        let mut heap = Heap::new();
        for name in [4, 5, 6, 7] {
            heap.push(1.0, name);
        }
        heap.push(0.5, 3);
        assert_eq!(heap.take_due(0.5), [3]);
        assert_eq!(heap.take_due(1.0), PYTHON);
        assert_eq!(heap.earliest(), None);
    }

    const PYTHON: [i32; 4] = [5, 4, 6, 7];
}
