//! Which traces are replayed: those within the context limit, the first so many of them (`aiperf-corpus` §3.1).

use crate::formats::weka::{Entry, Request, Row};

/// What a run asks of a corpus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Tokens of prompt and answer that the server takes; a trace whose largest request needs more is left out.
    pub max_context_length: Option<u64>,
    /// Traces to keep; rows after the last kept one are not looked at.
    pub entries: Option<usize>,
}

/// What became of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelectionReport {
    /// Rows looked at.
    pub scanned: usize,
    /// Traces kept.
    pub kept: usize,
    /// Traces over the context limit.
    pub dropped: usize,
    /// Largest peak among the rows looked at, dropped ones included.
    pub largest: u64,
}

impl Selection {
    /// True for a trace of this peak. A peak equal to the limit fits.
    pub fn fits(&self, peak: u64) -> bool {
        self.max_context_length.is_none_or(|limit| peak <= limit)
    }
}

impl SelectionReport {
    /// True when no further row is looked at.
    pub fn is_full(&self, selection: &Selection) -> bool {
        selection.entries.is_some_and(|entries| self.kept >= entries)
    }

    /// Counts the next row; true when it is kept.
    pub fn count(&mut self, selection: &Selection, peak: u64) -> bool {
        self.scanned += 1;
        self.largest = self.largest.max(peak);
        let fits = selection.fits(peak);
        if fits {
            self.kept += 1;
        } else {
            self.dropped += 1;
        }
        fits
    }
}

/// Largest prompt + answer of a row in tokens, subagents' requests included; an answer counts at least 1. `output_cap`
/// cuts the answers of top level requests only, as aiperf 0.12.0 does. 0 for an empty trace.
pub fn peak(row: &Row, output_cap: Option<u32>) -> u64 {
    let need = |request: &Request, cap: Option<u32>| {
        let output = cap.map_or(request.output, |cap| request.output.min(cap));
        u64::from(request.input) + u64::from(output.max(1))
    };
    let of_entry = |entry: &Entry| match entry {
        Entry::Request(request) => need(request, output_cap),
        Entry::Subagent(subagent) => subagent
            .requests
            .iter()
            .map(|inner| need(inner, None))
            .max()
            .unwrap_or(0),
    };
    row.entries.iter().map(of_entry).max().unwrap_or(0)
}
