//! Session trees: what `corpus` makes of a recorded trace and `replay` runs.
//!
//! A [`Trace`] is one corpus row: a root [`Conversation`] and its children. A conversation is a list of [`Turn`]s, each
//! one request; a [`Branch`] says which children a turn starts and which later turn waits for them. Beside the timing a
//! turn holds a [`PromptStep`], the change that it makes to its conversation's prompt, from which [`segments`] gives the
//! message list that is sent.
//!
//! Never parses, never reads a file or a clock, never holds prompt text: a prompt is block numbers here.

pub mod segments;
mod trace;

pub use trace::{
    BlockIndex, Branch, BranchIndex, Conversation, ConversationIndex, HeadRole, InputKind, PromptStep,
    Source, SourceKind, TheoreticalCache, Trace, Turn, TurnRef,
};

/// Tokens in one block. aiperf 0.12.0 uses 64 whatever a trace declares.
pub const BLOCK_TOKENS: u32 = 64;
