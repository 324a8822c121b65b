//! The types of a reconstructed trace.

use std::sync::Arc;

/// Position of a conversation in [`Trace::conversations`]; 0 is the root.
pub type ConversationIndex = usize;

/// Position of a branch in its conversation's [`Conversation::branches`].
pub type BranchIndex = usize;

/// Position of a block in [`Trace::block_ids`]. Equal positions mean equal text within the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockIndex(pub u32);

/// One corpus row, reconstructed: the root conversation and its children.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The row's `id`; also the root conversation's id and the scope of its hash ids.
    pub id: Arc<str>,
    /// Root first, then children in data set order.
    pub conversations: Vec<Conversation>,
    /// The recorded hash id of every distinct block, in order of first use.
    pub block_ids: Vec<i64>,
    /// Largest recorded input + output over all requests, those of subagents included.
    pub peak_tokens: u64,
}

/// One stream of turns, each sent only after the one before it has returned.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversation {
    /// Data set id: the trace id for the root, `TRACE::…` for children.
    pub id: Arc<str>,
    /// The conversation that starts this one; `None` for the root. Always the root in Weka traces.
    pub parent: Option<ConversationIndex>,
    /// 0 for the root, 1 for its children.
    pub depth: u32,
    /// Conversations of one scope keep their recorded order among each other ([`Turn::predecessors`]).
    pub replay_scope: Arc<str>,
    /// In order of sending; may be empty.
    pub turns: Vec<Turn>,
    /// The branches that turns of this conversation start.
    pub branches: Vec<Branch>,
}

/// Children that start together from one turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// `TRACE:spawn:AGENT` or `TRACE:flatspawn:N`.
    pub id: Arc<str>,
    /// In order of dispatch.
    pub children: Vec<ConversationIndex>,
    /// True when no later turn waits for the children.
    pub background: bool,
    /// Recorded start in ms on the trace's clock.
    pub start_ms: Option<f64>,
}

/// One request of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Recorded start in ms on the trace's clock.
    pub timestamp_ms: Option<f64>,
    /// Recorded gap in ms from the end of the previous turn to this start; `None` on turn 0.
    pub delay_ms: Option<f64>,
    /// Recorded duration of the call in ms.
    pub api_time_ms: Option<f64>,
    /// Position of the recorded model among the trace's distinct models; the served model is taken from the list of
    /// stated ones, wrapping round.
    pub model: u32,
    /// Output tokens to ask for; at least 1.
    pub max_tokens: u64,
    /// Prompt tokens recorded (`in`); what [`segments`] add up to, unless the recording is inconsistent.
    pub input_tokens: u64,
    /// Who speaks in the new input, if known.
    pub input_kind: Option<InputKind>,
    /// Where in the corpus row the request stands.
    pub source: Source,
    /// Blocks that an infinite prefix cache would hold when this request comes.
    pub cache: TheoreticalCache,
    /// Branches of this conversation that start from this turn, in order.
    pub spawns: Vec<BranchIndex>,
    /// Branches of this conversation whose children must have ended before this turn is sent, in order.
    pub joins: Vec<BranchIndex>,
    /// Turns of other conversations of the scope that must have ended before this one is sent,
    /// sorted by (conversation id, turn).
    pub predecessors: Vec<TurnRef>,
    /// What this turn does to the conversation's prompt.
    pub prompt: PromptStep,
}

/// One turn of one conversation of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TurnRef {
    /// Which conversation.
    pub conversation: ConversationIndex,
    /// Which of its turns, from 0.
    pub turn: usize,
}

/// Kind of the new input of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// The result of a tool the model called.
    ToolResult,
    /// Words of a person.
    UserInput,
}

/// Place of a request in its corpus row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Index in the row's `requests`; for a subagent's requests, that of its entry.
    pub outer: usize,
    /// Index in the subagent entry's `requests`.
    pub inner: Option<usize>,
    /// Which layer the request comes from.
    pub kind: SourceKind,
}

/// Layer of a row that a conversation was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// The main chain.
    WekaMain,
    /// A chain found among the top-level requests.
    WekaFlat,
    /// A subagent entry.
    WekaSubagent,
}

/// Blocks of one request, in an infinite cache that saw all earlier requests of the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TheoreticalCache {
    /// Length of the leading run of ids already seen.
    pub hit_blocks: u64,
    /// All hash ids of the request.
    pub total_blocks: u64,
}

/// The change a turn makes to its conversation's segment list (see [`crate::segments`]).
///
/// The list is cut back to its first `keep_blocks` blocks; then a head segment of the first `head_blocks` of `new_blocks`
/// is appended, unless that is none; then a user segment of the other new blocks and `tail_tokens` tokens without a block,
/// unless it would be empty (a turn 0 without anything still gets one empty user segment).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptStep {
    /// Blocks shared with the previous turn's recorded prefix; 0 on turn 0. May exceed the list: then nothing is cut.
    pub keep_blocks: u32,
    /// Blocks that follow them.
    pub new_blocks: Box<[BlockIndex]>,
    /// How many of the new blocks belong to the head segment.
    pub head_blocks: u32,
    /// Whose the head segment is.
    pub head_role: HeadRole,
    /// Tokens at the end that no hash id covers.
    pub tail_tokens: u32,
}

/// Whose words the head of a turn's new blocks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadRole {
    /// The declared prefix of tools and system text, on turn 0.
    System,
    /// The recorded answer to the turn before.
    Assistant,
}
