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

/// One message: a run of blocks and perhaps a tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Who speaks.
    pub role: Role,
    /// How many blocks of [`SegmentList::blocks`] are this segment's; they follow those of the segment before.
    pub blocks: usize,
    /// How many tokens that no block covers follow the blocks.
    pub tail_tokens: u32,
    /// The turn that brought this segment; part of the label that a tail's text is drawn with.
    pub turn: usize,
    /// True for a user segment that came directly behind an assistant's in the messages by which aiperf 0.12.0 first
    /// passed it on: only such a segment can be sent as the answer of a tool (`aiperf-corpus` §5.9). Those messages are
    /// the turn's own segments, or the whole list when the turn changed what had been passed on before.
    pub answers: bool,
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
        let changed = self.cut_back(step.keep_blocks as usize);
        let (head, rest) = step.new_blocks.split_at(step.head_blocks as usize);
        if !head.is_empty() {
            let role = match step.head_role {
                HeadRole::System => Role::System,
                HeadRole::Assistant => Role::Assistant,
            };
            self.segments.push(Segment {
                role,
                blocks: head.len(),
                tail_tokens: 0,
                turn,
                answers: false,
            });
        }
        if !rest.is_empty() || step.tail_tokens > 0 || self.segments.is_empty() {
            let answers = self
                .segments
                .last()
                .is_some_and(|before| before.role == Role::Assistant && (changed || before.turn == turn));
            self.segments.push(Segment {
                role: Role::User,
                blocks: rest.len(),
                tail_tokens: step.tail_tokens,
                turn,
                answers,
            });
        }
        self.blocks.extend_from_slice(&step.new_blocks);
    }

    /// Keeps the first `keep` blocks: the segment in which they end loses what follows, tail included, and all later
    /// segments go. A list with fewer blocks stays as it is, tails and all. True when a segment went or lost something.
    fn cut_back(&mut self, keep: usize) -> bool {
        if keep > self.blocks.len() {
            return false;
        }
        let segments = self.segments.len();
        let mut changed = false;
        let mut before = 0;
        let mut kept = 0;
        for segment in &mut self.segments {
            if before == keep {
                break;
            }
            kept += 1;
            if before + segment.blocks >= keep {
                changed = segment.blocks != keep - before || segment.tail_tokens > 0;
                segment.blocks = keep - before;
                segment.tail_tokens = 0;
                break;
            }
            before += segment.blocks;
        }
        self.segments.truncate(kept);
        self.blocks.truncate(keep);
        changed || kept < segments
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A step that keeps, then appends `head` assistant blocks, `user` more and a tail.
    fn step(keep: u32, head: u32, user: u32, tail_tokens: u32) -> PromptStep {
        PromptStep {
            keep_blocks: keep,
            new_blocks: (keep..keep + head + user).map(BlockIndex).collect(),
            head_blocks: head,
            head_role: HeadRole::Assistant,
            tail_tokens,
        }
    }

    /// Each segment as role, blocks, tail tokens, turn and `!` where it can answer a tool call.
    fn shape(steps: &[PromptStep]) -> String {
        let mut list = SegmentList::default();
        for (turn, step) in steps.iter().enumerate() {
            list.apply(step, turn);
        }
        let one = |segment: &Segment| {
            let role = match segment.role {
                Role::System => 's',
                Role::User => 'u',
                Role::Assistant => 'a',
            };
            let tail = segment.tail_tokens;
            let mark = if segment.answers { "!" } else { "" };
            format!("{role}{}+{tail}@{}{mark}", segment.blocks, segment.turn)
        };
        list.segments.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn segments_know_their_turn_and_whether_they_can_answer() {
        for (what, steps, expected) in [
            (
                "grows",
                vec![step(0, 0, 3, 8), step(3, 2, 1, 16)],
                "u3+0@0 a2+0@1 u1+16@1!",
            ),
            (
                "a tail without blocks goes, and its place is taken by an assistant",
                vec![step(0, 0, 3, 8), step(3, 2, 0, 5), step(5, 1, 1, 0)],
                "u3+0@0 a2+0@1 a1+0@2 u1+0@2!",
            ),
            (
                "an older assistant counts when the list had to be passed on anew",
                vec![step(0, 0, 3, 8), step(3, 2, 0, 5), step(5, 0, 0, 9)],
                "u3+0@0 a2+0@1 u0+9@2!",
            ),
            (
                "and not when the turn only appends",
                vec![step(0, 0, 3, 0), step(3, 2, 0, 0), step(5, 0, 0, 9)],
                "u3+0@0 a2+0@1 u0+9@2",
            ),
            (
                "a cut keeps the mark of what stays",
                vec![step(0, 0, 3, 0), step(3, 2, 2, 1), step(6, 1, 0, 4)],
                "u3+0@0 a2+0@1 u1+0@1! a1+0@2 u0+4@2!",
            ),
            ("never on the first turn", vec![step(0, 0, 0, 0)], "u0+0@0"),
        ] {
            assert_eq!(shape(&steps), expected, "{what}");
        }
    }
}
