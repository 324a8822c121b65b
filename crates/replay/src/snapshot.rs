//! The plan: which trace each lane starts with, the instant of it at which the lane starts, and what that instant cuts.
//!
//! Fixed by the seed alone, before anything is sent (`aiperf-replay` §2).

use crate::sampler::Sampler;
use crate::{Sampling, Settings, Warmup};
use rng::{Numpy, stream};
use std::sync::Arc;
use tree::{Branch, BranchIndex, Conversation, ConversationIndex, Trace, Turn};

/// Why no plan could be drawn.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PlanError {
    /// No trace has a turn that could be sent.
    #[error("empty pool: none of the {traces} traces has a request that could be sent")]
    EmptyPool {
        /// Traces that were looked at.
        traces: usize,
    },
    /// The settings ask for what the dialect does not have.
    #[error("the dialect {dialect} knows no {what}")]
    UnknownToDialect {
        /// Its name.
        dialect: &'static str,
        /// What is asked for.
        what: &'static str,
    },
}

/// What the dialect does not have cannot be left out in silence.
fn refuse_unknown(settings: &Settings) -> Result<(), PlanError> {
    let rules = settings.dialect.rules();
    let asked = [
        (
            matches!(settings.warmup, Warmup::PressureRequests(_)) && !rules.requests_per_lane,
            "cache pressure by requests per lane",
        ),
        (
            settings.trace_idle_gap_cap_s.is_some() && !rules.tree_idle_watchdog,
            "trace idle cap",
        ),
    ];
    let unknown = asked.into_iter().find(|(is_unknown, _)| *is_unknown);
    unknown.map_or(Ok(()), |(_, what)| {
        Err(PlanError::UnknownToDialect {
            dialect: settings.dialect.name(),
            what,
        })
    })
}

/// What every lane starts with.
pub struct Plan {
    /// In lane order. Fewer than asked for only when the pool has too few usable traces.
    pub lanes: Vec<LaneStart>,
    pub(crate) sampler: Sampler,
    sampling: Sampling,
    seed: u64,
}

/// One lane's first tree, cut at an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneStart {
    /// Position in [`Plan::lanes`].
    pub lane: u32,
    /// Position of the trace in the corpus.
    pub trace: usize,
    /// The instant, in ms on the trace's clock.
    pub t_star_ms: f64,
    /// What goes on from there: the root first, if it does, then live children in branch order.
    pub streams: Vec<StreamStart>,
    /// Turns of each conversation that lie before the instant, where there are any; sorted by conversation id.
    pub completed: Vec<(ConversationIndex, usize)>,
}

/// One conversation that goes on from the instant.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamStart {
    /// Which conversation.
    pub conversation: ConversationIndex,
    /// Its first turn at or after the instant.
    pub next_turn: usize,
    /// From the instant to that turn's recorded start, in ms.
    pub offset_ms: f64,
    /// The next turn waits for children that are live at the instant.
    pub waiting: bool,
    /// The turn of the parent that waits for this conversation; for a waiting root, its own next turn.
    pub join_turn: Option<usize>,
    /// The branch that started it.
    pub branch: Option<BranchIndex>,
    /// The turn sent in warm-up, the last before the instant.
    pub warmup_turn: Option<usize>,
}

impl LaneStart {
    /// The turn at which the root goes on; 0 when it does not.
    pub fn root_next_turn(&self) -> usize {
        self.streams
            .iter()
            .find(|stream| stream.conversation == 0)
            .map_or(0, |root| root.next_turn)
    }
}

impl Plan {
    /// Draws the lanes.
    pub fn draw(traces: &[Arc<Trace>], settings: &Settings) -> Result<Self, PlanError> {
        refuse_unknown(settings)?;
        let mut sampler = Sampler::new(settings.sampling, settings.seed, traces.len());
        let mut lanes = Vec::new();
        // aiperf's bound on skipping unusable traces.
        let attempts = settings.concurrency as usize + 2 * sampler.size().max(1);
        for _ in 0..attempts {
            if lanes.len() == settings.concurrency as usize {
                break;
            }
            let Some(trace) = sampler.next() else { break };
            let lane = lanes.len() as u32;
            lanes.extend(cut(&traces[trace], trace, lane, settings));
        }
        if lanes.is_empty() {
            return Err(PlanError::EmptyPool { traces: traces.len() });
        }
        Ok(Self {
            lanes,
            sampler,
            sampling: settings.sampling,
            seed: settings.seed,
        })
    }

    /// Primers that the warm-up sends.
    pub fn warmup_request_count(&self) -> usize {
        self.lanes
            .iter()
            .flat_map(|lane| &lane.streams)
            .filter(|stream| stream.warmup_turn.is_some())
            .count()
    }

    /// The traces that the first `count` recycled trees replay, whichever lanes they land on.
    pub fn next_recycled(&self, traces: &[Arc<Trace>], count: usize) -> Vec<usize> {
        let mut ahead = Sampler::new(self.sampling, self.seed, traces.len());
        let mut lanes = 0;
        while lanes < self.lanes.len() {
            match ahead.next() {
                Some(trace) if is_usable(&traces[trace]) => lanes += 1,
                Some(_) => {}
                None => return Vec::new(),
            }
        }
        let mut recycled = Vec::new();
        while recycled.len() < count {
            match next_usable(&mut ahead, traces) {
                Some(trace) => recycled.push(trace),
                None => break,
            }
        }
        recycled
    }
}

/// The next trace that can be replayed from its beginning; looks at no more than one pass of the pool.
pub(crate) fn next_usable(sampler: &mut Sampler, traces: &[Arc<Trace>]) -> Option<usize> {
    (0..sampler.size()).find_map(|_| sampler.next().filter(|trace| is_usable(&traces[*trace])))
}

/// A trace is usable when its root has a turn and something has a time.
fn is_usable(trace: &Trace) -> bool {
    !trace.conversations[0].turns.is_empty() && bounds(trace).is_some()
}

fn cut(trace: &Trace, index: usize, lane: u32, settings: &Settings) -> Option<LaneStart> {
    if trace.conversations[0].turns.is_empty() {
        return None;
    }
    let (start, end) = bounds(trace)?;
    let low = start + settings.min_ratio * (end - start);
    let high = (start + settings.max_ratio * (end - start)).max(low);
    let t_star_ms = if high > low {
        Numpy::new(stream::lane(settings.seed, &trace.id, lane)).uniform(low, high)
    } else {
        low
    };
    Some(LaneStart {
        lane,
        trace: index,
        t_star_ms,
        streams: streams(trace, t_star_ms),
        completed: completed(trace, t_star_ms),
    })
}

/// First and last recorded start over all conversations.
fn bounds(trace: &Trace) -> Option<(f64, f64)> {
    let starts = trace
        .conversations
        .iter()
        .flat_map(|conversation| &conversation.turns)
        .filter_map(start_ms);
    starts.fold(None, |bounds, at| match bounds {
        None => Some((at, at)),
        Some((first, last)) => Some((first.min(at), last.max(at))),
    })
}

fn start_ms(turn: &Turn) -> Option<f64> {
    turn.timestamp_ms.filter(|at| at.is_finite())
}

/// The first turn, in order of sending, that starts at or after `t_star_ms`.
fn next_turn(conversation: &Conversation, t_star_ms: f64) -> Option<usize> {
    conversation
        .turns
        .iter()
        .position(|turn| turn.timestamp_ms.is_some_and(|at| at >= t_star_ms))
}

fn streams(trace: &Trace, t_star_ms: f64) -> Vec<StreamStart> {
    let root = &trace.conversations[0];
    let root_next = next_turn(root, t_star_ms);
    let mut children = Vec::new();
    let mut root_waits = false;
    for (index, branch) in root.branches.iter().enumerate() {
        let join_turn = joining_turn(root, index);
        for &child in &branch.children {
            let conversation = &trace.conversations[child];
            let Some(next) = next_turn(conversation, t_star_ms) else {
                continue;
            };
            if !has_spawned(trace, branch, index, child, root_next, t_star_ms) {
                continue;
            }
            root_waits |= join_turn.is_some() && join_turn == root_next;
            children.push(stream_at(
                conversation,
                child,
                next,
                t_star_ms,
                join_turn,
                Some(index),
            ));
        }
    }
    let root = root_next.map(|next| {
        let join_turn = root_waits.then_some(next);
        StreamStart {
            waiting: root_waits,
            ..stream_at(root, 0, next, t_star_ms, join_turn, None)
        }
    });
    root.into_iter().chain(children).collect()
}

fn stream_at(
    conversation: &Conversation,
    index: ConversationIndex,
    next_turn: usize,
    t_star_ms: f64,
    join_turn: Option<usize>,
    branch: Option<BranchIndex>,
) -> StreamStart {
    let at = conversation.turns[next_turn].timestamp_ms.unwrap_or(t_star_ms);
    StreamStart {
        conversation: index,
        next_turn,
        offset_ms: (at - t_star_ms).max(0.0),
        waiting: false,
        join_turn,
        branch,
        warmup_turn: next_turn.checked_sub(1),
    }
}

/// The turn that waits for a branch; none for a background branch.
fn joining_turn(parent: &Conversation, branch: BranchIndex) -> Option<usize> {
    if parent.branches[branch].background {
        return None;
    }
    parent.turns.iter().position(|turn| turn.joins.contains(&branch))
}

/// Whether the children of a branch had been started at the instant. A branch whose spawning turn lies before the instant
/// counts as started even when its own start lies after it (`aiperf-replay` §2.3).
fn has_spawned(
    trace: &Trace,
    branch: &Branch,
    index: BranchIndex,
    child: ConversationIndex,
    root_next: Option<usize>,
    t_star_ms: f64,
) -> bool {
    let Some(start) = branch_start_ms(trace, branch) else {
        let first = trace.conversations[child]
            .turns
            .first()
            .and_then(|turn| turn.timestamp_ms);
        return first.is_none_or(|at| at <= t_star_ms);
    };
    if start <= t_star_ms {
        return true;
    }
    let root = &trace.conversations[0];
    let Some(spawning) = root.turns.iter().position(|turn| turn.spawns.contains(&index)) else {
        return false;
    };
    let spawned_before = root.turns[spawning]
        .timestamp_ms
        .is_some_and(|at| at <= t_star_ms);
    spawned_before && root_next.is_none_or(|next| next > spawning)
}

/// Recorded start of a branch, else the earliest first request of its children.
pub(crate) fn branch_start_ms(trace: &Trace, branch: &Branch) -> Option<f64> {
    branch.start_ms.or_else(|| {
        let firsts = branch
            .children
            .iter()
            .filter_map(|child| trace.conversations[*child].turns.first());
        firsts.filter_map(|turn| turn.timestamp_ms).reduce(f64::min)
    })
}

fn completed(trace: &Trace, t_star_ms: f64) -> Vec<(ConversationIndex, usize)> {
    let before =
        |conversation: &Conversation| next_turn(conversation, t_star_ms).unwrap_or(conversation.turns.len());
    let mut completed: Vec<_> = trace
        .conversations
        .iter()
        .enumerate()
        .map(|(index, conversation)| (index, before(conversation)))
        .filter(|(_, turns)| *turns > 0)
        .collect();
    completed.sort_by(|a, b| trace.conversations[a.0].id.cmp(&trace.conversations[b.0].id));
    completed
}
