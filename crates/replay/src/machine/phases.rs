//! Phases: how they begin, when they stop sending, and when they end (`aiperf-replay` §4, §5.2, §5.6).

use super::idle::Occasion;
use super::{Action, Mark, Phase, Replay, RunEnd, StreamId};
use crate::barrier::Barrier;
use crate::joins::Joins;
use crate::live::{Order, Stream, Tree, TreeId, Via};
use crate::snapshot::next_usable;
use crate::{Seconds, marker_hex};
use std::collections::{BTreeMap, HashSet};
use tree::TurnRef;

/// Longest time that requests in flight may take after the first interrupt; a shorter grace period holds instead.
const INTERRUPT_DRAIN_S: Seconds = 30.0;

/// The phase at hand.
pub(super) struct PhaseState {
    pub(super) phase: Phase,
    pub(super) start: Seconds,
    /// When sending ends at the latest.
    pub(super) window_end: Option<Seconds>,
    /// When what is in flight is cancelled.
    cancel_at: Option<Seconds>,
    /// When the phase ends although it still waits for something.
    force_at: Option<Seconds>,
    pub(super) sent: u64,
    pub(super) sending_complete: bool,
    cancelled: bool,
    /// Set when the run is to end before its time.
    stopping: Option<RunEnd>,
}

impl PhaseState {
    pub(super) fn new(phase: Phase, start: Seconds) -> Self {
        Self {
            phase,
            start,
            window_end: None,
            cancel_at: None,
            force_at: None,
            sent: 0,
            sending_complete: false,
            cancelled: false,
            stopping: None,
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Seconds> {
        if !self.sending_complete {
            return self.window_end;
        }
        if !self.cancelled {
            return self.cancel_at;
        }
        self.force_at
    }
}

impl Replay {
    pub(super) fn start_warmup(&mut self) {
        self.mark(Mark::PhaseStart {
            phase: Phase::Warmup,
            at: self.now,
        });
        self.lane_trees = (0..self.plan.lanes.len())
            .map(|lane| self.open_lane(lane))
            .collect();
        let primers = self.primers();
        let max_lead_ms = primers.iter().map(|(_, lead)| *lead).fold(0.0, f64::max);
        for (order, lead_ms) in primers {
            let offset_s = if self.settings.burst_phase_starts {
                0.0
            } else {
                (max_lead_ms - lead_ms) / 1000.0
            };
            self.start_at(order, offset_s);
        }
        self.check_idle(Occasion::Other);
    }

    /// The tree that a lane's snapshot becomes. Its streams are made here, so that warm-up and measurement share them; its
    /// marker is minted when it is first needed, and its children are counted when profiling begins.
    fn open_lane(&mut self, lane: usize) -> TreeId {
        let start = self.lane_start(lane);
        let root_pending = start.streams.iter().any(|stream| stream.conversation == 0);
        let tree = self.open_tree(start.lane, start.trace, root_pending);
        let children = start
            .streams
            .iter()
            .map(|stream| stream.conversation)
            .filter(|index| *index != 0);
        if let Some(live) = self.trees.get_mut(&tree) {
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
        tree
    }

    fn open_tree(&mut self, lane: u32, trace: usize, root_pending: bool) -> TreeId {
        self.streams += 1;
        // A tree is named after its root's stream.
        let id = self.streams;
        let root = Stream {
            id: StreamId(id),
            open: false,
            origin: None,
        };
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
    fn primers(&mut self) -> Vec<(Order, f64)> {
        let mut primers = Vec::new();
        for lane in 0..self.lane_trees.len() {
            let (start, tree) = (self.lane_start(lane), self.lane_trees[lane]);
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
                primers.push((
                    Order {
                        tree,
                        turn,
                        via: Via::Primer,
                        due: self.now,
                    },
                    lead_ms,
                ));
            }
        }
        primers
    }

    fn start_profiling(&mut self) {
        self.phase = PhaseState::new(Phase::Profiling, self.now);
        let window_end = self.now + self.settings.duration_s;
        self.phase.window_end = Some(window_end);
        self.phase.cancel_at = Some(window_end + self.settings.grace_s);
        self.idle.begin_phase();
        self.mark(Mark::PhaseStart {
            phase: Phase::Profiling,
            at: self.now,
        });
        for lane in 0..self.lane_trees.len() {
            self.start_lane(lane);
        }
        self.check_idle(Occasion::Other);
        self.run_deferred();
    }

    /// Lets a lane's first tree go on from its instant.
    fn start_lane(&mut self, lane: usize) {
        let (start, tree) = (self.lane_start(lane), self.lane_trees[lane]);
        let trace = self.traces[start.trace].clone();
        self.mint(tree);
        let root = start.streams.iter().find(|stream| stream.conversation == 0);
        for child in start.streams.iter().filter(|stream| stream.conversation != 0) {
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
        if let Some(root) = root.filter(|root| root.waiting)
            && let Some(live) = self.trees.get_mut(&tree)
        {
            live.joins.suspend(TurnRef {
                conversation: 0,
                turn: root.next_turn,
            });
        }
        let going: Vec<_> = start.streams.iter().filter(|stream| !stream.waiting).collect();
        let earliest_ms = going
            .iter()
            .map(|stream| stream.offset_ms)
            .fold(f64::INFINITY, f64::min);
        let origin_ms = if self.settings.burst_phase_starts {
            earliest_ms
        } else {
            0.0
        };
        for stream in going {
            let turn = TurnRef {
                conversation: stream.conversation,
                turn: stream.next_turn,
            };
            let order = Order {
                tree,
                turn,
                via: Via::Start,
                due: self.now,
            };
            self.start_at(order, (stream.offset_ms - origin_ms) / 1000.0);
        }
    }

    fn start_at(&mut self, order: Order, offset_s: Seconds) {
        if offset_s > 0.0 {
            let due = self.now + offset_s;
            self.timers.arm(due, Order { due, ..order });
        } else {
            self.submit(order);
        }
    }

    /// Gives a drained lane its next tree, from the beginning of the next trace.
    pub(super) fn recycle(&mut self, lane: u32) {
        if !self.may_send() {
            return;
        }
        let Some(trace) = next_usable(&mut self.plan.sampler, &self.traces) else {
            return;
        };
        let tree = self.open_tree(lane, trace, true);
        self.mint(tree);
        let turn = TurnRef {
            conversation: 0,
            turn: 0,
        };
        self.submit(Order {
            tree,
            turn,
            via: Via::Start,
            due: self.now,
        });
    }

    pub(super) fn fire_due(&mut self) {
        let timers = self.timers.take_due(self.now);
        let timer_fired = !timers.is_empty();
        let mut due: Vec<_> = timers.into_iter().chain(self.sleeps.take_due(self.now)).collect();
        due.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (at, order) in due {
            self.submit(Order { due: at, ..order });
        }
        self.run_deferred();
        if timer_fired {
            self.check_idle(Occasion::Other);
        }
    }

    pub(super) fn interrupt(&mut self) {
        if self.phase.stopping.is_some() {
            self.cancel_all(RunEnd::Interrupted);
            return;
        }
        self.phase.stopping = Some(RunEnd::Interrupted);
        let drain_end = self.now + self.settings.grace_s.min(INTERRUPT_DRAIN_S);
        self.phase.cancel_at = Some(
            self.phase
                .cancel_at
                .map_or(drain_end, |planned| planned.min(drain_end)),
        );
    }

    /// Ends the run at once: what is in flight is cancelled.
    pub(super) fn give_up(&mut self, why: RunEnd) {
        self.phase.stopping = Some(why);
        self.cancel_all(why);
    }

    /// Carries the phase forward as far as this moment allows.
    pub(super) fn conclude(&mut self) {
        while self.ended.is_none() {
            if !self.phase.sending_complete {
                if !self.has_sent_all() {
                    return;
                }
                self.complete_sending();
            }
            let waits =
                !self.in_flight.is_empty() || (self.phase.stopping.is_none() && self.has_branch_work());
            if waits && !self.passes_deadline() {
                return;
            }
            self.complete_phase();
        }
    }

    fn has_sent_all(&self) -> bool {
        let planned = match self.phase.phase {
            Phase::Warmup => Some(self.plan.warmup_request_count() as u64),
            Phase::Profiling => self.settings.request_cap,
        };
        self.phase.stopping.is_some()
            || planned.is_some_and(|planned| self.phase.sent >= planned)
            || self.phase.window_end.is_some_and(|end| self.now >= end)
    }

    /// Children that have not ended and joins that have not opened keep a phase from ending, even if nothing will come of
    /// them any more: stock behaviour.
    fn has_branch_work(&self) -> bool {
        self.abandoned_joins > 0
            || self
                .trees
                .values()
                .any(|tree| tree.open_children > 0 || tree.joins.any())
    }

    /// Whether a deadline ends the phase although it still waits.
    fn passes_deadline(&mut self) -> bool {
        if !self.phase.cancelled {
            if self.phase.cancel_at.is_some_and(|at| self.now >= at) {
                self.cancel_all(self.phase.stopping.unwrap_or(RunEnd::Complete));
                return self.in_flight.is_empty();
            }
            // Without a deadline nothing but the requests in flight is waited for: no join can come any more.
            let endless = self.phase.cancel_at.is_none_or(f64::is_infinite);
            return endless && self.in_flight.is_empty() && self.sleeps.is_empty();
        }
        self.phase.force_at.is_some_and(|at| self.now >= at)
    }

    fn cancel_all(&mut self, why: RunEnd) {
        if self.phase.cancelled {
            return;
        }
        self.phase.cancelled = true;
        self.phase.force_at = Some(self.now + self.settings.dialect.cancel_settle_s());
        self.mark(Mark::CancelAll {
            at: self.now,
            in_flight: self.in_flight.len(),
        });
        if !self.in_flight.is_empty() {
            self.actions.push(Action::CancelAll(why));
        }
    }

    fn complete_sending(&mut self) {
        self.phase.sending_complete = true;
        self.timers.clear();
        self.mark(Mark::SendingComplete {
            phase: self.phase.phase,
            at: self.now,
        });
        let held: Vec<_> = self
            .trees
            .values_mut()
            .flat_map(|tree| tree.barrier.take_held())
            .collect();
        for (_, order) in held {
            self.refuse(order);
        }
        self.recycling.clear();
    }

    fn complete_phase(&mut self) {
        self.mark(Mark::PhaseComplete {
            phase: self.phase.phase,
            at: self.now,
        });
        let ended = self.phase.stopping;
        match self.phase.phase {
            Phase::Warmup if ended.is_none() => self.start_profiling(),
            _ => {
                let end = ended.unwrap_or(RunEnd::Complete);
                self.ended = Some(end);
                self.mark(Mark::End(end));
            }
        }
    }

    fn mark(&mut self, mark: Mark) {
        self.actions.push(Action::Mark(mark));
    }
}
