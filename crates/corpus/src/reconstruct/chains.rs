//! Which requests continue which context: chain detection (`aiperf-corpus` §4.4).
//!
//! Captures write the calls of several agents into one list. Two requests belong to one chain when the later one's block
//! ids begin with all of the earlier one's; whatever fits nowhere founds a chain of its own and remembers where it
//! forked off. [`super::seams`] then undoes the forks that are only a compacted context. Chains are lists of positions
//! in the request list given; nothing here looks at prompt text.

use super::placed::{Placed, TIME_SLACK_S, common_prefix};
use super::seams;

/// Position in the list of requests under detection.
pub(super) type Position = usize;

/// Where a chain left another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fork {
    /// The chain it left, if it shares any block with one.
    pub(super) parent: Option<usize>,
    /// The request of that chain that it shares blocks with.
    pub(super) request: Option<Position>,
    /// How many blocks it shares.
    pub(super) depth: usize,
    /// Start of its first request, in seconds.
    pub(super) time: f64,
}

/// Requests that continue each other, in order.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub(super) members: Vec<Position>,
    /// The last member that has hash ids.
    pub(super) tail: Option<Position>,
    /// `None` for chain 0.
    pub(super) fork: Option<Fork>,
    /// False once it was spliced into another.
    pub(super) live: bool,
}

impl Chain {
    fn founded_by(position: Position, has_ids: bool, fork: Option<Fork>) -> Self {
        Self {
            members: vec![position],
            tail: has_ids.then_some(position),
            fork,
            live: true,
        }
    }
}

/// Chains of one list of requests, seams spliced, or none for an empty list. Chain 0 is the main chain: it holds the
/// earliest request, and chains are spliced only into chains founded before them.
pub(super) fn detect(requests: &[Placed<'_>]) -> Vec<Chain> {
    let mut order: Vec<Position> = (0..requests.len()).collect();
    order.sort_by(|a, b| requests[*a].order(&requests[*b]));
    let mut chains: Vec<Chain> = Vec::new();
    for position in order {
        admit(&mut chains, requests, position);
    }
    seams::splice(&mut chains, requests);
    chains
}

/// Finds the chain of the next request in time.
fn admit(chains: &mut Vec<Chain>, requests: &[Placed<'_>], position: Position) {
    let has_ids = !requests[position].request.hash_ids.is_empty();
    if chains.is_empty() {
        chains.push(Chain::founded_by(position, has_ids, None));
        return;
    }
    if !has_ids {
        chains[0].members.push(position);
        return;
    }
    if let Some(extended) = extended_chain(chains, requests, position) {
        chains[extended].members.push(position);
        chains[extended].tail = Some(position);
        return;
    }
    let closest = closest_chain(chains, requests, position);
    if closest.is_none() && chains.iter().all(|chain| chain.tail.is_none()) {
        chains[0].members.push(position);
        chains[0].tail = Some(position);
        return;
    }
    let (parent, depth) = closest.unzip();
    let fork = Fork {
        parent,
        request: parent.and_then(|parent| chains[parent].tail),
        depth: depth.unwrap_or(0),
        time: requests[position].t,
    };
    chains.push(Chain::founded_by(position, true, Some(fork)));
}

/// The chain whose whole tail the request repeats: same model, ended by then, the longest such tail.
fn extended_chain(chains: &[Chain], requests: &[Placed<'_>], position: Position) -> Option<usize> {
    let new = &requests[position];
    let mut best: Option<(usize, usize)> = None;
    for (index, chain) in chains.iter().enumerate() {
        let Some(tail) = chain.tail.map(|tail| &requests[tail]) else {
            continue;
        };
        let length = tail.request.hash_ids.len();
        if best.is_none_or(|(_, longest)| length > longest)
            && new.request.hash_ids.starts_with(&tail.request.hash_ids)
            && tail.request.model == new.request.model
            && tail.end() <= new.t + TIME_SLACK_S
        {
            best = Some((index, length));
        }
    }
    best.map(|(index, _)| index)
}

/// The chain with whose tail the request shares most blocks, and how many; the longer tail among equals.
fn closest_chain(chains: &[Chain], requests: &[Placed<'_>], position: Position) -> Option<(usize, usize)> {
    let ids = &requests[position].request.hash_ids;
    let mut best: Option<(usize, (usize, usize))> = None;
    for (index, chain) in chains.iter().enumerate() {
        let Some(tail) = chain.tail else { continue };
        let tail_ids = &requests[tail].request.hash_ids;
        let rank = (common_prefix(ids, tail_ids), tail_ids.len());
        if rank.0 > 0 && best.is_none_or(|(_, highest)| rank > highest) {
            best = Some((index, rank));
        }
    }
    best.map(|(index, (depth, _))| (index, depth))
}
