//! Where in the pool a block or tail begins.
//!
//! A block's place is one draw of `CPython`'s generator, seeded from run seed, trace and hash id (`aiperf-corpus` §5.3). To
//! seed it costs some microseconds, so the places of a trace are kept in a table that all its streams share: each entry
//! is drawn once, ahead of sending if [`Prompter::prepare`] is called in time. A tail's place is a digest of its label
//! (§5.4).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rng::{Python, stream};
use tree::segments::SegmentList;
use tree::{BlockIndex, Trace, TurnRef};

use super::Pool;

/// Name of the random stream that block places are drawn from, as in aiperf 0.12.0.
const STREAM: &str = "dataset.coding_content.corpus";

/// Makes prompts from one pool under one run seed.
#[derive(Clone)]
pub struct Prompter {
    pool: Arc<Pool>,
    base: u64,
}

impl Prompter {
    /// A prompter for a run with random seed `seed`.
    pub fn new(pool: Arc<Pool>, seed: u64) -> Self {
        Self {
            pool,
            base: base_seed(seed),
        }
    }

    /// The pool that text is taken from.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// Draws the places of all blocks that `turn` of `trace` sends, so that [`Prompter::body`] finds them ready.
    pub fn prepare(&self, starts: &BlockStarts, trace: &Trace, turn: TurnRef) {
        let list = SegmentList::of(&trace.conversations[turn.conversation], turn.turn);
        for block in list.blocks {
            self.start(starts, trace, block);
        }
    }

    /// Position in the pool at which `block` begins; drawn if it was not yet.
    ///
    /// # Panics
    /// When `starts` was made for another trace.
    pub fn start(&self, starts: &BlockStarts, trace: &Trace, block: BlockIndex) -> u32 {
        assert_eq!(
            starts.0.len(),
            trace.block_ids.len(),
            "a table serves the trace it was made for"
        );
        let entry = &starts.0[block.0 as usize];
        // Relaxed: the value is all there is to see, and whoever draws it draws the same one.
        match entry.load(Ordering::Relaxed) {
            NOT_DRAWN => {
                let hash_id = trace.block_ids[block.0 as usize];
                let start = block_start(self.base, &trace.id, hash_id, self.pool.tokens());
                entry.store(start, Ordering::Relaxed);
                start
            }
            start => start,
        }
    }
}

/// The seed that all block places of a run with random seed `run_seed` follow from.
pub fn base_seed(run_seed: u64) -> u64 {
    stream::child(run_seed, STREAM)
}

/// Position in a pool of `pool_tokens` at which the block of a hash id begins: one draw from a generator seeded with
/// `"<base>:<trace id>:<hash id>"`. Children of a trace use its id too.
///
/// # Panics
/// When the pool is empty.
pub fn block_start(base: u64, trace_id: &str, hash_id: i64, pool_tokens: u32) -> u32 {
    let seed = stream::be64(&format!("{base}:{trace_id}:{hash_id}"));
    Python::new(seed).below(u64::from(pool_tokens)) as u32
}

/// The `tokens` un-hashed tokens that turn `turn` of a conversation brings, in a pool of `pool_tokens`. They do not run
/// over the pool's end; where the pool is smaller than the tail, the whole pool is all there is.
pub fn tail_window(conversation_id: &str, turn: usize, tokens: u32, pool_tokens: u32) -> Window {
    let label = stream::be64(&format!("{conversation_id}:turn_{turn}:partial_tail"));
    Window {
        start: (label % u64::from(pool_tokens.saturating_sub(tokens).max(1))) as u32,
        tokens: tokens.min(pool_tokens),
    }
}

/// Neighbouring tokens of a pool. A block's may run past the pool's end, where they go on at its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Position of the first in the pool.
    pub start: u32,
    /// How many.
    pub tokens: u32,
}

const NOT_DRAWN: u32 = u32::MAX;

/// The places of one trace's blocks, drawn as they are asked for. Read without a lock; shared through an `Arc`.
pub struct BlockStarts(Box<[AtomicU32]>);

impl BlockStarts {
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
