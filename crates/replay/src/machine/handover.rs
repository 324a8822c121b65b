//! From cache pressure to the measurement: which streams go on, from where, and when (`aiperf-replay` §4.6).

use super::lanes::Resume;
use super::{Replay, StreamId};
use crate::joins::Joins;
use crate::live::{Order, Stream, TreeId};
use crate::snapshot::{StreamStart, next_usable};
use crate::{Rules, Seconds};
use std::collections::BTreeMap;
use tree::{ConversationIndex, Trace, TurnRef};

/// What is known, while the warm-up goes on, of where each stream stands.
#[derive(Default)]
pub(super) struct HandOver {
    /// The last turn of each stream that returned and was not its final one, and when.
    last: BTreeMap<(TreeId, ConversationIndex), (usize, Seconds)>,
    /// Primers that returned: a parent that waits all through cache pressure has no later turn.
    primed: Vec<(TreeId, TurnRef)>,
    /// Turns for which their lane's share did not suffice.
    deferred: Vec<Order>,
}

impl HandOver {
    pub(super) fn primer_returned(&mut self, tree: TreeId, turn: TurnRef) {
        self.primed.push((tree, turn));
    }

    /// Cache pressure begins: where the dialect has it so, primers count as turns that returned.
    pub(super) fn begin_pressure(&mut self, rules: Rules, now: Seconds) {
        for (tree, turn) in self.primed.drain(..) {
            if rules.hand_over_waiting_parents {
                self.last.insert((tree, turn.conversation), (turn.turn, now));
            }
        }
    }

    pub(super) fn returned(&mut self, tree: TreeId, turn: TurnRef, is_final: bool, now: Seconds) {
        if is_final {
            self.last.remove(&(tree, turn.conversation));
        } else {
            self.last.insert((tree, turn.conversation), (turn.turn, now));
        }
    }

    pub(super) fn defer(&mut self, order: Order) {
        self.deferred.push(order);
    }

    /// The streams of one tree: those that returned, then turns that were due and did not go out.
    fn streams(
        &self,
        tree: TreeId,
        held: Vec<Order>,
    ) -> BTreeMap<ConversationIndex, (usize, Option<Seconds>)> {
        let returned = self.last.range((tree, 0)..=(tree, usize::MAX));
        let mut next: BTreeMap<_, _> = returned
            .map(|((_, conversation), (turn, at))| (*conversation, (turn + 1, Some(*at))))
            .collect();
        let deferred = self.deferred.iter().copied().filter(|order| order.tree == tree);
        for order in held.into_iter().chain(deferred) {
            next.entry(order.turn.conversation)
                .or_insert((order.turn.turn, None));
        }
        next
    }
}

impl Replay {
    /// Makes the lanes' trees ready to go on in the measurement. A lane of which nothing is left takes the next trace.
    pub(super) fn hand_lanes_over(&mut self) {
        let mut resumes = Vec::new();
        for lane in 0..self.resumes.len() {
            let live = self
                .trees
                .iter()
                .find(|(_, tree)| tree.lane as usize == lane)
                .map(|(id, _)| *id);
            let streams = live.map_or_else(Vec::new, |tree| self.hand_tree_over(tree));
            match live.filter(|_| !streams.is_empty()) {
                Some(tree) => resumes.push(Resume { tree, streams }),
                None => resumes.push(self.hand_next_trace_over(lane, live)),
            }
        }
        self.resumes = resumes;
        self.hand_over = HandOver::default();
        self.deferred.clear();
        self.abandoned_joins = 0;
    }

    fn hand_next_trace_over(&mut self, lane: usize, empty: Option<TreeId>) -> Resume {
        let Some(trace) = next_usable(&mut self.plan.sampler, &self.traces) else {
            return Resume {
                tree: 0,
                streams: Vec::new(),
            };
        };
        if let Some(empty) = empty {
            self.trees.remove(&empty);
        }
        let tree = self.open_tree(lane as u32, trace, true);
        let root = StreamStart {
            conversation: 0,
            next_turn: 0,
            offset_ms: 0.0,
            waiting: false,
            join_turn: None,
            branch: None,
            warmup_turn: None,
        };
        Resume {
            tree,
            streams: vec![root],
        }
    }

    /// Where the streams of a live tree go on. What the tree waits for is counted anew when they do.
    fn hand_tree_over(&mut self, id: TreeId) -> Vec<StreamStart> {
        let Some(trace) = self.trace_of(id) else {
            return Vec::new();
        };
        let (rules, now) = (self.rules(), self.now);
        let Some(tree) = self.trees.get_mut(&id) else {
            return Vec::new();
        };
        let held = tree
            .barrier
            .take_held()
            .into_iter()
            .map(|(_, order)| order)
            .collect();
        let next = self.hand_over.streams(id, held);
        let mut streams: Vec<(u32, StreamId, StreamStart)> = Vec::new();
        for (conversation, (turn, returned_at)) in next {
            let Some(stream) = tree.streams.get(&conversation) else {
                continue;
            };
            let waiting = tree.joins.stands_at(TurnRef { conversation, turn });
            let start = StreamStart {
                conversation,
                next_turn: turn,
                offset_ms: if rules.hand_over_on_trace_clock {
                    on_trace_clock(&trace, conversation, turn, tree.origin_ms)
                } else {
                    rest_of_delay(
                        &trace,
                        conversation,
                        turn,
                        returned_at.map(|at| between_ms(at, now)),
                    )
                },
                waiting,
                join_turn: None,
                branch: stream.origin.as_ref().map(|(branch, _)| *branch),
                warmup_turn: None,
            };
            streams.push((trace.conversations[conversation].depth, stream.id, start));
        }
        streams.sort_by_key(|(depth, id, _)| (*depth, id.0));
        let streams: Vec<StreamStart> = streams.into_iter().map(|(_, _, start)| start).collect();
        tree.barrier.seed(
            &streams
                .iter()
                .map(|stream| (stream.conversation, stream.next_turn))
                .collect::<Vec<_>>(),
        );
        tree.joins = Joins::default();
        tree.spawned_early.clear();
        tree.open_children = 0;
        tree.root_pending = streams.iter().any(|stream| stream.conversation == 0);
        tree.streams.values_mut().for_each(Stream::close);
        streams
    }
}

/// The turn's place after the instant at which its tree began.
fn on_trace_clock(trace: &Trace, conversation: ConversationIndex, turn: usize, origin_ms: f64) -> f64 {
    let turn = &trace.conversations[conversation].turns[turn];
    turn.timestamp_ms
        .map_or_else(|| turn.delay_ms.unwrap_or(0.0), |at| at - origin_ms)
        .max(0.0)
}

/// What is left of the turn's recorded delay after so many ms; nothing of a turn that was due already.
fn rest_of_delay(trace: &Trace, conversation: ConversationIndex, turn: usize, waited_ms: Option<f64>) -> f64 {
    let delay_ms = trace.conversations[conversation].turns[turn]
        .delay_ms
        .unwrap_or(0.0);
    waited_ms.map_or(0.0, |waited_ms| (delay_ms - waited_ms.max(0.0)).max(0.0))
}

/// From one instant to another, on the clock of whole nanoseconds that stock aiperf reads here.
fn between_ms(from: Seconds, to: Seconds) -> f64 {
    ((to * 1e9).round() - (from * 1e9).round()) / 1e6
}
