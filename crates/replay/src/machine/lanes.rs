//! Lanes: the trees they hold, their markers, and how a stage lets them go on (`aiperf-replay` §2.5, §4.3, §5.2).

use super::deferred::Then;
use super::{Replay, StreamId};
use crate::barrier::Barrier;
use crate::joins::Joins;
use crate::live::{Order, Stream, Tree, TreeId, Via, Watchdog};
use crate::snapshot::{StreamStart, next_usable};
use crate::{Seconds, marker_hex};
use std::collections::{BTreeMap, HashSet, VecDeque};
use tree::TurnRef;

/// A lane's tree, and where its streams go on.
#[derive(Clone)]
pub(super) struct Resume {
    pub(super) tree: TreeId,
    pub(super) streams: Vec<StreamStart>,
}

/// When the streams of a lane go on.
#[derive(Clone, Copy)]
pub(super) enum Start {
    /// All that do not wait, now.
    AtOnce,
    /// Each at its offset, less what is taken off all streams of all lanes; that of the lane itself if it is not stated.
    AtOffsets(Option<f64>),
}

impl Stream {
    /// Nobody waits for it any more.
    pub(super) fn close(&mut self) {
        self.open = false;
    }
}

impl Replay {
    /// The trees that the lanes' snapshots become. Their streams are made here, so that warm-up and measurement share them;
    /// markers are minted when they are first needed, and children are counted when their lane goes on.
    pub(super) fn open_lanes(&mut self) {
        for lane in 0..self.plan.lanes.len() {
            let start = self.plan.lanes[lane].clone();
            let root_pending = start.streams.iter().any(|stream| stream.conversation == 0);
            let tree = self.open_tree(start.lane, start.trace, root_pending);
            let children = start
                .streams
                .iter()
                .map(|stream| stream.conversation)
                .filter(|index| *index != 0);
            if let Some(live) = self.trees.get_mut(&tree) {
                live.origin_ms = start.t_star_ms;
                live.barrier.seed(&start.completed);
                for child in children {
                    self.streams += 1;
                    live.streams.insert(
                        child,
                        Stream {
                            id: StreamId(self.streams),
                            open: false,
                            origin: None,
                        },
                    );
                }
            }
            self.resumes.push(Resume {
                tree,
                streams: start.streams,
            });
        }
    }

    pub(super) fn open_tree(&mut self, lane: u32, trace: usize, root_pending: bool) -> TreeId {
        self.streams += 1;
        // A tree is named after its root's stream.
        let id = self.streams;
        let root = Stream {
            id: StreamId(id),
            open: false,
            origin: None,
        };
        let first = self.traces[trace].conversations[0].turns.first();
        let tree = Tree {
            lane,
            trace,
            pass: 0,
            marker: String::new(),
            root_pending,
            open_children: 0,
            barrier: Barrier::default(),
            joins: Joins::default(),
            streams: BTreeMap::from([(0, root)]),
            spawned_early: HashSet::new(),
            origin_ms: first.and_then(|turn| turn.timestamp_ms).unwrap_or(0.0),
            in_flight: 0,
            watchdog: Watchdog::default(),
        };
        self.trees.insert(id, tree);
        id
    }

    /// Gives the tree its marker unless it has one. The order of minting decides the pass numbers.
    fn mint(&mut self, tree: TreeId) {
        let Some(tree) = self.trees.get_mut(&tree).filter(|tree| tree.marker.is_empty()) else {
            return;
        };
        let pass = self.passes.entry(tree.trace).or_default();
        tree.pass = *pass;
        *pass += 1;
        let trace_id = &self.traces[tree.trace].id;
        tree.marker = marker_hex(&self.settings.benchmark_id, tree.pass, tree.lane, trace_id);
    }

    /// One primer for each stream with a turn before the instant, with its lead over that instant in ms.
    pub(super) fn primers(&mut self) -> Vec<(Order, f64)> {
        let lead_max_ms = if self.rules().primer_lead_capped {
            self.settings.system_idle_gap_cap_s * 1000.0
        } else {
            f64::INFINITY
        };
        let mut primers = Vec::new();
        for lane in 0..self.plan.lanes.len() {
            let (start, tree) = (self.plan.lanes[lane].clone(), self.resumes[lane].tree);
            for stream in &start.streams {
                let Some(turn) = stream.warmup_turn else { continue };
                self.mint(tree);
                let conversation = &self.traces[start.trace].conversations[stream.conversation];
                let lead_ms = conversation.turns[turn]
                    .timestamp_ms
                    .map_or(0.0, |at| start.t_star_ms - at);
                let turn = TurnRef {
                    conversation: stream.conversation,
                    turn,
                };
                let order = Order {
                    tree,
                    turn,
                    via: Via::Primer,
                    due: self.now,
                };
                primers.push((order, lead_ms.min(lead_max_ms)));
            }
        }
        primers
    }

    /// What is taken off the offsets of all lanes as the measurement begins.
    pub(super) fn start_shift(&self) -> Start {
        if self.settings.burst_phase_starts {
            return Start::AtOffsets(None);
        }
        if !self.rules().common_start_shift {
            return Start::AtOffsets(Some(0.0));
        }
        let going = self
            .resumes
            .iter()
            .flat_map(|lane| &lane.streams)
            .filter(|stream| !stream.waiting);
        let earliest_ms = going.map(|stream| stream.offset_ms).reduce(f64::min);
        Start::AtOffsets(Some(earliest_ms.unwrap_or(0.0)))
    }

    /// Lets a lane's tree go on.
    pub(super) fn start_lane(&mut self, lane: usize, start: Start) {
        let Resume { tree, streams } = self.resumes[lane].clone();
        let Some(trace) = self.trace_of(tree) else { return };
        self.mint(tree);
        let root = streams.iter().find(|stream| stream.conversation == 0);
        for child in streams.iter().filter(|stream| stream.conversation != 0) {
            if let Some(branch) = child.branch {
                self.resume_child(
                    tree,
                    &trace,
                    child.conversation,
                    branch,
                    root.map(|root| root.next_turn),
                );
            }
        }
        let going = || streams.iter().filter(|stream| !stream.waiting);
        let shift_ms = match start {
            Start::AtOnce => f64::INFINITY,
            Start::AtOffsets(Some(common_ms)) => common_ms,
            Start::AtOffsets(None) => going()
                .map(|stream| stream.offset_ms)
                .fold(f64::INFINITY, f64::min),
        };
        if let Some(root) = root.filter(|root| root.waiting) {
            let turn = TurnRef {
                conversation: 0,
                turn: root.next_turn,
            };
            if let Some(live) = self.trees.get_mut(&tree) {
                live.joins.suspend(turn, false);
            }
            self.arm_join_delay(tree, turn, (root.offset_ms - shift_ms) / 1000.0);
        }
        let order = |stream: &StreamStart| Order {
            tree,
            turn: TurnRef {
                conversation: stream.conversation,
                turn: stream.next_turn,
            },
            via: Via::Start,
            due: self.now,
        };
        let streams = going()
            .map(|stream| (order(stream), (stream.offset_ms - shift_ms) / 1000.0))
            .collect();
        self.start_streams(tree, streams);
    }

    /// Starts streams one after the other, each after so many seconds.
    pub(super) fn start_streams(&mut self, tree: TreeId, mut streams: VecDeque<(Order, Seconds)>) {
        while let Some((order, offset_s)) = streams.pop_front() {
            if offset_s <= 0.0 {
                return self.submit_then(order, Then::Lane(tree, streams));
            }
            let due = self.now + offset_s;
            self.arm(Order { due, ..order });
        }
        self.arm_watchdog(tree);
    }

    /// Gives a drained lane its next tree, from the beginning of the next trace.
    pub(super) fn recycle(&mut self, lane: u32) {
        if !self.may_start_tree() {
            return self.go(Then::Done);
        }
        let Some(trace) = next_usable(&mut self.plan.sampler, &self.traces) else {
            return self.go(Then::Done);
        };
        let tree = self.open_tree(lane, trace, true);
        self.mint(tree);
        let turn = TurnRef {
            conversation: 0,
            turn: 0,
        };
        let order = Order {
            tree,
            turn,
            via: Via::Start,
            due: self.now,
        };
        self.submit_then(order, Then::Done);
    }
}
