//! The turns of all conversations of a trace, from their requests (`aiperf-corpus` §4.7).

use std::collections::BTreeMap;

use tree::{InputKind, Source, SourceKind, TheoreticalCache, Turn};

use super::blocks::BlockTable;
use super::cache_blocks::{self, Asked};
use super::models::Models;
use super::placed::Placed;
use super::predecessors::{self, Interval, Stream};
use super::steps::{self, Steps};
use super::time::{self, Clock};
use super::{Draft, Options, ReconstructError};
use crate::formats::weka::{InputTypes, Request, Row, Stop};
use crate::warning::WarningKind;

/// The turns of each draft, all but their branches.
pub(super) fn turns(
    row: &Row,
    drafts: &[Draft<'_>],
    clock: &Clock,
    options: &Options,
    blocks: &mut BlockTable,
    warnings: &mut Vec<WarningKind>,
) -> Result<Vec<Vec<Turn>>, ReconstructError> {
    let models = Models::of(row);
    let mut of_drafts = Vec::with_capacity(drafts.len());
    let mut non_user: Option<(String, usize, usize)> = None;
    for (index, draft) in drafts.iter().enumerate() {
        let steps = prompt_steps(row, draft, blocks)?;
        if let Some(first) = steps.ends_in_non_user.first() {
            let seen = non_user.get_or_insert_with(|| (draft.id.to_string(), *first, 0));
            seen.2 += steps.ends_in_non_user.len();
        }
        of_drafts.push(draft_turns(draft, index == 0, steps, &models, clock, options));
    }
    if let Some((conversation, turn, turns)) = non_user {
        warnings.push(WarningKind::EndsInNonUser {
            conversation,
            turn,
            turns,
        });
    }
    count_cache_blocks(drafts, &mut of_drafts);
    order_by_recording(drafts, &mut of_drafts);
    Ok(of_drafts)
}

fn prompt_steps(row: &Row, draft: &Draft<'_>, blocks: &mut BlockTable) -> Result<Steps, ReconstructError> {
    steps::steps(&draft.requests, draft.declared, blocks).map_err(|error| {
        ReconstructError::PrefixNotCovered {
            trace: row.id.clone(),
            conversation: draft.id.to_string(),
            needed: error.needed,
            recorded: error.recorded,
            tool_tokens: error.declared.tool_tokens,
            system_tokens: error.declared.system_tokens,
        }
    })
}

fn draft_turns(
    draft: &Draft<'_>,
    is_root: bool,
    steps: Steps,
    models: &Models<'_>,
    clock: &Clock,
    options: &Options,
) -> Vec<Turn> {
    let output_cap = match draft.kind {
        SourceKind::WekaMain | SourceKind::WekaFlat => options.output_cap,
        SourceKind::WekaSubagent => None,
    };
    let timings = time::timings(&draft.requests, clock, options.delay, is_root);
    let mut earlier: Option<&Request> = None;
    let turns = draft
        .requests
        .iter()
        .zip(timings)
        .zip(steps.steps)
        .map(|((placed, timing), prompt)| {
            let request = placed.request;
            let output = output_cap.map_or(request.output, |cap| request.output.min(cap));
            let turn = Turn {
                timestamp_ms: Some(timing.timestamp),
                delay_ms: timing.delay,
                api_time_ms: timing.api_time,
                model: models.position(&request.model),
                max_tokens: u64::from(output.max(1)),
                input_tokens: u64::from(request.input),
                input_kind: input_kind(request, earlier),
                source: source(draft.kind, placed),
                cache: TheoreticalCache::default(),
                spawns: Vec::new(),
                joins: Vec::new(),
                predecessors: Vec::new(),
                prompt,
            };
            earlier = Some(request);
            turn
        });
    turns.collect()
}

fn source(kind: SourceKind, placed: &Placed<'_>) -> Source {
    Source {
        outer: placed.outer,
        inner: placed.inner,
        kind,
    }
}

/// Who speaks in the new input: as recorded, else guessed from why the answer before ended.
fn input_kind(request: &Request, earlier: Option<&Request>) -> Option<InputKind> {
    match request.input_types {
        Some(InputTypes::ToolResult) => Some(InputKind::ToolResult),
        Some(InputTypes::Other) => Some(InputKind::UserInput),
        None => match earlier?.stop {
            Stop::ToolUse => Some(InputKind::ToolResult),
            Stop::Other => Some(InputKind::UserInput),
            Stop::Unknown => None,
        },
    }
}

fn count_cache_blocks(drafts: &[Draft<'_>], turns: &mut [Vec<Turn>]) {
    let mut asked = Vec::new();
    for (conversation, draft) in drafts.iter().enumerate() {
        for (turn, placed) in draft.requests.iter().enumerate() {
            let of_subagent = draft.kind == SourceKind::WekaSubagent;
            asked.push(Asked {
                turn: (conversation, turn),
                placed: *placed,
                rank: if of_subagent { (draft.chain, turn) } else { (0, 0) },
            });
        }
    }
    for ((conversation, turn), cache) in cache_blocks::hits(asked) {
        turns[conversation][turn].cache = cache;
    }
}

/// Gives each turn its predecessors, scope by scope.
fn order_by_recording(drafts: &[Draft<'_>], turns: &mut [Vec<Turn>]) {
    let mut scopes: BTreeMap<&str, Vec<Stream<'_>>> = BTreeMap::new();
    for (conversation, (draft, turns)) in drafts.iter().zip(turns.iter()).enumerate() {
        let intervals = turns
            .iter()
            .map(|turn| Interval::recorded(turn.timestamp_ms, turn.api_time_ms));
        scopes.entry(&draft.scope).or_default().push(Stream {
            id: &draft.id,
            conversation,
            turns: intervals.collect(),
        });
    }
    for streams in scopes.into_values().filter(|streams| streams.len() > 1) {
        for (stream, found) in streams.iter().zip(predecessors::infer(&streams)) {
            for (turn, predecessors) in turns[stream.conversation].iter_mut().zip(found) {
                turn.predecessors = predecessors;
            }
        }
    }
}
