//! The prompt of a turn as named stretches of text, for [`trace::blocks::ChainIds`].

use trace::blocks::Piece;
use tree::segments::SegmentList;
use tree::{BLOCK_TOKENS, Conversation, ConversationIndex};

/// Marks names of tails; names of blocks are their positions, which are below.
const TAIL: u64 = 1 << 63;

/// The stretches of the prompt of turn `turn`: its blocks, and the tails that no block covers, each named so that equal
/// names are equal texts within one trace (and one cache-bust marker). Marker and chat template are no part of it.
///
/// # Panics
/// When the conversation has no such turn.
pub fn pieces(index: ConversationIndex, conversation: &Conversation, turn: usize) -> Vec<Piece> {
    let list = SegmentList::of(conversation, turn);
    let mut pieces = Vec::with_capacity(list.blocks.len() + list.segments.len());
    for (segment, blocks) in list.iter() {
        pieces.extend(blocks.iter().map(|block| Piece {
            source: u64::from(block.0),
            from: 0,
            tokens: BLOCK_TOKENS,
        }));
        if segment.tail_tokens > 0 {
            pieces.push(Piece {
                source: TAIL | (index as u64) << 32 | segment.turn as u64,
                from: 0,
                tokens: segment.tail_tokens,
            });
        }
    }
    pieces
}
