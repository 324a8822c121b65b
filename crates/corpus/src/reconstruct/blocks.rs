//! Hash ids as small numbers.

use std::collections::HashMap;

use tree::BlockIndex;

/// Ids below this are looked up in a table; real ones count from 1. Bounds the table at 16 MB.
const TABLE_IDS_MAX: usize = 4 << 20;

const ABSENT: u32 = u32::MAX;

/// Numbers every distinct hash id in order of first use.
#[derive(Default)]
pub(super) struct BlockTable {
    ids: Vec<i64>,
    small: Vec<u32>,
    large: HashMap<i64, u32>,
}

impl BlockTable {
    /// The number of `id`, if it was used before.
    pub(super) fn get(&self, id: i64) -> Option<BlockIndex> {
        let index = match table_place(id) {
            Some(place) => self.small.get(place).copied().filter(|index| *index != ABSENT),
            None => self.large.get(&id).copied(),
        };
        index.map(BlockIndex)
    }

    /// The number of `id`, a new one if need be.
    pub(super) fn intern(&mut self, id: i64) -> BlockIndex {
        if let Some(index) = self.get(id) {
            return index;
        }
        let index = u32::try_from(self.ids.len()).expect("a row below 512 MB has fewer than 2^32 ids");
        self.ids.push(id);
        match table_place(id) {
            Some(place) => {
                if self.small.len() <= place {
                    let room = (place + 1).max(self.small.len() * 2).min(TABLE_IDS_MAX);
                    self.small.resize(room, ABSENT);
                }
                self.small[place] = index;
            }
            None => {
                self.large.insert(id, index);
            }
        }
        BlockIndex(index)
    }

    /// The ids by number.
    pub(super) fn into_ids(mut self) -> Vec<i64> {
        self.ids.shrink_to_fit();
        self.ids
    }
}

fn table_place(id: i64) -> Option<usize> {
    usize::try_from(id).ok().filter(|place| *place < TABLE_IDS_MAX)
}
