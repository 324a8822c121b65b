//! Where in the token pool a block or a tail starts (`aiperf-corpus` §5.3, §5.4).
//!
//! Knows the pool's length only; never its tokens.

use rng::{GROUP, Python, first_below, stream};

/// Name under which aiperf 0.12.0 derives the seed of all block starts of the coding pool.
pub const CODING_POOL: &str = "dataset.coding_content.corpus";

/// The draws of one run seed over a pool of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draws {
    base: u64,
    pool_tokens: u64,
}

impl Draws {
    /// Draws of run seed `seed` over the coding pool, which has `pool_tokens` tokens.
    ///
    /// # Panics
    /// When the pool is empty.
    pub fn new(seed: u64, pool_tokens: u64) -> Self {
        assert!(pool_tokens > 0, "a pool has at least one token");
        Self {
            base: stream::child(seed, CODING_POOL),
            pool_tokens,
        }
    }

    /// Seed of the one draw that a hash id makes. `trace_id` is that of the root, for children too.
    pub fn block_seed(&self, trace_id: &str, hash_id: i64) -> u64 {
        stream::be64(&format!("{}:{trace_id}:{hash_id}", self.base))
    }

    /// First pool position of a hash id's block; its [`tree::BLOCK_TOKENS`] tokens wrap round the pool's end.
    pub fn block_start(&self, trace_id: &str, hash_id: i64) -> u64 {
        Python::new(self.block_seed(trace_id, hash_id)).below(self.pool_tokens)
    }

    /// [`Draws::block_start`] of several ids at once, for a fraction of the time.
    pub fn block_starts(&self, trace_id: &str, hash_ids: &[i64; GROUP]) -> [u64; GROUP] {
        first_below(
            &hash_ids.map(|hash_id| self.block_seed(trace_id, hash_id)),
            self.pool_tokens,
        )
    }

    /// First pool position of the `tokens` tokens without a block that turn `turn` of a conversation brought. They do
    /// not wrap; a tail longer than the pool is cut to it.
    pub fn tail_start(&self, conversation_id: &str, turn: usize, tokens: u32) -> u64 {
        let room = self.pool_tokens.saturating_sub(u64::from(tokens)).max(1);
        stream::be64(&format!("{conversation_id}:turn_{turn}:partial_tail")) % room
    }
}
