//! What each turn does to its conversation's prompt (`aiperf-corpus` §5.5 to §5.7).
//!
//! Everything that `tree::segments` can replay later: how many blocks stay, which follow, how many of those are the
//! recorded answer, and how many tokens no block covers.

use tree::segments::{Role, SegmentList};
use tree::{BLOCK_TOKENS, HeadRole, PromptStep};

use super::blocks::BlockTable;
use super::placed::{Placed, common_prefix};
use super::{PrefixNotCovered, declared::prefix_blocks};
use crate::formats::weka::{DeclaredPrefix, Request};

/// How a prompt's tokens split into blocks with an id and the rest.
#[derive(Clone, Copy)]
struct Cover {
    /// Blocks that have an id.
    blocks: usize,
    /// Tokens without one.
    rest: u32,
}

impl Cover {
    fn of(request: &Request) -> Self {
        let full = (request.input / BLOCK_TOKENS) as usize;
        let missing = full.saturating_sub(request.hash_ids.len()) as u32; // at most `full`, which fits
        Self {
            blocks: full.min(request.hash_ids.len()),
            rest: request.input % BLOCK_TOKENS + BLOCK_TOKENS * missing,
        }
    }
}

/// The steps of one conversation and the turns whose prompt does not end in user text.
pub(super) struct Steps {
    pub(super) steps: Vec<PromptStep>,
    pub(super) ends_in_non_user: Vec<usize>,
}

/// Works out the steps of a conversation whose turn 0 starts with `declared`.
pub(super) fn steps(
    turns: &[Placed<'_>],
    declared: DeclaredPrefix,
    blocks: &mut BlockTable,
) -> Result<Steps, PrefixNotCovered> {
    let shared: Vec<usize> = turns
        .windows(2)
        .map(|pair| common_prefix(&pair[0].request.hash_ids, &pair[1].request.hash_ids))
        .collect();
    let caps = answer_caps(turns, &shared);
    let mut list = SegmentList::default();
    let mut done = Steps {
        steps: Vec::with_capacity(turns.len()),
        ends_in_non_user: Vec::new(),
    };
    for (index, turn) in turns.iter().enumerate() {
        let cover = Cover::of(turn.request);
        let (keep, head_role, head) = match index.checked_sub(1) {
            None => (
                0,
                HeadRole::System,
                declared_blocks(turn.request, cover, declared)?,
            ),
            Some(earlier) => {
                let keep = shared[earlier];
                let answer = answer_blocks(turns[earlier].request.output, keep, cover, caps[index], &list);
                (keep, HeadRole::Assistant, answer)
            }
        };
        let new = turn.request.hash_ids.get(keep..cover.blocks).unwrap_or_default();
        let step = PromptStep {
            keep_blocks: keep as u32,
            new_blocks: new.iter().map(|id| blocks.intern(*id)).collect(),
            head_blocks: head as u32,
            head_role,
            tail_tokens: cover.rest,
        };
        list.apply(&step, index);
        if list.segments.last().is_some_and(|last| last.role != Role::User) {
            done.ends_in_non_user.push(index);
        }
        done.steps.push(step);
    }
    Ok(done)
}

/// Blocks of the system segment of turn 0: the declared tokens rounded up to whole blocks.
fn declared_blocks(
    request: &Request,
    cover: Cover,
    declared: DeclaredPrefix,
) -> Result<usize, PrefixNotCovered> {
    let needed = prefix_blocks(declared);
    if needed > request.hash_ids.len() as u64 {
        return Err(PrefixNotCovered {
            declared,
            needed,
            recorded: request.hash_ids.len(),
        });
    }
    Ok(cover.blocks.min(needed as usize))
}

/// Blocks of the recorded answer to the turn before, at the head of this turn's new blocks.
fn answer_blocks(output: u32, keep: usize, cover: Cover, cap: Option<usize>, list: &SegmentList) -> usize {
    let new = cover.blocks.saturating_sub(keep);
    if !user_text_remains(list, keep) {
        return 0;
    }
    let answer = (output.div_ceil(BLOCK_TOKENS) as usize)
        .min(new)
        .min(cap.unwrap_or(usize::MAX));
    if cover.rest == 0 && answer == new && answer > 0 {
        return answer - 1; // the turn must end in user text
    }
    answer
}

/// True when a user segment is left once the list is cut back to `keep` blocks.
fn user_text_remains(list: &SegmentList, keep: usize) -> bool {
    let mut before = 0;
    list.segments.iter().any(|segment| {
        let start = before;
        before += segment.blocks;
        segment.role == Role::User && (start < keep || keep > list.blocks.len())
    })
}

/// Upper bounds for the answer blocks of each turn, so that a later turn that goes back to exactly one of its blocks
/// ends in user text (`aiperf-corpus` §5.7). `shared[k]` is what turns `k` and `k + 1` have in common.
fn answer_caps(turns: &[Placed<'_>], shared: &[usize]) -> Vec<Option<usize>> {
    let mut caps: Vec<Option<usize>> = vec![None; turns.len()];
    let mut kept = vec![0; turns.len()];
    let mut owners: Vec<u32> = Vec::new();
    for (index, turn) in turns.iter().enumerate() {
        let cover = Cover::of(turn.request);
        let keep = index
            .checked_sub(1)
            .map_or(0, |earlier| shared[earlier].min(owners.len()));
        kept[index] = keep;
        let new = cover.blocks.saturating_sub(keep);
        if index > 0 && new == 0 && cover.rest == 0 && keep > 0 {
            let owner = owners[keep - 1] as usize;
            if let Some(bound) = (keep - 1).checked_sub(kept[owner]).filter(|_| owner != 0) {
                caps[owner] = Some(caps[owner].map_or(bound, |cap| cap.min(bound)));
            }
        }
        owners.truncate(keep);
        owners.resize(keep + new, index as u32);
    }
    caps
}
