//! What a chain beside the main one is called: sidecar (`aux`), member of a worker group (`wg`) or plain fork (`fa`)
//! (`aiperf-corpus` §4.4). Only its id depends on it.

use std::collections::BTreeMap;

use super::chains::{Chain, Position};
use super::placed::Placed;

/// A sidecar has at most so many requests.
const AUX_MAX_REQUESTS: usize = 1;
/// A sidecar of the main model asks for less than this share of the main chain's largest prompt …
const AUX_INPUT_SHARE: f64 = 0.10;
/// … or less than so many tokens.
const AUX_INPUT_FLOOR: u32 = 16_384;
/// A reduction answers with fewer tokens than this …
const REDUCTION_OUTPUT_MAX: u32 = 4000;
/// … to a prompt of more than so many times its answer.
const REDUCTION_RATIO: u64 = 20;
/// So many overlapping forks of one request are a worker group.
const WORKER_GROUP_MIN: usize = 3;

/// The chain whose requests others are measured by.
pub(super) struct Yardstick<'a> {
    peak_input: u32,
    model: &'a str,
}

impl<'a> Yardstick<'a> {
    /// Of the main chain as detected, the preamble not being part of it.
    pub(super) fn of(main: &Chain, requests: &[Placed<'a>]) -> Option<Self> {
        let first = main.members.first()?;
        Some(Self {
            peak_input: main
                .members
                .iter()
                .map(|member| requests[*member].request.input)
                .max()?,
            model: &requests[*first].request.model,
        })
    }

    fn calls_aux(&self, members: &[Position], requests: &[Placed<'_>]) -> bool {
        let [only] = members else {
            return members.len() < AUX_MAX_REQUESTS;
        };
        let request = requests[*only].request;
        let share = (AUX_INPUT_SHARE * f64::from(self.peak_input)).floor() as u32;
        let small = request.input < AUX_INPUT_FLOOR.max(share);
        let reduction = request.output > 0
            && request.output < REDUCTION_OUTPUT_MAX
            && request.input >= AUX_INPUT_FLOOR
            && u64::from(request.input) > REDUCTION_RATIO * u64::from(request.output);
        request.model != self.model || small || reduction
    }
}

/// The id suffix of each worker, in the order given (by first request).
pub(super) fn suffixes(
    chains: &[Chain],
    workers: &[usize],
    requests: &[Placed<'_>],
    yardstick: &Yardstick<'_>,
) -> Vec<String> {
    let groups = worker_groups(chains, workers, requests);
    let name = |(number, worker): (usize, &usize)| {
        if yardstick.calls_aux(&chains[*worker].members, requests) {
            return format!("aux:{number:03}");
        }
        match groups.get(worker) {
            Some((group, member)) => format!("wg:{group:03}_{member:03}"),
            None => format!("fa:{number:03}"),
        }
    };
    workers.iter().enumerate().map(name).collect()
}

/// Group and member number of each worker that belongs to a group, by chain.
fn worker_groups(
    chains: &[Chain],
    workers: &[usize],
    requests: &[Placed<'_>],
) -> BTreeMap<usize, (usize, usize)> {
    let mut by_fork: BTreeMap<(Option<usize>, Position), Vec<usize>> = BTreeMap::new();
    for worker in workers {
        if let Some(fork) = chains[*worker].fork.filter(|fork| fork.depth > 0)
            && let Some(request) = fork.request
        {
            by_fork.entry((fork.parent, request)).or_default().push(*worker);
        }
    }
    let first = |worker: &usize| &requests[chains[*worker].members[0]];
    let mut groups: Vec<Vec<usize>> = by_fork
        .into_values()
        .flat_map(|bucket| overlapping(bucket, chains, requests))
        .filter(|group| group.len() >= WORKER_GROUP_MIN)
        .collect();
    groups.sort_by(|a, b| first(&a[0]).order(first(&b[0])));
    let numbered = groups.iter().enumerate().flat_map(|(group, members)| {
        members
            .iter()
            .enumerate()
            .map(move |(member, worker)| (*worker, (group, member)))
    });
    numbered.collect()
}

/// Splits chains, which come by first request, into runs whose times overlap; touching is not overlapping.
fn overlapping(bucket: Vec<usize>, chains: &[Chain], requests: &[Placed<'_>]) -> Vec<Vec<usize>> {
    let mut runs: Vec<(f64, Vec<usize>)> = Vec::new();
    for worker in bucket {
        let members = &chains[worker].members;
        let start = requests[members[0]].t;
        let end = members
            .iter()
            .map(|member| requests[*member].end())
            .fold(start, f64::max);
        match runs.last_mut() {
            Some((latest, run)) if start < *latest => {
                *latest = latest.max(end);
                run.push(worker);
            }
            _ => runs.push((end, vec![worker])),
        }
    }
    runs.into_iter().map(|(_, run)| run).collect()
}
