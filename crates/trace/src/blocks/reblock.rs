//! Ids of one block size as ids of another.
//!
//! A new block is made of stretches of old ones; equal lists of stretches get equal new ids. Nothing is called equal that
//! was not; sharing that ends inside a new block is lost. Exact where one size divides the other, but for that end.

use std::collections::HashMap;

use super::chain::Piece;

/// Gives out ids of the new size, densely in order of first appearance.
#[derive(Debug)]
pub struct Reblocked {
    from: u64,
    to: u64,
    known: HashMap<Box<[Piece]>, u64>,
    first: u64,
}

impl Reblocked {
    /// From blocks of `from` tokens to blocks of `to`, both at least 1; the smallest new id is `first`.
    ///
    /// # Panics
    /// When a size is 0.
    pub fn new(from: u64, to: u64, first: u64) -> Self {
        assert!(from > 0 && to > 0, "a block holds at least one token");
        Self {
            from,
            to,
            known: HashMap::new(),
            first,
        }
    }

    /// The new ids of a prompt of `tokens` tokens with old ids `ids`, one for every new block, the last perhaps partial.
    /// Old ids beyond the prompt are not looked at; tokens that no old id covers are the caller's to cover first.
    pub fn ids(&mut self, ids: &[u64], tokens: u64) -> Vec<u64> {
        let tokens = tokens.min(ids.len() as u64 * self.from);
        let mut made = Vec::with_capacity(tokens.div_ceil(self.to) as usize);
        let mut open = Vec::new();
        let mut at = 0;
        while at < tokens {
            let end = (at / self.to + 1) * self.to;
            let end = end.min(tokens);
            open.clear();
            while at < end {
                let block = at / self.from;
                let until = ((block + 1) * self.from).min(end);
                open.push(Piece {
                    source: ids[block as usize],
                    from: (at - block * self.from) as u32,
                    tokens: (until - at) as u32,
                });
                at = until;
            }
            made.push(self.id(&open));
        }
        made
    }

    fn id(&mut self, pieces: &[Piece]) -> u64 {
        if let Some(id) = self.known.get(pieces) {
            return *id;
        }
        let id = self.first + self.known.len() as u64;
        self.known.insert(pieces.into(), id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::Reblocked;

    #[test]
    fn blocks_are_joined_and_split() {
        let mut joined = Reblocked::new(2, 4, 0);
        assert_eq!(joined.ids(&[7, 8, 9, 10], 8), [0, 1]);
        assert_eq!(joined.ids(&[7, 8, 9, 11], 8), [0, 2]);
        assert_eq!(joined.ids(&[7, 8, 9], 5), [0, 3], "the last block is partial");
        let mut split = Reblocked::new(4, 2, 1);
        assert_eq!(split.ids(&[7, 8], 8), [1, 2, 3, 4]);
        assert_eq!(split.ids(&[7, 9], 7), [1, 2, 5, 6]);
        let mut uneven = Reblocked::new(3, 2, 0);
        assert_eq!(uneven.ids(&[1, 2], 6), [0, 1, 2]);
        assert_eq!(
            uneven.ids(&[1, 3], 6),
            [0, 3, 4],
            "what the seam lies in is not shared"
        );
    }
}
