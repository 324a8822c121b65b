//! Declared prefixes: how many blocks they are, and which chains start with them (`aiperf-corpus` §4.4).

use tree::BLOCK_TOKENS;

use super::layers::Worker;
use crate::formats::weka::DeclaredPrefix;

/// Blocks of a declared prefix: its tokens rounded up; 0 when nothing, or less, is declared.
pub(super) fn prefix_blocks(declared: DeclaredPrefix) -> u64 {
    let tokens = i128::from(declared.tool_tokens) + i128::from(declared.system_tokens);
    u64::try_from(tokens)
        .unwrap_or(0)
        .div_ceil(u64::from(BLOCK_TOKENS))
}

/// The prefix of a worker's turn 0: the declared one where the worker and the main chain, its preamble aside, begin with
/// the same blocks that far, else none.
pub(super) fn of_worker(declared: DeclaredPrefix, worker: &Worker<'_>) -> DeclaredPrefix {
    let blocks = prefix_blocks(declared);
    if blocks > 0 && worker.shared_blocks as u64 >= blocks {
        declared
    } else {
        DeclaredPrefix::default()
    }
}
