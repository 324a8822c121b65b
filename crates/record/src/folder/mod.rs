//! A run's folder: the files that are written while it runs, and the reader of all of them.
//!
//! The [`Recorder`] appends, the [`RunReader`] gives each row with its chunk stamps back, in bounded memory. Whatever is
//! missing, since the run was killed or a disk was full, is counted in [`Losses`] and never made up.

mod read;
mod write;

use serde::{Deserialize, Serialize};

pub use read::{Entry, RunReader};
pub use write::{Recorder, SYNC_EVERY_NS};

/// The header.
pub const RUN_FILE: &str = "run.json";
/// One row a request.
pub const REQUESTS_FILE: &str = "requests.jsonl";
/// Content-chunk stamps.
pub const CHUNKS_FILE: &str = "chunks.bin";
/// Phase starts and ends.
pub const MARKS_FILE: &str = "marks.jsonl";
/// Derived: the summary.
pub const SUMMARY_FILE: &str = "summary.json";
/// Derived: the summary as text.
pub const SUMMARY_TEXT_FILE: &str = "summary.txt";

/// What a run's files do not hold though they should. Everything at zero and `None` is a run that ended well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Losses {
    /// `run.json` is absent.
    pub no_header: bool,
    /// `requests.jsonl` ends within a line, as in a run that was killed.
    pub torn_row: bool,
    /// Rows that could not be read, the torn one not counted.
    pub damaged_rows: u64,
    /// What was wrong with the first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_damage: Option<String>,
    /// `marks.jsonl` ends within a line or holds lines that could not be read.
    pub damaged_marks: bool,
    /// How `chunks.bin` ends, when not behind a whole frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunks_end: Option<String>,
    /// Requests with content chunks whose stamps are not in `chunks.bin`.
    pub rows_without_chunks: u64,
    /// Requests that were started and have no row: in flight when the run was killed, or lost.
    pub unrecorded_requests: u64,
}

impl Losses {
    /// Nothing is missing.
    pub fn none(&self) -> bool {
        *self == Self::default()
    }
}
