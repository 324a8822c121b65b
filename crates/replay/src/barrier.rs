//! The recorded-order barrier of one tree: a turn waits until its recorded predecessors have ended (`aiperf-replay` §3.4).

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use tree::{ConversationIndex, Trace, TurnRef};

/// What has ended in a tree, and what waits for it. `H` is whatever must be known to send a held turn.
pub(crate) struct Barrier<H> {
    ended: HashSet<TurnRef>,
    held: BTreeMap<(Arc<str>, usize), (TurnRef, H)>,
}

impl<H> Default for Barrier<H> {
    fn default() -> Self {
        Self {
            ended: HashSet::new(),
            held: BTreeMap::new(),
        }
    }
}

impl<H> Barrier<H> {
    /// Counts the first `turns` turns of each conversation as ended.
    pub(crate) fn seed(&mut self, completed: &[(ConversationIndex, usize)]) {
        for &(conversation, turns) in completed {
            self.ended
                .extend((0..turns).map(|turn| TurnRef { conversation, turn }));
        }
    }

    /// Whether `turn` may go; its predecessors are the trace's.
    pub(crate) fn is_open(&self, trace: &Trace, turn: TurnRef) -> bool {
        let predecessors = &trace.conversations[turn.conversation].turns[turn.turn].predecessors;
        predecessors.iter().all(|before| self.ended.contains(before))
    }

    /// Keeps `turn` until its predecessors have ended. A turn already held stays as it was.
    pub(crate) fn hold(&mut self, trace: &Trace, turn: TurnRef, how: H) {
        let key = (trace.conversations[turn.conversation].id.clone(), turn.turn);
        self.held.entry(key).or_insert((turn, how));
    }

    /// Marks `turn` as ended, whatever became of it, and gives what may go now, sorted by (conversation id, turn).
    pub(crate) fn end(&mut self, trace: &Trace, turn: TurnRef) -> Vec<(TurnRef, H)> {
        self.ended.insert(turn);
        let open: Vec<_> = self
            .held
            .iter()
            .filter(|(_, (held, _))| self.is_open(trace, *held))
            .map(|(key, _)| key.clone())
            .collect();
        open.iter().filter_map(|key| self.held.remove(key)).collect()
    }

    /// Drops everything that is held.
    pub(crate) fn take_held(&mut self) -> Vec<(TurnRef, H)> {
        std::mem::take(&mut self.held).into_values().collect()
    }

    /// How many turns are held.
    pub(crate) fn held_count(&self) -> usize {
        self.held.len()
    }
}
