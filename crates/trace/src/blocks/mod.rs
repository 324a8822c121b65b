//! The block-hash sidecar, `token-blocks` version 1: for each request its prompt as block ids, JSON lines
//! (`trace-csv` §4).
//!
//! [`check`] compares a sidecar with the data file's rows; [`BlockStore`] gives the ids of one request at a time, so that a
//! replay never holds all of them; [`BlockWriter`] writes one. Three ways lead to ids: [`ChainIds`] from
//! prompts whose pieces are known, [`Renumbered`] from another format's ids, [`Reblocked`] from ids of another block size.

mod chain;
mod check;
mod line;
mod reblock;
mod renumber;
mod store;
mod write;

pub use chain::{ChainIds, Piece, Root};
pub use check::{Expected, check};
pub use line::{BlocksHeader, ID_MAX, Ids};
pub use reblock::Reblocked;
pub use renumber::Renumbered;
pub use store::BlockStore;
pub use write::BlockWriter;

/// Blocks that `tokens` tokens need.
pub fn blocks_of(tokens: u64, block_size: u64) -> u64 {
    tokens.div_ceil(block_size)
}
