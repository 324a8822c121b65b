//! What can be wrong with a corpus file, always with the place and with what would be right.
//!
//! Never formats a hint about another crate's options; the command line adds those.

use std::io;
use std::path::PathBuf;

use crate::reconstruct::ReconstructError;

/// Why a corpus was not loaded. Any of these refuses the whole file: no row is left out because it is bad.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be opened or read.
    #[error("{}: {source}", file.display())]
    Read {
        /// The corpus file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file's bytes are not those that were stated. Found before anything was parsed.
    #[error("{}: sha256 is {found}, but {expected} is expected; fetch the file again or state its own digest", file.display())]
    Digest {
        /// The corpus file.
        file: PathBuf,
        /// The stated digest, lower-case hexadecimal.
        expected: String,
        /// The file's digest.
        found: String,
    },
    /// A stated digest that no file can have.
    #[error("`{stated}` is no sha256 digest; 64 hexadecimal digits are right")]
    StatedDigest {
        /// As stated.
        stated: String,
    },
    /// The file was written to between the digest check and the parse.
    #[error("{}: changed while it was read; load it again when nothing writes to it", file.display())]
    Changed {
        /// The corpus file.
        file: PathBuf,
    },
    /// A row longer than [`crate::verify::ROW_BYTES_MAX`].
    #[error("{}:{line}: a row of {bytes} bytes; at most {limit} are read", file.display())]
    RowTooLong {
        /// The corpus file.
        file: PathBuf,
        /// Line of the file, from 1.
        line: usize,
        /// Length found.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// An empty line that is not at the end.
    #[error("{}:{line}: an empty line between rows; one JSON object a line is right", file.display())]
    EmptyLine {
        /// The corpus file.
        file: PathBuf,
        /// Line of the file, from 1.
        line: usize,
    },
    /// A row that is not JSON, or ends too soon.
    #[error("{}:{line}:{column}: not JSON: {problem}", file.display())]
    NotJson {
        /// The corpus file.
        file: PathBuf,
        /// Line of the file, from 1.
        line: usize,
        /// Byte of the line, from 1; 0 where the line is empty.
        column: usize,
        /// What the parser met.
        problem: String,
    },
    /// A row that is JSON, but not a Weka trace.
    #[error("{}:{line}: {field}: {problem}", file.display())]
    Field {
        /// The corpus file.
        file: PathBuf,
        /// Line of the file, from 1.
        line: usize,
        /// Path in the row, such as `requests[3].in`; `row` for the whole row.
        field: String,
        /// What was found and what would be right.
        problem: String,
    },
    /// Two rows of one id.
    #[error("{}:{line}: id: duplicate id `{id}`, first used on line {first_line}; every trace needs an id of its own", file.display())]
    DuplicateId {
        /// The corpus file.
        file: PathBuf,
        /// Line of the second row, from 1.
        line: usize,
        /// Line of the first.
        first_line: usize,
        /// The id.
        id: String,
    },
    /// A row that cannot be turned into session trees.
    #[error("{}:{line}: {source}", file.display())]
    Reconstruct {
        /// The corpus file.
        file: PathBuf,
        /// Line of the file, from 1.
        line: usize,
        /// What is wrong with the trace.
        source: ReconstructError,
    },
    /// Nothing to replay.
    #[error("{}: none of {scanned} traces is left: {}", file.display(), why_nothing(*max_context_length, *largest))]
    NothingSelected {
        /// The corpus file.
        file: PathBuf,
        /// Rows looked at.
        scanned: usize,
        /// The limit on a trace's largest request, if one was stated.
        max_context_length: Option<u64>,
        /// Largest peak seen.
        largest: u64,
    },
}

fn why_nothing(max_context_length: Option<u64>, largest: u64) -> String {
    match max_context_length {
        Some(limit) => {
            format!("the context limit is {limit} tokens and the largest trace needs {largest}")
        }
        None => "at least one row and an entry cap of at least 1 are needed".to_owned(),
    }
}
