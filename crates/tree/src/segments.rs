//! From a conversation's prompt steps to the list of messages that a turn sends.
//!
//! The list after turn *k* is what aiperf 0.12.0 sends on turn *k*, whatever it stored in between
//! (`aiperf-corpus` §5.5, §5.6). Neighbours of one role are not merged: each segment is a message of its own.

use crate::{BlockIndex, Conversation, HeadRole, PromptStep};

/// Who speaks in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Declared tools and system text.
    System,
    /// New input.
    User,
    /// A recorded answer.
    Assistant,
}

/// Tokens at the end of a segment that no block covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// How many.
    pub tokens: u32,
    /// The turn that brought them; part of the label that their text is drawn with.
    pub turn: usize,
}

/// One message: a run of blocks and perhaps a tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Who speaks.
    pub role: Role,
    /// How many blocks of [`SegmentList::blocks`] are this segment's; they follow those of the segment before.
    pub blocks: usize,
    /// What follows the blocks.
    pub tail: Option<Tail>,
}

/// The messages of one request as blocks and tails.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SegmentList {
    /// The blocks of all segments, one after the other.
    pub blocks: Vec<BlockIndex>,
    /// The segments in order.
    pub segments: Vec<Segment>,
}

impl SegmentList {
    /// The list that turn `turn` of `conversation` sends.
    ///
    /// # Panics
    /// When the conversation has no such turn.
    pub fn of(conversation: &Conversation, turn: usize) -> Self {
        let mut list = Self::default();
        for (index, turn) in conversation.turns[..=turn].iter().enumerate() {
            list.apply(&turn.prompt, index);
        }
        list
    }

    /// Carries out the step of turn `turn`.
    pub fn apply(&mut self, step: &PromptStep, turn: usize) {
        self.cut_back(step.keep_blocks as usize);
        let (head, rest) = step.new_blocks.split_at(step.head_blocks as usize);
        if !head.is_empty() {
            let role = match step.head_role {
                HeadRole::System => Role::System,
                HeadRole::Assistant => Role::Assistant,
            };
            self.segments.push(Segment {
                role,
                blocks: head.len(),
                tail: None,
            });
        }
        let tail = (step.tail_tokens > 0).then_some(Tail {
            tokens: step.tail_tokens,
            turn,
        });
        if !rest.is_empty() || tail.is_some() || self.segments.is_empty() {
            self.segments.push(Segment {
                role: Role::User,
                blocks: rest.len(),
                tail,
            });
        }
        self.blocks.extend_from_slice(&step.new_blocks);
    }

    /// Keeps the first `keep` blocks: the segment in which they end loses what follows, tail included, and all later
    /// segments go. A list with fewer blocks stays as it is, tails and all.
    fn cut_back(&mut self, keep: usize) {
        if keep > self.blocks.len() {
            return;
        }
        let mut before = 0;
        let mut kept = 0;
        for segment in &mut self.segments {
            if before == keep {
                break;
            }
            kept += 1;
            if before + segment.blocks >= keep {
                segment.blocks = keep - before;
                segment.tail = None;
                break;
            }
            before += segment.blocks;
        }
        self.segments.truncate(kept);
        self.blocks.truncate(keep);
    }

    /// Each segment with its blocks.
    pub fn iter(&self) -> impl Iterator<Item = (&Segment, &[BlockIndex])> {
        let mut rest = self.blocks.as_slice();
        self.segments.iter().map(move |segment| {
            let (own, after) = rest.split_at(segment.blocks);
            rest = after;
            (segment, own)
        })
    }
}
