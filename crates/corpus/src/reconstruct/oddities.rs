//! What is odd about a row's numbers, found without changing anything.

use tree::BLOCK_TOKENS;

use crate::formats::weka::{Entry, Request, Row};
use crate::reconstruct::placed::{TIME_SLACK_S, counts_from_spawn};
use crate::warning::{HashIdMismatch, WarningKind};

/// How the times of subagents' requests were read (`aiperf-corpus` §4.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InnerTimes {
    /// Requests whose time counts from the trace's start.
    pub absolute: u64,
    /// Requests whose time counts from the spawn.
    pub relative: u64,
}

impl InnerTimes {
    /// Counts the requests of one row. Those of a subagent that starts with the trace are in neither: both ways of
    /// counting are one there.
    pub fn of(row: &Row) -> Self {
        let mut times = Self::default();
        for entry in &row.entries {
            let Entry::Subagent(subagent) = entry else {
                continue;
            };
            if subagent.t.abs() <= TIME_SLACK_S {
                continue;
            }
            for request in &subagent.requests {
                if counts_from_spawn(subagent, request.t) {
                    times.relative += 1;
                } else {
                    times.absolute += 1;
                }
            }
        }
        times
    }

    /// Adds the counts of another row.
    pub fn add(&mut self, other: Self) {
        self.absolute += other.absolute;
        self.relative += other.relative;
    }
}

/// Warnings about a row's block size and the number of its hash ids; at most one of each kind.
pub(super) fn oddities(row: &Row) -> Vec<WarningKind> {
    let mut warnings = Vec::new();
    if row.block_size != i64::from(BLOCK_TOKENS) {
        warnings.push(WarningKind::BlockSize {
            declared: row.block_size,
        });
    }
    for (outer, entry) in row.entries.iter().enumerate() {
        match entry {
            Entry::Request(request) => note(&mut warnings, request, || format!("requests[{outer}]")),
            Entry::Subagent(subagent) => {
                for (inner, request) in subagent.requests.iter().enumerate() {
                    note(&mut warnings, request, || {
                        format!("requests[{outer}].requests[{inner}]")
                    });
                }
            }
        }
    }
    warnings
}

fn note(warnings: &mut Vec<WarningKind>, request: &Request, place: impl Fn() -> String) {
    let Some(found) = mismatch(request) else { return };
    let same = warnings.iter_mut().find_map(|warning| match warning {
        WarningKind::HashIds {
            mismatch, requests, ..
        } if *mismatch == found => Some(requests),
        _ => None,
    });
    match same {
        Some(requests) => *requests += 1,
        None => warnings.push(WarningKind::HashIds {
            mismatch: found,
            field: place(),
            input: u64::from(request.input),
            ids: request.hash_ids.len(),
            requests: 1,
        }),
    }
}

fn mismatch(request: &Request) -> Option<HashIdMismatch> {
    let ids = request.hash_ids.len();
    let full = (request.input / BLOCK_TOKENS) as usize;
    let begun = request.input.div_ceil(BLOCK_TOKENS) as usize;
    if ids < full {
        Some(HashIdMismatch::Missing)
    } else if ids > begun {
        Some(HashIdMismatch::Surplus)
    } else {
        (ids > full).then_some(HashIdMismatch::Partial)
    }
}
