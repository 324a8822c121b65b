//! A tree while it is being replayed.

use crate::Seconds;
use crate::barrier::Barrier;
use crate::joins::Joins;
use crate::machine::StreamId;
use std::collections::{BTreeMap, HashSet};
use tree::{BranchIndex, ConversationIndex, TurnRef};

/// Names a live tree; never used twice in a run.
pub(crate) type TreeId = u64;

/// Why a turn is due, which decides what a refusal does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    /// A warm-up request.
    Primer,
    /// A stream's first request of the phase, or a recycled root's turn 0.
    Start,
    /// The turn after the one that returned.
    Next,
    /// The first request of a child that its parent started.
    Spawn,
    /// A turn whose join has opened.
    Join,
    /// No turn yet: the recorded delay of one at which its parent stands is over.
    JoinDelay,
}

/// A turn to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    pub(crate) tree: TreeId,
    pub(crate) turn: TurnRef,
    pub(crate) via: Via,
    /// When the schedule wants it.
    pub(crate) due: Seconds,
}

/// One live replay of a trace.
pub(crate) struct Tree {
    pub(crate) lane: u32,
    pub(crate) trace: usize,
    /// How many trees of the trace were started before.
    pub(crate) pass: u64,
    pub(crate) marker: String,
    /// The root's last return is still to come. False from the start in a tree whose root lies before the snapshot.
    pub(crate) root_pending: bool,
    /// Children that have not ended, those not started yet included.
    pub(crate) open_children: usize,
    pub(crate) barrier: Barrier<Order>,
    pub(crate) joins: Joins,
    pub(crate) streams: BTreeMap<ConversationIndex, Stream>,
    /// Branches started when their turn was sent, not when it returned.
    pub(crate) spawned_early: HashSet<(ConversationIndex, BranchIndex)>,
    /// What the trace's clock showed where this tree began, in ms.
    pub(crate) origin_ms: f64,
    /// Requests of the tree that are in flight.
    pub(crate) in_flight: usize,
    /// The tree's idle watchdog, in a dialect that has one.
    pub(crate) watchdog: Watchdog,
}

/// Watches a tree for which the trace idle cap holds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watchdog {
    /// When the tree will have idled for the cap.
    pub(crate) at: Option<Seconds>,
    /// It has idled for the cap already, and nothing has gone out since.
    pub(crate) expired: bool,
}

/// One conversation of a live tree.
pub(crate) struct Stream {
    pub(crate) id: StreamId,
    /// A child that has not ended.
    pub(crate) open: bool,
    /// The branch that started it, and the parent's turns that wait for it.
    pub(crate) origin: Option<(BranchIndex, Vec<usize>)>,
}

impl Tree {
    /// Nothing of the tree is left to do: its lane takes the next trace.
    pub(crate) fn is_drained(&self) -> bool {
        !self.root_pending && self.open_children == 0
    }
}
