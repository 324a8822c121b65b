//! Ids of another format as ids of a sidecar: dense, in order of first appearance.

use std::collections::HashMap;

/// Gives each recorded id a number, and blocks without one a number of their own.
#[derive(Clone, Debug, Default)]
pub struct Renumbered {
    known: HashMap<i64, u64>,
    next: u64,
}

impl Renumbered {
    /// The ids of a prompt of `blocks` blocks. Recorded ids beyond it are not looked at.
    pub fn of(&mut self, recorded: &[i64], blocks: u64) -> Vec<u64> {
        let Self { known, next } = self;
        let mut fresh = || {
            let id = *next;
            *next += 1;
            id
        };
        (0..blocks as usize)
            .map(|index| match recorded.get(index) {
                Some(id) => *known.entry(*id).or_insert_with(&mut fresh),
                None => fresh(),
            })
            .collect()
    }

    /// From here on recorded ids mean other blocks than before, as those of another Weka trace do.
    pub fn forget(&mut self) {
        self.known.clear();
    }
}
