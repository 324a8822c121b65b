//! The places of a trace's blocks and tails in the pool, drawn once and shared by its streams.
//!
//! A draw costs some microseconds ([`crate::draws`]), so the places of a trace are kept in a table: each entry is drawn once,
//! ahead of sending if [`Prompter::prepare`] is called in time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rng::GROUP;
use tree::segments::SegmentList;
use tree::{BlockIndex, Trace, TurnRef};

use super::Pool;
use super::pool::Window;
use crate::draws::Draws;

/// Makes prompts from one pool under one run seed.
#[derive(Clone)]
pub struct Prompter {
    pool: Arc<Pool>,
    draws: Draws,
}

impl Prompter {
    /// A prompter for a run with random seed `seed`.
    pub fn new(pool: Arc<Pool>, seed: u64) -> Self {
        Self {
            draws: Draws::new(seed, u64::from(pool.tokens())),
            pool,
        }
    }

    /// The pool that text is taken from.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// The draws that places follow from.
    pub fn draws(&self) -> &Draws {
        &self.draws
    }

    /// Draws the places of all blocks that `turn` of `trace` sends, so that [`Prompter::body`] finds them ready.
    pub fn prepare(&self, starts: &BlockStarts, trace: &Trace, turn: TurnRef) {
        let list = SegmentList::of(&trace.conversations[turn.conversation], turn.turn);
        self.draw(starts, trace, list.blocks);
    }

    /// Draws the places of `blocks` that were not drawn yet, in groups: one at a time each costs several times as much.
    ///
    /// # Panics
    /// When `starts` was made for another trace.
    pub fn draw(&self, starts: &BlockStarts, trace: &Trace, blocks: impl IntoIterator<Item = BlockIndex>) {
        starts.assert_of(trace);
        let places = blocks.into_iter().map(|block| block.0 as usize).fuse();
        let mut missing = places.filter(|block| starts.0[*block].load(Ordering::Relaxed) == NOT_DRAWN);
        while let Some(first) = missing.next() {
            // A group that is not full draws its first block several times.
            let group: [usize; GROUP] = std::array::from_fn(|lane| {
                if lane == 0 {
                    first
                } else {
                    missing.next().unwrap_or(first)
                }
            });
            let drawn = self
                .draws
                .block_starts(&trace.id, &group.map(|block| trace.block_ids[block]));
            for (block, start) in group.into_iter().zip(drawn) {
                starts.0[block].store(start as u32, Ordering::Relaxed); // below the pool's size, which fits
            }
        }
    }

    /// Position in the pool at which `block` begins; drawn if it was not yet.
    ///
    /// # Panics
    /// When `starts` was made for another trace.
    pub fn start(&self, starts: &BlockStarts, trace: &Trace, block: BlockIndex) -> u32 {
        starts.assert_of(trace);
        let entry = &starts.0[block.0 as usize];
        // Relaxed: the value is all there is to see, and whoever draws it draws the same one.
        match entry.load(Ordering::Relaxed) {
            NOT_DRAWN => {
                let hash_id = trace.block_ids[block.0 as usize];
                let start = self.draws.block_start(&trace.id, hash_id) as u32; // below the pool's size, which fits
                entry.store(start, Ordering::Relaxed);
                start
            }
            start => start,
        }
    }

    /// The `tokens` un-hashed tokens that turn `turn` of a conversation brings: they do not run over the pool's end, and
    /// of a pool that is smaller than the tail they are all there is.
    pub(super) fn tail(&self, conversation_id: &str, turn: usize, tokens: u32) -> Window {
        if tokens == 0 {
            return Window::default();
        }
        Window {
            start: self.draws.tail_start(conversation_id, turn, tokens) as u32, // within the pool, which fits
            tokens: tokens.min(self.pool.tokens()),
        }
    }
}

const NOT_DRAWN: u32 = u32::MAX;

/// The places of one trace's blocks, drawn as they are asked for. Read without a lock; shared through an `Arc`.
pub struct BlockStarts(Box<[AtomicU32]>);

impl BlockStarts {
    fn assert_of(&self, trace: &Trace) {
        assert_eq!(
            self.0.len(),
            trace.block_ids.len(),
            "a table serves the trace it was made for"
        );
    }

    /// An empty table for `trace`: four bytes a distinct block.
    pub fn new(trace: &Trace) -> Self {
        Self(
            trace
                .block_ids
                .iter()
                .map(|_| AtomicU32::new(NOT_DRAWN))
                .collect(),
        )
    }
}
