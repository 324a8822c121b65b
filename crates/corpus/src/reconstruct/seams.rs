//! Compaction seams: a chain that goes on where another ended, with a shortened context, is the same agent
//! (`aiperf-corpus` §4.4, phase 2).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use super::chains::{Chain, Fork, Position};
use super::placed::{Placed, TIME_SLACK_S, common_prefix};

/// A continuation after a longer pause than this, in seconds, must share much to count as one.
const SEAM_MAX_GAP_S: f64 = 3600.0;

/// How much: the share of the earlier request's blocks.
const SEAM_MIN_OVERLAP: f64 = 0.5;

/// The state of the search over one list of chains.
struct Splicer<'a, 'r> {
    chains: &'a mut [Chain],
    requests: &'a [Placed<'r>],
    /// For each request the chain that it was admitted to.
    admitted_to: Vec<usize>,
    /// For each spliced chain the one that took its requests.
    taken_by: Vec<usize>,
    /// Chains that forked off a request, by that request.
    registered: HashMap<Position, Vec<usize>>,
}

/// Splices every chain that continues another into it, and points the forks left at live chains.
pub(super) fn splice(chains: &mut [Chain], requests: &[Placed<'_>]) {
    let mut admitted_to = vec![0; requests.len()];
    let mut registered: HashMap<Position, Vec<usize>> = HashMap::new();
    for (index, chain) in chains.iter().enumerate() {
        for member in &chain.members {
            admitted_to[*member] = index;
        }
        if let Some(Fork {
            request: Some(request),
            ..
        }) = chain.fork
        {
            registered.entry(request).or_default().push(index);
        }
    }
    let mut queue: BinaryHeap<Reverse<Position>> = registered.keys().copied().map(Reverse).collect();
    let taken_by = (0..chains.len()).collect();
    let mut splicer = Splicer {
        chains,
        requests,
        admitted_to,
        taken_by,
        registered,
    };
    let mut done = HashSet::new();
    while let Some(Reverse(request)) = queue.pop() {
        if !done.insert(request) {
            continue;
        }
        if let Some(moved_to) = splicer.settle(request) {
            done.remove(&moved_to);
            queue.push(Reverse(moved_to));
        }
    }
    splicer.point_forks_at_live_chains();
}

impl Splicer<'_, '_> {
    /// The live chain that holds a request now.
    fn owner(&self, request: Position) -> usize {
        self.live(self.admitted_to[request])
    }

    fn live(&self, mut chain: usize) -> usize {
        while self.taken_by[chain] != chain {
            chain = self.taken_by[chain];
        }
        chain
    }

    /// Elects the continuation of `request` among the chains that forked off it. Gives the request under which the
    /// other forks stand now, if any had to move.
    fn settle(&mut self, request: Position) -> Option<Position> {
        let owner = self.owner(request);
        if self.chains[owner].tail != Some(request) {
            return None;
        }
        let siblings = self.registered.get(&request)?.clone();
        let elected = self.elect(request, &siblings)?;
        self.append(owner, elected);
        let tail = self.chains[owner].tail?;
        let moved: Vec<usize> = siblings
            .into_iter()
            .filter(|sibling| self.chains[*sibling].live && self.move_fork(*sibling, owner, tail))
            .collect();
        if moved.is_empty() {
            return None;
        }
        self.registered.entry(tail).or_default().extend(moved);
        Some(tail)
    }

    fn elect(&self, request: Position, siblings: &[usize]) -> Option<usize> {
        let end = self.requests[request].end();
        let earlier = self.requests[request].request;
        let continues = |chain: &&usize| {
            let chain = &self.chains[**chain];
            let (Some(fork), Some(first)) = (chain.fork, chain.members.first()) else {
                return false;
            };
            let first = &self.requests[*first];
            let overlap = fork.depth as f64 / earlier.hash_ids.len() as f64;
            let far = first.t - end > SEAM_MAX_GAP_S && overlap < SEAM_MIN_OVERLAP;
            chain.live
                && fork.depth > 0
                && fork.request == Some(request)
                && first.t >= end - TIME_SLACK_S
                && first.request.model == earlier.model
                && !far
        };
        let rank = |chain: &usize| {
            let fork = self.chains[*chain].fork.expect("a registered chain has forked");
            (fork.depth, fork.time)
        };
        let better = |a: &usize, b: &usize| {
            let ((depth_a, time_a), (depth_b, time_b)) = (rank(a), rank(b));
            depth_a
                .cmp(&depth_b)
                .then(time_b.total_cmp(&time_a))
                .then(b.cmp(a))
        };
        siblings.iter().filter(continues).copied().max_by(better)
    }

    fn append(&mut self, owner: usize, elected: usize) {
        let members = std::mem::take(&mut self.chains[elected].members);
        let tail = self.chains[elected].tail;
        self.chains[elected].live = false;
        self.taken_by[elected] = owner;
        self.chains[owner].members.extend(members);
        self.chains[owner].tail = tail.or(self.chains[owner].tail);
    }

    /// Measures a fork anew against the owner's new tail; false when they share nothing.
    fn move_fork(&mut self, chain: usize, owner: usize, tail: Position) -> bool {
        let Some(first) = self.chains[chain].members.first() else {
            return false;
        };
        let ids = |position: Position| &self.requests[position].request.hash_ids;
        let depth = common_prefix(ids(tail), ids(*first));
        if depth == 0 {
            return false;
        }
        if let Some(fork) = &mut self.chains[chain].fork {
            fork.parent = Some(owner);
            fork.request = Some(tail);
            fork.depth = depth;
        }
        true
    }

    fn point_forks_at_live_chains(&mut self) {
        for index in 0..self.chains.len() {
            let parent = self.chains[index]
                .fork
                .and_then(|fork| fork.parent)
                .map(|parent| self.live(parent));
            if let Some(fork) = &mut self.chains[index].fork {
                fork.parent = parent;
            }
        }
    }
}
