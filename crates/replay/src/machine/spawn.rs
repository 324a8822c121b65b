//! Children: when a turn starts them, and what their end opens (`aiperf-replay` §3.2, §3.3).

use super::deferred::Then;
use super::due::{Due, Effect};
use super::phases::Stage;
use super::{Replay, StreamId};
use crate::joins::{self, Seed};
use crate::live::{Order, Stream, TreeId, Via};
use crate::snapshot::branch_start_ms;
use std::collections::VecDeque;
use tree::{BranchIndex, ConversationIndex, Trace, TurnRef};

impl Replay {
    /// Starts, as a root's turn is sent, the branches that had begun before the turn's recorded end. Gives the first requests of
    /// those children that start at once.
    pub(super) fn spawn_overlapping(&mut self, tree: TreeId, turn: TurnRef) -> Vec<Order> {
        if self.phase.stage == Stage::Priming {
            return Vec::new();
        }
        let Some(trace) = self.trace_of(tree) else {
            return Vec::new();
        };
        let parent = &trace.conversations[turn.conversation];
        let recorded = &parent.turns[turn.turn];
        let (Some(start), Some(api)) = (recorded.timestamp_ms, recorded.api_time_ms) else {
            return Vec::new();
        };
        if parent.depth > 0 || api <= 0.0 {
            return Vec::new();
        }
        let overlaps = |branch: &BranchIndex| {
            branch_start_ms(&trace, &parent.branches[*branch]).is_some_and(|begun| begun < start + api)
        };
        let branches: Vec<_> = recorded.spawns.iter().copied().filter(overlaps).collect();
        if branches.is_empty() {
            return Vec::new();
        }
        let at_once = self.spawn(tree, &trace, turn.conversation, &branches, Some(start));
        if let Some(tree) = self.trees.get_mut(&tree) {
            tree.spawned_early
                .extend(branches.iter().map(|branch| (turn.conversation, *branch)));
        }
        at_once
    }

    /// Starts, as a turn returns, the branches that were not started as it was sent. Gives the first requests of those that
    /// start at once.
    pub(super) fn spawn_remaining(&mut self, tree: TreeId, turn: TurnRef) -> Vec<Order> {
        let Some((trace, live)) = self.trace_of(tree).zip(self.trees.get(&tree)) else {
            return Vec::new();
        };
        let spawns = &trace.conversations[turn.conversation].turns[turn.turn].spawns;
        let early = |branch: &BranchIndex| live.spawned_early.contains(&(turn.conversation, *branch));
        let branches: Vec<_> = spawns.iter().copied().filter(|branch| !early(branch)).collect();
        if branches.is_empty() {
            return Vec::new();
        }
        self.spawn(tree, &trace, turn.conversation, &branches, None)
    }

    /// Registers all children first, so that no join opens and no tree drains between two of them; then starts each at its
    /// recorded distance from `origin_ms`, or else from its branch's start. Gives the first requests of those that start at once.
    fn spawn(
        &mut self,
        tree_id: TreeId,
        trace: &Trace,
        parent: ConversationIndex,
        branches: &[BranchIndex],
        origin_ms: Option<f64>,
    ) -> Vec<Order> {
        let mut due = Vec::new();
        for &branch in branches {
            let recorded = &trace.conversations[parent].branches[branch];
            let origin = origin_ms.or_else(|| branch_start_ms(trace, recorded));
            let children = self.register(tree_id, trace, parent, branch);
            for child in children {
                let first = trace.conversations[child].turns[0].timestamp_ms;
                let offset_ms = first
                    .zip(origin)
                    .map_or(0.0, |(first, origin)| (first - origin).max(0.0));
                // Cache pressure knows no delays.
                let at_once = self.phase.stage == Stage::Pressure;
                due.push((child, if at_once { 0.0 } else { offset_ms / 1000.0 }));
            }
        }
        if let Some(tree) = self.trees.get_mut(&tree_id) {
            tree.joins.forget_open(parent);
        }
        let order = |child, due| {
            let turn = TurnRef {
                conversation: child,
                turn: 0,
            };
            Order {
                tree: tree_id,
                turn,
                via: Via::Spawn,
                due,
            }
        };
        for &(child, offset_s) in due.iter().filter(|(_, offset_s)| *offset_s > 0.0) {
            let at = self.now + offset_s;
            if self.rules().child_timers_move {
                self.arm(order(child, at));
            } else {
                self.arm_sleep(order(child, at));
            }
        }
        due.iter()
            .filter(|(_, offset_s)| *offset_s <= 0.0)
            .map(|&(child, _)| order(child, self.now))
            .collect()
    }

    /// Makes streams of a branch's children and counts them where they are waited for. Gives those that are new and have
    /// something to send: a conversation without turns is waited for by nobody, and one that the snapshot holds already is
    /// not started twice.
    fn register(
        &mut self,
        tree_id: TreeId,
        trace: &Trace,
        parent: ConversationIndex,
        branch: BranchIndex,
    ) -> Vec<ConversationIndex> {
        let recorded = &trace.conversations[parent];
        let gates: Vec<usize> = joins::gates(recorded, branch).collect();
        let Some(tree) = self.trees.get_mut(&tree_id) else {
            return Vec::new();
        };
        let children = recorded.branches[branch].children.iter().copied();
        let new: Vec<_> = children
            .filter(|child| {
                !trace.conversations[*child].turns.is_empty() && !tree.streams.contains_key(child)
            })
            .collect();
        for &child in &new {
            self.streams += 1;
            let origin = Some((branch, gates.clone()));
            tree.streams.insert(
                child,
                Stream {
                    id: StreamId(self.streams),
                    open: true,
                    origin,
                },
            );
        }
        tree.open_children += new.len();
        for gate in gates {
            tree.joins
                .expect(parent, recorded, gate, branch, new.len(), Seed::Live);
        }
        new
    }

    /// Counts a child that is live in a lane's snapshot. `root_next` is where the root goes on; where it does not, nothing
    /// waits for the child but the tree.
    pub(super) fn resume_child(
        &mut self,
        tree_id: TreeId,
        trace: &Trace,
        child: ConversationIndex,
        branch: BranchIndex,
        root_next: Option<usize>,
    ) {
        let root = &trace.conversations[0];
        let Some(tree) = self.trees.get_mut(&tree_id) else {
            return;
        };
        let Some(stream) = tree.streams.get_mut(&child) else {
            return;
        };
        let gates: Vec<usize> = root_next.map_or_else(Vec::new, |_| joins::gates(root, branch).collect());
        stream.open = true;
        stream.origin = Some((branch, gates.clone()));
        tree.open_children += 1;
        let seed = Seed::Snapshot {
            next_turn: root_next.unwrap_or_default(),
        };
        for gate in gates {
            tree.joins.expect(0, root, gate, branch, 1, seed);
        }
    }

    /// A child has sent its last: joins that waited for it may open, and its tree may be drained; `then` follows.
    pub(super) fn end_child(&mut self, tree_id: TreeId, child: ConversationIndex, then: Then) {
        let Some((trace, tree)) = self.trace_of(tree_id).zip(self.trees.get_mut(&tree_id)) else {
            return self.go(then);
        };
        let Some(stream) = tree.streams.get_mut(&child).filter(|stream| stream.open) else {
            return self.go(then);
        };
        stream.open = false;
        let (branch, gates) = stream.origin.clone().unwrap_or_default();
        let parent = trace.conversations[child].parent.unwrap_or_default();
        let opened = gates
            .into_iter()
            .filter(|gate| tree.joins.end_child(parent, *gate, branch))
            .collect();
        self.open_joins(tree_id, parent, opened, then);
    }

    /// Lets a parent go on at joins that a child's end has opened; then the child is done with.
    pub(super) fn open_joins(
        &mut self,
        tree_id: TreeId,
        parent: ConversationIndex,
        mut gates: VecDeque<usize>,
        then: Then,
    ) {
        if let Some(gate) = gates.pop_front() {
            let order = Order {
                tree: tree_id,
                turn: TurnRef {
                    conversation: parent,
                    turn: gate,
                },
                via: Via::Join,
                due: self.now,
            };
            return self.submit_then(order, Then::Joins(tree_id, parent, gates, Box::new(then)));
        }
        if let Some(tree) = self.trees.get_mut(&tree_id) {
            tree.open_children -= 1;
        }
        self.drain_if_done(tree_id);
        self.go(then);
    }

    /// Frees the lane of a tree of which nothing is left; the lane takes its next tree after the event at hand.
    pub(super) fn drain_if_done(&mut self, tree_id: TreeId) {
        if !self
            .trees
            .get(&tree_id)
            .is_some_and(crate::live::Tree::is_drained)
        {
            return;
        }
        if let Some(tree) = self.trees.remove(&tree_id) {
            self.abandoned_joins += usize::from(tree.joins.any());
            if tree.watchdog.at.is_some() {
                self.show(Effect::Drop(Due::Watchdog(tree_id)));
            }
            self.defer_recycle(tree.lane);
        }
    }
}
