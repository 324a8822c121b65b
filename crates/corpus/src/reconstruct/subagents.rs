//! Subagent entries: which are replayed, their chains, and the conversations made of them (`aiperf-corpus` §4.1, §4.5).

use std::collections::HashSet;
use std::sync::Arc;

use tree::SourceKind;

use super::branches::{MainTurns, Offspring};
use super::layers::{self, Layer};
use super::placed::{self, Placed};
use super::time::Clock;
use super::{Draft, Options, ReconstructError, declared};
use crate::formats::weka::{Entry, Row, Subagent};
use crate::warning::WarningKind;

/// A subagent that is replayed.
pub(super) struct Family<'r> {
    outer: usize,
    entry: &'r Subagent,
    spawning: usize,
    pub(super) layer: Layer<'r>,
}

/// The subagents that a main turn stands before, split into chains. Others are dropped, with a warning.
pub(super) fn families<'r>(
    row: &'r Row,
    main: &[Placed<'r>],
    options: &Options,
    warnings: &mut Vec<WarningKind>,
) -> Result<Vec<Family<'r>>, ReconstructError> {
    let main = MainTurns::new(main, &Clock::default());
    let mut families: Vec<Family<'r>> = Vec::new();
    let mut agents = HashSet::new();
    for (outer, entry) in row.entries.iter().enumerate() {
        let Entry::Subagent(entry) = entry else { continue };
        let Some(spawning) = main.spawning(outer) else {
            warnings.push(WarningKind::SubagentDropped {
                field: format!("requests[{outer}]"),
                agent_id: entry.agent_id.clone(),
                requests: entry.requests.len(),
            });
            continue;
        };
        if !agents.insert(entry.agent_id.as_str()) {
            let first = families
                .iter()
                .find(|family| family.entry.agent_id == entry.agent_id);
            return Err(ReconstructError::DuplicateAgent {
                trace: row.id.clone(),
                agent_id: entry.agent_id.clone(),
                first: first.map_or(outer, |family| family.outer),
                second: outer,
            });
        }
        families.push(Family {
            outer,
            entry,
            spawning,
            layer: inner_layer(outer, entry, options),
        });
    }
    Ok(families)
}

fn inner_layer<'r>(outer: usize, entry: &'r Subagent, options: &Options) -> Layer<'r> {
    let requests = placed::place_inner(outer, entry);
    let mut layer = if options.split_flattened_agents {
        layers::split(requests)
    } else {
        Layer {
            main: requests,
            workers: Vec::new(),
        }
    };
    if layer.workers.is_empty() {
        layer.main.sort_by(Placed::order);
    }
    layer
}

/// Makes conversations of a subagent's chains.
pub(super) fn adopt<'r>(
    row: &Row,
    family: Family<'r>,
    clock: &Clock,
    drafts: &mut Vec<Draft<'r>>,
) -> Offspring {
    let Family {
        outer,
        entry,
        spawning,
        layer,
    } = family;
    let scope: Arc<str> = format!("{}::sa:{}", row.id, entry.agent_id).into();
    let end = entry.duration_ms.map_or_else(
        || {
            placed::place_inner(outer, entry)
                .iter()
                .map(Placed::end)
                .reduce(f64::max)
                .unwrap_or(entry.t)
        },
        |ms| entry.t + ms.max(0) as f64 / 1000.0,
    );
    let first_child = drafts.len();
    let mut adopt = |id, declared, requests| {
        let chain = drafts.len() - first_child;
        drafts.push(Draft {
            id,
            scope: scope.clone(),
            kind: SourceKind::WekaSubagent,
            declared,
            requests,
            chain,
        });
    };
    let workers = layer.workers.into_iter().map(|worker| {
        let declared = declared::of_worker(entry.declared, &worker);
        (
            format!("{scope}:{}", worker.suffix).into(),
            declared,
            worker.requests,
        )
    });
    let workers: Vec<_> = workers.collect();
    adopt(scope.clone(), entry.declared, layer.main);
    for (id, declared, requests) in workers {
        adopt(id, declared, requests);
    }
    Offspring {
        outer,
        spawning,
        start: clock.map(entry.t),
        end: clock.map(end),
        children: (first_child..drafts.len()).collect(),
        branch_id: format!("{}:spawn:{}", row.id, entry.agent_id),
    }
}
