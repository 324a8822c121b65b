//! What ends the reading or writing of a trace at once. What is wrong with a file's content is a [`crate::Problem`].

use std::io;
use std::path::{Path, PathBuf};

/// An error of the trace files.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", file.display())]
    File {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file was written to between the digest check and the parse.
    #[error("{} changed while it was read; try again when nothing writes to it", file.display())]
    Changed {
        /// The file.
        file: PathBuf,
    },
    /// A row or line that is longer than may be held in memory; an unclosed quote looks like this too.
    #[error("{}: {what} from line {line} on is longer than {limit} bytes", file.display())]
    TooLong {
        /// The file.
        file: PathBuf,
        /// `row` or `line`.
        what: &'static str,
        /// Where it begins, from 1.
        line: u64,
        /// The limit.
        limit: u64,
    },
    /// More rows than can be held.
    #[error("{}: more than {limit} rows; split the trace", file.display())]
    TooManyRows {
        /// The file.
        file: PathBuf,
        /// The limit.
        limit: usize,
    },
    /// A file that must be right to be used is not; its problems were collected.
    #[error("{}: {} wrong with its content, first: {first}", file.display(), count(*errors))]
    Refused {
        /// The file.
        file: PathBuf,
        /// How many errors.
        errors: usize,
        /// The first.
        first: String,
    },
}

fn count(errors: usize) -> String {
    if errors == 1 {
        "one thing is".to_owned()
    } else {
        format!("{errors} things are")
    }
}

impl TraceError {
    /// The system refused `action` on `file`.
    pub fn file(action: &'static str, file: &Path, source: io::Error) -> Self {
        Self::File {
            action,
            file: file.to_owned(),
            source,
        }
    }
}
