//! What is odd about a corpus without being wrong: collected while loading, printed by whoever asked for the load.

use std::fmt;

/// Something that a person should know about a trace that was loaded all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Line of the file, from 1; `None` when the whole file is meant.
    pub line: Option<usize>,
    /// The trace's id; empty when the whole file is meant.
    pub trace: String,
    /// What it is.
    pub kind: WarningKind,
}

/// The kinds of [`Warning`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WarningKind {
    /// A row declares another block size than the one that is used (`aiperf-corpus` §1.4).
    BlockSize {
        /// As declared.
        declared: i64,
    },
    /// Requests whose hash ids do not match their prompt length.
    HashIds {
        /// How they differ.
        mismatch: HashIdMismatch,
        /// Path of the first such request.
        field: String,
        /// Its prompt tokens.
        input: u64,
        /// Its hash ids.
        ids: usize,
        /// Such requests in the trace.
        requests: usize,
    },
    /// Subagents' request times count from the trace's start in some places and from the spawn in others.
    MixedInnerTimes {
        /// Requests read as counting from the trace's start.
        absolute: u64,
        /// Requests read as counting from the spawn.
        relative: u64,
    },
    /// A subagent without an earlier turn of the main chain; it and its requests are not replayed (aiperf 0.12.0).
    SubagentDropped {
        /// Path of its entry.
        field: String,
        /// Its agent id.
        agent_id: String,
        /// Requests that go with it.
        requests: usize,
    },
    /// Prompts whose last message is not the user's.
    EndsInNonUser {
        /// Conversation of the first such turn.
        conversation: String,
        /// The first such turn.
        turn: usize,
        /// Such turns in the trace.
        turns: usize,
    },
}

/// How the number of a request's hash ids differs from its whole blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashIdMismatch {
    /// Fewer ids than whole blocks: the rest is text of its own that no cache can hold.
    Missing,
    /// The last, partial block has an id too.
    Partial,
    /// At least one whole block more than the prompt has.
    Surplus,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}, trace `{}`: ", self.trace)?;
        }
        self.kind.fmt(f)
    }
}

impl fmt::Display for WarningKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BlockSize { declared } => write!(
                f,
                "block_size: {declared} is declared, {} is used, as aiperf 0.12.0 does",
                tree::BLOCK_TOKENS
            ),
            Self::HashIds {
                mismatch,
                field,
                input,
                ids,
                requests,
            } => {
                let what = match mismatch {
                    HashIdMismatch::Missing => "fewer than its whole blocks; text of its own fills the rest",
                    HashIdMismatch::Partial => "its last, partial block has one too, which replay ignores",
                    HashIdMismatch::Surplus => {
                        "a whole block or more beyond the prompt, which replay ignores"
                    }
                };
                write!(
                    f,
                    "{field}.hash_ids: {ids} ids for {input} prompt tokens: {what} ({requests} requests)"
                )
            }
            Self::MixedInnerTimes { absolute, relative } => write!(
                f,
                "subagent requests count their time from the trace's start ({absolute}) and from the spawn ({relative}); \
                 each was read by its own value, as aiperf 0.12.0 does"
            ),
            Self::SubagentDropped {
                field,
                agent_id,
                requests,
            } => write!(
                f,
                "{field}: subagent `{agent_id}` starts before any turn of the main chain; its {requests} requests are not replayed"
            ),
            Self::EndsInNonUser {
                conversation,
                turn,
                turns,
            } => write!(
                f,
                "turn {turn} of `{conversation}` does not end in a user message ({turns} such turns); it is sent so"
            ),
        }
    }
}
