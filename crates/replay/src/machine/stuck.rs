//! Lanes that stand still for good, which aiperf leaves unsaid: found, so that a person can be told (`aiperf-replay` §3.5).
//!
//! Never changes what is sent.

use super::phases::Stage;
use super::{Mark, Replay};
use crate::live::TreeId;
use std::collections::BTreeSet;

/// What is known of lanes that may stand still.
#[derive(Default)]
pub(super) struct Stuck {
    /// Trees of which a request has returned or a turn was held since the last look.
    suspects: BTreeSet<TreeId>,
    /// Trees that have been reported in this phase.
    pub(super) found: BTreeSet<TreeId>,
}

impl Stuck {
    pub(super) fn suspect(&mut self, tree: TreeId) {
        self.suspects.insert(tree);
    }

    pub(super) fn begin_phase(&mut self) {
        *self = Self::default();
    }
}

impl Replay {
    /// Looks at the suspects, once all that follows from that has happened.
    pub(super) fn look_for_stuck_lanes(&mut self) {
        if !self.deferred.is_empty() || self.stuck.suspects.is_empty() {
            return;
        }
        let suspects = std::mem::take(&mut self.stuck.suspects);
        if self.phase.stage != Stage::Window || self.phase.sending_complete {
            return;
        }
        for id in suspects {
            let Some(tree) = self.trees.get(&id).filter(|tree| tree.in_flight == 0) else {
                continue;
            };
            let lane = tree.lane;
            let comes =
                self.timers.any(|order| order.tree == id) || self.sleeps.any(|order| order.tree == id);
            if !comes && self.stuck.found.insert(id) {
                let at = self.now;
                self.mark(Mark::LaneStuck { lane, at });
            }
        }
    }
}
