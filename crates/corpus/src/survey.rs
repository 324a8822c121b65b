//! What a corpus holds: counts, and the values whose distribution a person wants to see.
//!
//! Pure: counts session trees that were loaded. Never computes a quantile; whoever shows them does.

use trace::survey::Column;
use tree::{SourceKind, Trace, Turn};

use crate::load::Corpus;

/// A corpus in numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Survey {
    /// Name and number, in the order in which they are shown.
    pub counts: Vec<(&'static str, u64)>,
    /// Quantities, one value a trace, conversation or request.
    pub columns: Vec<Column>,
}

impl Survey {
    /// Surveys Weka traces after reconstruction.
    pub fn of(corpus: &Corpus) -> Self {
        let traces = &corpus.traces;
        Self {
            counts: counts(corpus),
            columns: vec![
                per_trace("requests a trace", traces, |trace| turns(trace).count() as f64),
                per_trace("conversations a trace", traces, |trace| {
                    trace.conversations.len() as f64
                }),
                per_trace("peak prompt + output a trace (tokens)", traces, |trace| {
                    trace.peak_tokens as f64
                }),
                per_trace("span a trace (s)", traces, span_s),
                per_request("prompt (tokens)", traces, |turn| Some(turn.input_tokens as f64)),
                per_request("output (tokens)", traces, |turn| Some(turn.max_tokens as f64)),
                per_request("api time (s)", traces, |turn| turn.api_time_ms.map(|ms| ms / 1e3)),
                per_later_turn("delay before a later turn (s)", traces),
                per_request("blocks already seen in its trace (share)", traces, |turn| {
                    let blocks = turn.cache;
                    (blocks.total_blocks > 0).then(|| blocks.hit_blocks as f64 / blocks.total_blocks as f64)
                }),
            ],
        }
    }
}

fn counts(corpus: &Corpus) -> Vec<(&'static str, u64)> {
    let traces = &corpus.traces;
    let conversations = || traces.iter().flat_map(|trace| &trace.conversations);
    let branches = || conversations().flat_map(|conversation| &conversation.branches);
    let all = || traces.iter().flat_map(turns);
    let of_kind = |kind| all().filter(move |turn| turn.source.kind == kind).count() as u64;
    let subagents = traces.iter().map(subagent_entries);
    vec![
        ("traces", traces.len() as u64),
        (
            "traces with subagents",
            subagents.clone().filter(|entries| *entries > 0).count() as u64,
        ),
        ("subagents", subagents.sum()),
        ("conversations", conversations().count() as u64),
        ("branches", branches().count() as u64),
        (
            "branches that no turn waits for",
            branches().filter(|branch| branch.background).count() as u64,
        ),
        ("requests", all().count() as u64),
        ("requests of main chains", of_kind(SourceKind::WekaMain)),
        (
            "requests of chains found beside them",
            of_kind(SourceKind::WekaFlat),
        ),
        ("requests of subagents", of_kind(SourceKind::WekaSubagent)),
        (
            "turns that wait for another conversation's",
            all().map(|turn| turn.predecessors.len() as u64).sum(),
        ),
        ("prompt tokens", all().map(|turn| turn.input_tokens).sum()),
        ("output tokens", all().map(|turn| turn.max_tokens).sum()),
        ("blocks", all().map(|turn| turn.cache.total_blocks).sum()),
        (
            "blocks already seen in their trace",
            all().map(|turn| turn.cache.hit_blocks).sum(),
        ),
        (
            "subagent times from the trace's start",
            corpus.inner_times.absolute,
        ),
        ("subagent times from the spawn", corpus.inner_times.relative),
    ]
}

fn turns(trace: &Trace) -> impl Iterator<Item = &Turn> {
    trace
        .conversations
        .iter()
        .flat_map(|conversation| &conversation.turns)
}

/// Subagent entries of the row that have a conversation: one scope each.
fn subagent_entries(trace: &Trace) -> u64 {
    let mut scopes: Vec<&str> = trace
        .conversations
        .iter()
        .map(|conversation| &*conversation.replay_scope)
        .filter(|scope| **scope != *trace.id)
        .collect();
    scopes.sort_unstable();
    scopes.dedup();
    scopes.len() as u64
}

/// From the first start to the last end.
fn span_s(trace: &Trace) -> f64 {
    let starts = turns(trace).filter_map(|turn| turn.timestamp_ms);
    let ends = turns(trace).filter_map(|turn| Some(turn.timestamp_ms? + turn.api_time_ms.unwrap_or(0.0)));
    let span = ends.fold(f64::MIN, f64::max) - starts.fold(f64::MAX, f64::min);
    (span / 1e3).max(0.0)
}

fn per_trace(name: &'static str, traces: &[Trace], value: impl Fn(&Trace) -> f64) -> Column {
    Column {
        name,
        values: traces.iter().map(value).collect(),
        missing: 0,
    }
}

fn per_request(name: &'static str, traces: &[Trace], value: impl Fn(&Turn) -> Option<f64>) -> Column {
    let mut column = Column::new(name);
    for turn in traces.iter().flat_map(turns) {
        column.push(value(turn));
    }
    column
}

fn per_later_turn(name: &'static str, traces: &[Trace]) -> Column {
    let later = traces
        .iter()
        .flat_map(|trace| &trace.conversations)
        .flat_map(|conversation| conversation.turns.iter().skip(1));
    let mut column = Column::new(name);
    for turn in later {
        column.push(turn.delay_ms.map(|ms| ms / 1e3));
    }
    column
}
