//! Which turn starts which children, and which turn waits for them (`aiperf-corpus` §4.5).

use tree::ConversationIndex;

use super::placed::{Placed, TIME_SLACK_S};
use super::time::Clock;

/// The turns of the main chain, as far as branches ask.
pub(super) struct MainTurns {
    /// Outer index and replayed start in seconds, by turn.
    turns: Vec<(usize, f64)>,
    /// Turns by outer index.
    by_outer: Vec<usize>,
}

impl MainTurns {
    pub(super) fn new(main: &[Placed<'_>], clock: &Clock) -> Self {
        let turns: Vec<(usize, f64)> = main.iter().map(|turn| (turn.outer, clock.map(turn.t))).collect();
        let mut by_outer: Vec<usize> = (0..turns.len()).collect();
        by_outer.sort_by_key(|turn| turns[*turn].0);
        Self { turns, by_outer }
    }

    /// The last turn that stands before `outer` in the row.
    pub(super) fn spawning(&self, outer: usize) -> Option<usize> {
        self.turns.iter().rposition(|(own, _)| *own < outer)
    }

    /// The first turn in the row's order that stands behind `outer` and does not start before `end` seconds.
    fn joining(&self, outer: usize, end: f64) -> Option<usize> {
        let behind = self.by_outer.partition_point(|turn| self.turns[*turn].0 <= outer);
        let joins = |turn: &&usize| self.turns[**turn].1 + TIME_SLACK_S >= end;
        self.by_outer[behind..].iter().find(joins).copied()
    }
}

/// Children that start together, from one subagent entry or one flat chain.
pub(super) struct Offspring {
    /// Where it stands in the row.
    pub(super) outer: usize,
    /// The turn that starts it.
    pub(super) spawning: usize,
    /// Replayed start in seconds.
    pub(super) start: f64,
    /// Replayed end in seconds.
    pub(super) end: f64,
    /// Its conversations.
    pub(super) children: Vec<ConversationIndex>,
    /// Id of its branch, should it be the first in it.
    pub(super) branch_id: String,
}

/// A branch before it is attached to the root's turns.
pub(super) struct BranchDraft {
    pub(super) id: String,
    pub(super) spawning: usize,
    /// `None`: in the background.
    pub(super) joining: Option<usize>,
    pub(super) start_ms: f64,
    pub(super) children: Vec<ConversationIndex>,
}

/// One branch for all offspring of one kind that start and join at the same turns, in order of first appearance.
pub(super) fn branches(main: &MainTurns, offspring: Vec<Offspring>) -> Vec<BranchDraft> {
    let mut drafts: Vec<(f64, BranchDraft)> = Vec::new();
    for one in offspring {
        let joining = main.joining(one.outer, one.end);
        let same =
            |(_, draft): &&mut (f64, BranchDraft)| draft.spawning == one.spawning && draft.joining == joining;
        if let Some((start, draft)) = drafts.iter_mut().find(same) {
            *start = start.min(one.start);
            draft.start_ms = *start * 1000.0;
            draft.children.extend(one.children);
            continue;
        }
        let draft = BranchDraft {
            id: one.branch_id,
            spawning: one.spawning,
            joining,
            start_ms: one.start * 1000.0,
            children: one.children,
        };
        drafts.push((one.start, draft));
    }
    drafts.into_iter().map(|(_, draft)| draft).collect()
}
