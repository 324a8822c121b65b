//! Traces as the tests of whole bodies read them: one row a line, reconstructed.

use std::collections::HashMap;
use std::sync::Arc;

use corpus::formats::weka;
use corpus::prompt::{BlockStarts, BodyOptions, Prompter, RequestBody};
use corpus::reconstruct::{Options, reconstruct};
use tree::{Trace, Turn, TurnRef};

/// A trace with the places of its blocks.
pub(super) struct Recorded {
    pub(super) trace: Trace,
    starts: BlockStarts,
}

impl Recorded {
    pub(super) fn new(row: &[u8], options: &Options) -> Self {
        let row = weka::parse(row).expect("the oracle's rows are valid");
        let trace = reconstruct(&row, options)
            .expect("and can be reconstructed")
            .trace;
        Self {
            starts: BlockStarts::new(&trace),
            trace,
        }
    }

    /// Where the turn stands; by conversation id.
    pub(super) fn turn(&self, conversation: &str, turn: usize) -> (TurnRef, &Turn) {
        let mut all = self.trace.conversations.iter().enumerate();
        let (index, conversation) = all
            .find(|(_, known)| &*known.id == conversation)
            .unwrap_or_else(|| panic!("{conversation} is not in {}", self.trace.id));
        let place = TurnRef {
            conversation: index,
            turn,
        };
        (place, &conversation.turns[turn])
    }

    pub(super) fn body(&self, prompter: &Prompter, turn: TurnRef, options: &BodyOptions<'_>) -> RequestBody {
        prompter.body(&self.starts, &self.trace, turn, options)
    }
}

/// All traces of a file of one row a line, by id.
pub(super) fn corpus(lines: &[u8], options: &Options) -> HashMap<Arc<str>, Recorded> {
    let rows = lines.split(|&byte| byte == b'\n').filter(|row| !row.is_empty());
    rows.map(|row| Recorded::new(row, options))
        .map(|recorded| (Arc::clone(&recorded.trace.id), recorded))
        .collect()
}
