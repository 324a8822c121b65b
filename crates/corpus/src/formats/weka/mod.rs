//! The Weka trace format: one JSON object a trace, as `aiperf-corpus` §1 describes it.
//!
//! [`parse`] takes the bytes of one row and gives a checked [`Row`]. It is as strict as aiperf 0.12.0: unknown keys are
//! refused at every level, and types are lenient only where aiperf's are (an integral float or numeric string for an
//! integer, and so on). Three deliberate differences, each of which only touches files that aiperf could not replay
//! meaningfully: a null `tool_tokens` or `system_tokens` of a row is an absent one; a repeated key is refused; token
//! counts that are negative or beyond 32 bits, and times beyond [`SECONDS_MAX`], are refused.

mod check;
mod lenient;
mod raw;

use super::RowProblem;

/// Largest absolute time or duration in seconds that a row may state; some three thousand years.
pub const SECONDS_MAX: f64 = 1e11;

/// One trace as recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Trace id.
    pub id: String,
    /// Declared block size; not used ([`tree::BLOCK_TOKENS`] is).
    pub block_size: i64,
    /// The prefix that the root's first prompt starts with.
    pub declared: DeclaredPrefix,
    /// Top level entries in recorded order.
    pub entries: Vec<Entry>,
}

/// Declared token counts of tools and system text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeclaredPrefix {
    /// Tokens of the tools.
    pub tool_tokens: i64,
    /// Tokens of the system text.
    pub system_tokens: i64,
}

/// One element of a row's `requests`.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A recorded API call.
    Request(Request),
    /// A subagent with its own calls.
    Subagent(Subagent),
}

/// One recorded API call.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Start in seconds. In a subagent from the trace's start or from the spawn (`aiperf-corpus` §4.2).
    pub t: f64,
    /// Recorded model.
    pub model: String,
    /// Prompt tokens.
    pub input: u32,
    /// Completion tokens.
    pub output: u32,
    /// Ids of the prompt's blocks.
    pub hash_ids: Vec<i64>,
    /// What the content kinds of the new input say about who speaks; `None` when there are none.
    pub input_types: Option<InputTypes>,
    /// Why the answer ended.
    pub stop: Stop,
    /// Seconds that the call took; may be negative or not finite, which counts as 0.
    pub api_time: Option<f64>,
    /// Recorded seconds before the call.
    pub think_time: Option<f64>,
}

/// A non-empty `input_types`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputTypes {
    /// `tool_result` is among them.
    ToolResult,
    /// It is not.
    Other,
}

/// `stop`, as far as replay tells its values apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Empty or absent.
    Unknown,
    /// `tool_use`.
    ToolUse,
    /// Anything else.
    Other,
}

/// One subagent.
#[derive(Clone, Debug, PartialEq)]
pub struct Subagent {
    /// Spawn in seconds from the trace's start.
    pub t: f64,
    /// Unique among the trace's replayed subagents.
    pub agent_id: String,
    /// Recorded duration.
    pub duration_ms: Option<i64>,
    /// The prefix that its first prompt starts with.
    pub declared: DeclaredPrefix,
    /// Its calls in recorded order.
    pub requests: Vec<Request>,
}

/// Parses one row.
pub fn parse(bytes: &[u8]) -> Result<Row, RowProblem> {
    match serde_json::from_slice(bytes) {
        Ok(lenient::Object(raw)) => check::row(raw),
        Err(error) => Err(RowProblem::from_json(&error, bytes)),
    }
}
