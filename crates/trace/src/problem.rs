//! What is wrong or odd about a file, as values with a place: all of it up to a cap, not the first alone.

use std::fmt;
use std::path::{Path, PathBuf};

/// Errors after which reading stops, and warnings after which they are only counted (`trace-csv` §2.3).
pub const PROBLEMS_MAX: usize = 100;

/// Whether a problem refuses the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The file is refused.
    Error,
    /// The file is read all the same.
    Warning,
}

/// Where a problem lies, in words of the format. [`fmt::Display`] gives the form that reports use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A column of the CSV's header line.
    Header(String),
    /// A data row, counted from 1 after the header line.
    Row(u64),
    /// One cell of a data row.
    Cell(u64, &'static str),
    /// The rounds of a session.
    Session(String),
    /// A prefix group.
    PrefixGroup(String),
    /// A key of the binding.
    Binding(&'static str),
    /// A request of the block-hash sidecar.
    Request(u64),
    /// A key of a JSON line; empty for the whole line.
    Line(u64, String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => f.write_str("file"),
            Self::Header(column) => write!(f, "header: {column}"),
            Self::Row(row) => write!(f, "row {row}"),
            Self::Cell(row, column) => write!(f, "row {row}: {column}"),
            Self::Session(session) => write!(f, "session {session}: round_index"),
            Self::PrefixGroup(group) => write!(f, "prefix_group {group}"),
            Self::Binding(key) => f.write_str(key),
            Self::Request(id) => write!(f, "workload.trace.token_blocks: request {id}"),
            Self::Line(line, key) if key.is_empty() => write!(f, "line {line}"),
            Self::Line(line, key) => write!(f, "line {line}: {key}"),
        }
    }
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Whether it refuses the file.
    pub severity: Severity,
    /// The file.
    pub file: PathBuf,
    /// Line of the file, from 1, where one is to blame.
    pub line: Option<u64>,
    /// Where in the terms of the format.
    pub place: Place,
    /// What stands there.
    pub found: String,
    /// What would be right.
    pub expected: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(
            f,
            ": {}: found {}, expected {}",
            self.place, self.found, self.expected
        )
    }
}

/// Problems of one file as they are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    file: PathBuf,
    list: Vec<Problem>,
    errors: usize,
    warnings: usize,
}

impl Problems {
    /// None yet, of `file`.
    pub fn new(file: &Path) -> Self {
        Self {
            file: file.to_owned(),
            list: Vec::new(),
            errors: 0,
            warnings: 0,
        }
    }

    /// Adds an error.
    pub fn error(
        &mut self,
        line: Option<u64>,
        place: Place,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) {
        self.errors += 1;
        if self.errors <= PROBLEMS_MAX {
            self.push(Severity::Error, line, place, found.into(), expected.into());
        }
    }

    /// Adds a warning; beyond [`PROBLEMS_MAX`] they are only counted.
    pub fn warning(
        &mut self,
        line: Option<u64>,
        place: Place,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) {
        self.warnings += 1;
        if self.warnings <= PROBLEMS_MAX {
            self.push(Severity::Warning, line, place, found.into(), expected.into());
        }
    }

    fn push(&mut self, severity: Severity, line: Option<u64>, place: Place, found: String, expected: String) {
        self.list.push(Problem {
            severity,
            file: self.file.clone(),
            line,
            place,
            found,
            expected,
        });
    }

    /// Takes over what was found in another file.
    pub fn append(&mut self, other: Self) {
        self.errors += other.errors;
        self.warnings += other.warnings;
        self.list.extend(other.list);
    }

    /// In order of finding.
    pub fn list(&self) -> &[Problem] {
        &self.list
    }

    /// No error was found; there may be warnings.
    pub fn is_ok(&self) -> bool {
        self.errors == 0
    }

    /// So many errors that reading on says nothing more.
    pub fn is_full(&self) -> bool {
        self.errors >= PROBLEMS_MAX
    }

    /// Errors found.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// Warnings found, those not listed included.
    pub fn warnings(&self) -> usize {
        self.warnings
    }
}

/// A value from a file as a message shows it: quoted, and cut when it is long.
pub(crate) fn shown(value: &[u8]) -> String {
    const SHOWN_MAX: usize = 60;
    let text = String::from_utf8_lossy(value);
    if text.is_empty() {
        return "nothing".to_owned();
    }
    let cut: String = text.chars().take(SHOWN_MAX).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    format!("`{}{more}`", cut.escape_debug())
}
