//! One layer of a row, the top level or a subagent entry, split into its main chain and its workers.

use std::collections::HashSet;

use super::chains::{self, Chain};
use super::kinds::{self, Yardstick};
use super::placed::{Placed, common_prefix};

/// A leading call with at most so many completion tokens and no block in common with the others is a preamble.
const PREAMBLE_OUTPUT_MAX: u32 = 64;

/// The chains of one layer.
pub(super) struct Layer<'r> {
    /// In order of sending.
    pub(super) main: Vec<Placed<'r>>,
    /// By first request.
    pub(super) workers: Vec<Worker<'r>>,
}

/// A chain beside the main one.
pub(super) struct Worker<'r> {
    /// What its conversation's id ends in.
    pub(super) suffix: String,
    /// In order of sending; never empty.
    pub(super) requests: Vec<Placed<'r>>,
    /// Blocks that it begins with as the main chain does, the preamble of that not counted.
    pub(super) shared_blocks: usize,
}

/// Splits the requests of one layer, which come in recorded order. Without workers the main chain is that order.
pub(super) fn split(requests: Vec<Placed<'_>>) -> Layer<'_> {
    let (preamble, others) = set_preamble_aside(&requests);
    let chains = chains::detect(&others);
    let Some(yardstick) = chains.first().and_then(|main| Yardstick::of(main, &others)) else {
        return Layer {
            main: requests,
            workers: Vec::new(),
        };
    };
    let workers = workers_by_first_request(&chains, &others);
    if workers.is_empty() {
        return Layer {
            main: requests,
            workers: Vec::new(),
        };
    }
    let pick = |chain: &Chain| {
        chain
            .members
            .iter()
            .map(|member| others[*member])
            .collect::<Vec<_>>()
    };
    let mut main = pick(&chains[0]);
    let begin = first_ids(&main);
    if let Some(preamble) = preamble {
        main.push(preamble);
        main.sort_by(Placed::order);
    }
    let suffixes = kinds::suffixes(&chains, &workers, &others, &yardstick);
    let workers = workers.iter().zip(suffixes).map(|(worker, suffix)| {
        let requests = pick(&chains[*worker]);
        let shared_blocks = common_prefix(begin, first_ids(&requests));
        Worker {
            suffix,
            requests,
            shared_blocks,
        }
    });
    Layer {
        main,
        workers: workers.collect(),
    }
}

/// The hash ids of the first request that has any.
fn first_ids<'r>(chain: &[Placed<'r>]) -> &'r [i64] {
    let mut lists = chain.iter().map(|placed| placed.request.hash_ids.as_slice());
    lists.find(|ids| !ids.is_empty()).unwrap_or_default()
}

fn workers_by_first_request(chains: &[Chain], requests: &[Placed<'_>]) -> Vec<usize> {
    let mut workers: Vec<usize> = (1..chains.len()).filter(|chain| chains[*chain].live).collect();
    let first = |worker: &usize| &requests[chains[*worker].members[0]];
    workers.sort_by(|a, b| first(a).order(first(b)));
    workers
}

/// The earliest request apart from the others, if it is a title call or the like that shares nothing with them.
fn set_preamble_aside<'r>(requests: &[Placed<'r>]) -> (Option<Placed<'r>>, Vec<Placed<'r>>) {
    let earliest = (0..requests.len()).min_by(|a, b| requests[*a].order(&requests[*b]));
    let preamble = earliest.filter(|earliest| is_preamble(requests, *earliest));
    let others = requests
        .iter()
        .enumerate()
        .filter(|(index, _)| Some(*index) != preamble);
    (
        preamble.map(|index| requests[index]),
        others.map(|(_, placed)| *placed).collect(),
    )
}

fn is_preamble(requests: &[Placed<'_>], earliest: usize) -> bool {
    let candidate = requests[earliest].request;
    let others = || {
        requests
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != earliest)
            .map(|(_, placed)| placed.request)
    };
    if candidate.hash_ids.is_empty()
        || others().any(|other| common_prefix(&candidate.hash_ids, &other.hash_ids) > 0)
    {
        return false;
    }
    if candidate.output <= PREAMBLE_OUTPUT_MAX {
        return true;
    }
    let own: HashSet<i64> = candidate.hash_ids.iter().copied().collect();
    !others().any(|other| other.hash_ids.iter().any(|id| own.contains(id)))
}
