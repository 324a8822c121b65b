//! The trace idle cap: a tree that has no request in flight for so long has its own timers pulled in (`aiperf-replay` §9.2).
//!
//! Only in a dialect that has the rule, only in the measurement, and only when the cap is set.

use super::Replay;
use super::due::{Due, Effect};
use super::phases::Stage;
use crate::Seconds;
use crate::live::TreeId;

impl Replay {
    fn trace_cap(&self) -> Option<Seconds> {
        let holds = self.rules().tree_idle_watchdog && self.phase.stage == Stage::Window;
        self.settings.trace_idle_gap_cap_s.filter(|_| holds)
    }

    /// When the next watchdog looks.
    pub(super) fn next_watchdog(&self) -> Option<Seconds> {
        self.trace_cap()?;
        self.trees
            .values()
            .filter_map(|tree| tree.watchdog.at)
            .reduce(f64::min)
    }

    /// A request of the tree is on its way.
    pub(super) fn watch_sent(&mut self, id: TreeId) {
        if let Some(tree) = self.trees.get_mut(&id) {
            tree.in_flight += 1;
            let watched = std::mem::take(&mut tree.watchdog).at.is_some();
            if watched {
                self.show(Effect::Drop(Due::Watchdog(id)));
            }
        }
    }

    /// A request of the tree has returned. If that was the tree's last, the fork watches it all the same.
    pub(super) fn watch_returned(&mut self, tree: TreeId) {
        if !self.trees.contains_key(&tree) {
            if let Some(cap) = self.trace_cap() {
                self.show(Effect::Set(Due::Watchdog(tree), self.now + cap));
            }
            return;
        }
        let idles = self.trees.get_mut(&tree).is_some_and(|tree| {
            tree.in_flight = tree.in_flight.saturating_sub(1);
            tree.watchdog.expired &= tree.in_flight > 0;
            tree.in_flight == 0
        });
        if idles {
            self.arm_watchdog(tree);
        }
    }

    /// Watches a tree that idles; one that has idled for the cap already is looked at again at once.
    pub(super) fn arm_watchdog(&mut self, id: TreeId) {
        let Some(cap) = self.trace_cap() else { return };
        let now = self.now;
        if let Some(tree) = self.trees.get_mut(&id).filter(|tree| tree.in_flight == 0) {
            let wait = if tree.watchdog.expired { 0.0 } else { cap };
            if tree.watchdog.at.is_none() {
                tree.watchdog.at = Some(now + wait);
                self.show(Effect::Set(Due::Watchdog(id), now + wait));
            }
        }
    }

    /// A turn that was pulled in is held by the barrier: the tree still idles, so its next timer follows.
    pub(super) fn rearm_expired_watchdog(&mut self, tree: TreeId) {
        if self.trees.get(&tree).is_some_and(|tree| tree.watchdog.expired) {
            self.arm_watchdog(tree);
        }
    }

    /// Trees that have idled for the cap.
    pub(super) fn due_watchdogs(&self) -> Vec<TreeId> {
        if self.trace_cap().is_none() {
            return Vec::new();
        }
        let due = |at: Option<Seconds>| at.is_some_and(|at| at <= self.now);
        let idle = self.trees.iter().filter(|(_, tree)| due(tree.watchdog.at));
        idle.map(|(id, _)| *id).collect()
    }

    /// Pulls in the timers of a tree that has idled for the cap.
    pub(super) fn run_watchdog(&mut self, id: TreeId) {
        if let Some(tree) = self.trees.get_mut(&id) {
            tree.watchdog = crate::live::Watchdog {
                at: None,
                expired: true,
            };
            self.pull_in(0.0, |order| order.tree == id);
        }
    }
}
