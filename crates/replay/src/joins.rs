//! Joins of one tree: a turn that waits for the children of branches (`aiperf-replay` §3.3).

use std::collections::BTreeMap;
use tree::{BranchIndex, Conversation, ConversationIndex, TurnRef};

/// How far one branch is that a turn waits for.
#[derive(Default)]
struct Progress {
    /// The branch has been spawned, or lies before the snapshot. Until then the join cannot open.
    registered: bool,
    expected: usize,
    ended: usize,
}

/// A turn that waits.
struct Join {
    branches: BTreeMap<BranchIndex, Progress>,
    /// The turn before it has returned: the parent stands still until the join opens.
    suspended: bool,
    /// The recorded delay of the turn is still running.
    delayed: bool,
}

impl Join {
    /// All children have ended.
    fn is_open(&self) -> bool {
        self.branches
            .values()
            .all(|branch| branch.registered && branch.ended >= branch.expected)
    }
}

/// The joins of a tree that have not opened yet.
#[derive(Default)]
pub(crate) struct Joins {
    pending: BTreeMap<(ConversationIndex, usize), Join>,
}

/// What is known about branches before any of them has reported.
#[derive(Clone, Copy)]
pub(crate) enum Seed {
    /// The parent runs from the beginning: no branch counts until it has been spawned.
    Live,
    /// The parent goes on at this turn: branches spawned before it count as spawned.
    Snapshot {
        /// The parent's next turn.
        next_turn: usize,
    },
}

/// The turns of `parent` that wait for `branch`; none for a background branch.
pub(crate) fn gates(parent: &Conversation, branch: BranchIndex) -> impl Iterator<Item = usize> {
    let background = parent.branches[branch].background;
    let waiting = parent
        .turns
        .iter()
        .enumerate()
        .filter(move |(_, turn)| turn.joins.contains(&branch));
    waiting.map(|(turn, _)| turn).filter(move |_| !background)
}

impl Joins {
    /// Counts `branch` as spawned for the turn `gate` of `parent`, with `children` more to wait for.
    ///
    /// The join is made when its first branch reports, with all branches that the turn declares. Stock aiperf then waits
    /// for ever for a declared branch that lay wholly before a snapshot, unless a child of the same join was live there;
    /// so do we.
    pub(crate) fn expect(
        &mut self,
        index: ConversationIndex,
        parent: &Conversation,
        gate: usize,
        branch: BranchIndex,
        children: usize,
        seed: Seed,
    ) {
        let join = self.pending.entry((index, gate)).or_insert_with(|| {
            let before = |branch: &BranchIndex| match seed {
                Seed::Live => false,
                Seed::Snapshot { next_turn } => parent.turns[..next_turn]
                    .iter()
                    .any(|turn| turn.spawns.contains(branch)),
            };
            let declared = parent.turns[gate].joins.iter();
            let progress = |branch: &BranchIndex| {
                (
                    *branch,
                    Progress {
                        registered: before(branch),
                        ..Progress::default()
                    },
                )
            };
            Join {
                branches: declared.map(progress).collect(),
                suspended: false,
                delayed: false,
            }
        });
        let progress = join.branches.entry(branch).or_default();
        progress.registered = true;
        progress.expected += children;
    }

    /// Marks the turn as waited for from the start, as a parent that stands at it in a snapshot does; `delayed` until
    /// [`Self::end_delay`].
    pub(crate) fn suspend(&mut self, turn: TurnRef, delayed: bool) {
        if let Some(join) = self.pending.get_mut(&(turn.conversation, turn.turn)) {
            join.suspended = true;
            join.delayed = delayed;
        }
    }

    /// The turn before `turn` has returned: whether the parent must stand still. An open join is forgotten.
    pub(crate) fn reach(&mut self, turn: TurnRef) -> bool {
        let key = (turn.conversation, turn.turn);
        let Some(join) = self.pending.get_mut(&key) else {
            return false;
        };
        if join.is_open() && !join.delayed {
            self.pending.remove(&key);
            return false;
        }
        join.suspended = true;
        true
    }

    /// Lets the recorded delay of a turn at which its parent stands run beside its children.
    pub(crate) fn delay(&mut self, turn: TurnRef) {
        if let Some(join) = self.pending.get_mut(&(turn.conversation, turn.turn)) {
            join.delayed = true;
        }
    }

    /// The recorded delay is over. Gives true when the parent must go on now.
    pub(crate) fn end_delay(&mut self, turn: TurnRef) -> bool {
        let key = (turn.conversation, turn.turn);
        let Some(join) = self.pending.get_mut(&key) else {
            return false;
        };
        join.delayed = false;
        let goes_on = join.suspended && join.is_open();
        if goes_on {
            self.pending.remove(&key);
        }
        goes_on
    }

    /// Turns whose recorded delay still runs.
    pub(crate) fn delayed(&self) -> Vec<TurnRef> {
        let delayed = self.pending.iter().filter(|(_, join)| join.delayed);
        delayed
            .map(|((conversation, turn), _)| TurnRef {
                conversation: *conversation,
                turn: *turn,
            })
            .collect()
    }

    /// Whether a parent stands at this turn.
    pub(crate) fn stands_at(&self, turn: TurnRef) -> bool {
        self.pending
            .get(&(turn.conversation, turn.turn))
            .is_some_and(|join| join.suspended)
    }

    /// One child of `branch` has ended. Gives true when that opened a join at which the parent stands still, which must go
    /// on now; a join that opens before the parent reaches it is forgotten.
    pub(crate) fn end_child(&mut self, parent: ConversationIndex, gate: usize, branch: BranchIndex) -> bool {
        let Some(join) = self.pending.get_mut(&(parent, gate)) else {
            return false;
        };
        if let Some(progress) = join.branches.get_mut(&branch) {
            progress.ended += 1;
        }
        if !join.is_open() || join.delayed {
            return false;
        }
        let suspended = join.suspended;
        self.pending.remove(&(parent, gate));
        suspended
    }

    /// Forgets joins of `parent` that are open without anybody standing at them, as branches without children leave them.
    pub(crate) fn forget_open(&mut self, parent: ConversationIndex) {
        self.pending
            .retain(|(index, _), join| *index != parent || join.suspended || !join.is_open());
    }

    /// Whether any join is still closed.
    pub(crate) fn any(&self) -> bool {
        !self.pending.is_empty()
    }
}
