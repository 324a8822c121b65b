//! From one recorded row to session trees (`aiperf-corpus` §4, §5.5, §5.7).
//!
//! [`reconstruct`] reads as the steps it takes: the top level and every subagent are split into `layers` of chains;
//! each chain becomes a conversation; `branches` say who starts whom; then every turn gets its `time`, its prompt
//! `steps`, its `cache_blocks` and its [`predecessors`]. Pure: no file, no clock, no random draw, no text.

mod blocks;
mod branches;
mod cache_blocks;
mod chains;
mod declared;
mod kinds;
mod layers;
mod models;
mod oddities;
mod placed;
pub mod predecessors;
mod seams;
mod steps;
mod subagents;
mod time;
mod turns;

use std::sync::Arc;

use tree::{Branch, BranchIndex, Conversation, SourceKind, Trace};

use self::blocks::BlockTable;
use self::branches::{BranchDraft, MainTurns, Offspring};
use self::layers::Layer;
pub use self::oddities::InnerTimes;
use self::placed::Placed;
use self::subagents::Family;
use self::time::Clock;
use crate::formats::weka::{DeclaredPrefix, Entry, Row};
use crate::select;
use crate::warning::WarningKind;

/// How rows are turned into session trees. The default is aiperf 0.12.0's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Whether chains are looked for in lists that hold several agents' requests
    /// (`AIPERF_DATASET_WEKA_SPLIT_FLATTENED_AGENTS`).
    pub split_flattened_agents: bool,
    /// Longest pause between two starts of a trace in seconds; longer ones are cut to it while loading. A loader option
    /// that no scenario reaches.
    pub trace_idle_gap_cap_s: Option<f64>,
    /// Where a turn's delay comes from.
    pub delay: DelaySource,
    /// Most output tokens of a turn (`--synthesis-max-osl`); subagents' turns are never cut.
    pub output_cap: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            split_flattened_agents: true,
            trace_idle_gap_cap_s: None,
            delay: DelaySource::EndToStart,
            output_cap: None,
        }
    }
}

/// Where the delay before a turn is taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DelaySource {
    /// The gap from the recorded end of the turn before to this start.
    #[default]
    EndToStart,
    /// The recorded `think_time` where there is one (`--use-think-time-only`).
    ThinkTime,
}

/// Why a row has no session tree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReconstructError {
    /// Two replayed subagents of one agent id.
    #[error(
        "trace `{trace}`: requests[{second}].agent_id: duplicate agent id `{agent_id}`, first used by requests[{first}]; every replayed subagent needs an id of its own"
    )]
    DuplicateAgent {
        /// The trace.
        trace: String,
        /// The id.
        agent_id: String,
        /// Entry that used it first.
        first: usize,
        /// Entry that uses it again.
        second: usize,
    },
    /// A declared prefix longer than the hash ids of the request that starts with it.
    #[error(
        "trace `{trace}`: turn 0 of `{conversation}` declares a prefix of {needed} blocks (tool_tokens {tool_tokens} + system_tokens {system_tokens}) but has {recorded} hash ids; at least as many ids as prefix blocks are needed"
    )]
    PrefixNotCovered {
        /// The trace.
        trace: String,
        /// The conversation.
        conversation: String,
        /// Blocks that the declared tokens make.
        needed: u64,
        /// Hash ids that the request has.
        recorded: usize,
        /// As declared.
        tool_tokens: i64,
        /// As declared.
        system_tokens: i64,
    },
}

/// What [`steps`] complains of; the caller knows whose conversation it is.
struct PrefixNotCovered {
    declared: DeclaredPrefix,
    needed: u64,
    recorded: usize,
}

/// A trace and what is odd about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Reconstructed {
    /// The session trees.
    pub trace: Trace,
    /// In order of the row, at most one of each kind.
    pub warnings: Vec<WarningKind>,
}

/// A conversation before its turns are worked out.
struct Draft<'r> {
    id: Arc<str>,
    scope: Arc<str>,
    kind: SourceKind,
    declared: DeclaredPrefix,
    requests: Vec<Placed<'r>>,
    /// Position among the chains of its subagent; 0 elsewhere.
    chain: usize,
}

/// Turns one row into session trees.
pub fn reconstruct(row: &Row, options: &Options) -> Result<Reconstructed, ReconstructError> {
    let mut warnings = oddities::oddities(row);
    let top = top_layer(row, options);
    let families = subagents::families(row, &top.main, options, &mut warnings)?;
    let clock = clock(&top, &families, options);
    let main = MainTurns::new(&top.main, &clock);

    let mut drafts = vec![root(row, &top)];
    let mut subagents = Vec::new();
    for family in families {
        let offspring = subagents::adopt(row, family, &clock, &mut drafts);
        subagents.push(offspring);
    }
    let flat = adopt_flat_chains(row, top, &main, &clock, &mut drafts);
    let mut branches = branches::branches(&main, subagents);
    branches.extend(branches::branches(&main, flat));

    let mut blocks = BlockTable::default();
    let turns = turns::turns(row, &drafts, &clock, options, &mut blocks, &mut warnings)?;
    let mut trace = Trace {
        id: drafts[0].id.clone(),
        conversations: drafts.iter().zip(turns).enumerate().map(conversation).collect(),
        block_ids: blocks.into_ids(),
        peak_tokens: select::peak(row, options.output_cap),
    };
    attach(&mut trace.conversations[0], branches);
    Ok(Reconstructed { trace, warnings })
}

fn conversation((index, (draft, turns)): (usize, (&Draft<'_>, Vec<tree::Turn>))) -> Conversation {
    Conversation {
        id: draft.id.clone(),
        parent: (index > 0).then_some(0),
        depth: u32::from(index > 0),
        replay_scope: draft.scope.clone(),
        turns,
        branches: Vec::new(),
    }
}

/// The chains of the top level. A single request is not looked at.
fn top_layer<'r>(row: &'r Row, options: &Options) -> Layer<'r> {
    let requests = row
        .entries
        .iter()
        .enumerate()
        .filter_map(|(outer, entry)| match entry {
            Entry::Request(request) => Some(Placed {
                outer,
                inner: None,
                t: request.t,
                request,
            }),
            Entry::Subagent(_) => None,
        });
    let requests: Vec<_> = requests.collect();
    if options.split_flattened_agents && requests.len() > 1 {
        return layers::split(requests);
    }
    Layer {
        main: requests,
        workers: Vec::new(),
    }
}

/// The clock that turns are replayed by: as recorded, or with pauses cut.
fn clock(top: &Layer<'_>, families: &[Family<'_>], options: &Options) -> Clock {
    let Some(cap) = options.trace_idle_gap_cap_s else {
        return Clock::default();
    };
    let layers = std::iter::once(top).chain(families.iter().map(|family| &family.layer));
    let requests = layers.flat_map(|layer| {
        let workers = layer.workers.iter().flat_map(|worker| &worker.requests);
        layer.main.iter().chain(workers)
    });
    Clock::capped(requests.map(|placed| placed.t).collect(), cap)
}

fn root<'r>(row: &Row, top: &Layer<'r>) -> Draft<'r> {
    let id: Arc<str> = row.id.as_str().into();
    Draft {
        id: id.clone(),
        scope: id,
        kind: SourceKind::WekaMain,
        declared: row.declared,
        requests: top.main.clone(),
        chain: 0,
    }
}

/// Makes conversations of the workers of the top level.
fn adopt_flat_chains<'r>(
    row: &Row,
    top: Layer<'r>,
    main: &MainTurns,
    clock: &Clock,
    drafts: &mut Vec<Draft<'r>>,
) -> Vec<Offspring> {
    let scope = drafts[0].id.clone();
    let offspring = top.workers.into_iter().enumerate().map(|(number, worker)| {
        let first = worker.requests[0];
        let end = worker.requests.iter().map(Placed::end).fold(first.t, f64::max);
        drafts.push(Draft {
            id: format!("{}::{}", row.id, worker.suffix).into(),
            scope: scope.clone(),
            kind: SourceKind::WekaFlat,
            declared: declared::of_worker(row.declared, &worker),
            requests: worker.requests,
            chain: 0,
        });
        Offspring {
            outer: first.outer,
            spawning: main.spawning(first.outer).unwrap_or(0),
            start: clock.map(first.t),
            end: clock.map(end),
            children: vec![drafts.len() - 1],
            branch_id: format!("{}:flatspawn:{number}", row.id),
        }
    });
    offspring.collect()
}

/// Gives the root its branches and the turns that start and await them.
fn attach(root: &mut Conversation, drafts: Vec<BranchDraft>) {
    for (index, draft) in drafts.into_iter().enumerate() {
        let index: BranchIndex = index;
        root.turns[draft.spawning].spawns.push(index);
        if let Some(joining) = draft.joining {
            root.turns[joining].joins.push(index);
        }
        root.branches.push(Branch {
            id: draft.id.into(),
            children: draft.children,
            background: draft.joining.is_none(),
            start_ms: Some(draft.start_ms),
        });
    }
}
