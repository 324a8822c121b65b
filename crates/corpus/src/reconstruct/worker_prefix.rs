//! Declared prefixes: how many blocks they are, and which chains start with them (`aiperf-corpus` §4.4).

use tree::BLOCK_TOKENS;

use super::placed::Placed;
use crate::formats::weka::DeclaredPrefix;

/// Blocks of a declared prefix: its tokens rounded up; 0 when nothing, or less, is declared.
pub(super) fn prefix_blocks(declared: DeclaredPrefix) -> u64 {
    let tokens = i128::from(declared.tool_tokens) + i128::from(declared.system_tokens);
    u64::try_from(tokens)
        .unwrap_or(0)
        .div_ceil(u64::from(BLOCK_TOKENS))
}

/// The first hash ids of a chain; empty when none of its requests has any.
pub(super) fn first_ids<'r>(chain: &[Placed<'r>]) -> &'r [i64] {
    let with_ids = chain.iter().find(|placed| !placed.request.hash_ids.is_empty());
    with_ids.map_or(&[], |placed| &placed.request.hash_ids)
}

/// The prefix of a worker's turn 0: the declared one where the worker begins with the same blocks as the main chain's
/// `opening` that far, else none.
pub(super) fn of_worker(declared: DeclaredPrefix, opening: &[i64], worker: &[Placed<'_>]) -> DeclaredPrefix {
    let blocks = usize::try_from(prefix_blocks(declared)).unwrap_or(usize::MAX);
    match (opening.get(..blocks), first_ids(worker).get(..blocks)) {
        (Some(of_main), Some(of_worker)) if blocks > 0 && of_main == of_worker => declared,
        _ => DeclaredPrefix::default(),
    }
}
