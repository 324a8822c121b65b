//! Which request ids a file has used.

use std::collections::HashMap;

/// A set of ids, kept as words of 64 neighbours: about half a byte a row where ids run on, as they do in a trace; up to
/// forty bytes a row where they are scattered all over 64 bits.
#[derive(Clone, Debug, Default)]
pub(super) struct IdSet {
    words: HashMap<u64, u64>,
}

impl IdSet {
    /// False when it was there already.
    pub(super) fn insert(&mut self, id: u64) -> bool {
        let word = self.words.entry(id / 64).or_default();
        let bit = 1 << (id % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }
}
