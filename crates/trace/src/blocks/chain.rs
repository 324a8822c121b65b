//! Chained ids for prompts whose parts are known: an id names a block and all that stands before it.
//!
//! `trace-csv` §4.2 chains digests and renumbers them densely in order of first appearance. Here the renumbering is the
//! chain: a block is looked up by (id of the block before it, what it is made of), so that equal ids are equal prompts
//! with certainty and nothing is hashed away. Costs some fifty bytes for each different block, until its root is closed.

use std::collections::HashMap;

/// What part of a block's tokens is: a stretch of something that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// Name of the text that the stretch is of; equal names are equal texts under one [`Root`].
    pub source: u64,
    /// First token of the stretch in that text.
    pub from: u32,
    /// Its tokens, at least 1.
    pub tokens: u32,
}

/// What a prompt starts from: prompts of different roots share nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Root(u64);

impl Root {
    /// The root of that number, for who names none by [`ChainIds::root`].
    pub fn numbered(number: u64) -> Self {
        Self(number)
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum Made {
    Whole(Piece),
    Of(Box<[Piece]>),
}

/// Gives out ids.
#[derive(Debug)]
pub struct ChainIds {
    block_size: u32,
    roots: HashMap<String, Root>,
    /// Of each open root.
    blocks: HashMap<Root, HashMap<(u64, Made), u64>>,
    /// Ids given out.
    given: u64,
}

/// Stands for the block before the first.
const START: u64 = u64::MAX;

impl ChainIds {
    /// For blocks of `block_size` tokens, at least 1.
    ///
    /// # Panics
    /// When it is 0.
    pub fn new(block_size: u32) -> Self {
        assert!(block_size > 0, "a block holds at least one token");
        Self {
            block_size,
            roots: HashMap::new(),
            blocks: HashMap::new(),
            given: 0,
        }
    }

    /// The root of that name.
    pub fn root(&mut self, name: &str) -> Root {
        if let Some(root) = self.roots.get(name) {
            return *root;
        }
        let root = Root(self.roots.len() as u64);
        self.roots.insert(name.to_owned(), root);
        root
    }

    /// The ids of a prompt, appended to `ids`, and its tokens. A last block may be partial.
    pub fn of(&mut self, root: Root, prompt: impl IntoIterator<Item = Piece>, ids: &mut Vec<u64>) -> u64 {
        let mut before = START;
        let mut tokens = 0;
        let mut open: Vec<Piece> = Vec::new();
        let mut room = self.block_size;
        for mut piece in prompt {
            tokens += u64::from(piece.tokens);
            while piece.tokens > 0 {
                let taken = piece.tokens.min(room);
                open.push(Piece {
                    tokens: taken,
                    ..piece
                });
                piece.from += taken;
                piece.tokens -= taken;
                room -= taken;
                if room == 0 {
                    before = self.block(root, before, &open);
                    ids.push(before);
                    open.clear();
                    room = self.block_size;
                }
            }
        }
        if !open.is_empty() {
            ids.push(self.block(root, before, &open));
        }
        tokens
    }

    fn block(&mut self, root: Root, before: u64, pieces: &[Piece]) -> u64 {
        let made = match pieces {
            [whole] => Made::Whole(*whole),
            parts => Made::Of(parts.into()),
        };
        let blocks = self.blocks.entry(root).or_default();
        *blocks.entry((before, made)).or_insert_with(|| {
            let next = self.given;
            self.given += 1;
            next
        })
    }

    /// Frees what a root took; no prompt of it may follow, as its blocks would get other ids.
    pub fn close(&mut self, root: Root) {
        self.blocks.remove(&root);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(source: u64, tokens: u32) -> Piece {
        Piece {
            source,
            from: 0,
            tokens,
        }
    }

    #[test]
    fn a_closed_root_leaves_its_ids_to_nobody() {
        let mut chain = ChainIds::new(4);
        let (first, second) = (chain.root("a"), chain.root("b"));
        let mut ids = Vec::new();
        chain.of(first, [piece(1, 4), piece(2, 4)], &mut ids);
        chain.of(second, [piece(1, 4)], &mut ids);
        chain.close(first);
        chain.of(second, [piece(1, 4), piece(2, 4)], &mut ids);
        assert_eq!(ids, [0, 1, 2, 2, 3]);
    }

    #[test]
    fn an_id_names_its_block_and_all_before_it() {
        let mut chain = ChainIds::new(4);
        let root = chain.root("t");
        let ids = |root, prompt: &[Piece], chain: &mut ChainIds| {
            let mut ids = Vec::new();
            let tokens = chain.of(root, prompt.iter().copied(), &mut ids);
            (tokens, ids)
        };
        assert_eq!(
            ids(root, &[piece(1, 4), piece(2, 4), piece(9, 3)], &mut chain),
            (11, vec![0, 1, 2])
        );
        assert_eq!(
            ids(root, &[piece(1, 4), piece(2, 4), piece(3, 4)], &mut chain),
            (12, vec![0, 1, 3]),
            "shares what is equal from the start"
        );
        assert_eq!(
            ids(root, &[piece(2, 4)], &mut chain),
            (4, vec![4]),
            "elsewhere a block is another"
        );
        assert_eq!(
            ids(root, &[piece(7, 1), piece(1, 4), piece(2, 4)], &mut chain),
            (9, vec![5, 6, 7]),
            "a stretch that is shifted fills other blocks"
        );
        let other = chain.root("u");
        assert_eq!(
            ids(other, &[piece(1, 4)], &mut chain),
            (4, vec![8]),
            "roots share nothing"
        );
    }
}
