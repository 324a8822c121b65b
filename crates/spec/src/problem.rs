//! What is wrong with a document, and where.
//!
//! Checks collect [`Problem`]s and go on; nothing here stops at the first one, prints, or knows which file it reads.
//! [`crate::render`] turns them into text or JSON.

use std::fmt;

/// Whether a problem makes its document invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The document is invalid.
    Error,
    /// Worth reading; never fails a document.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        })
    }
}

/// A stretch of a document's text. Lines and columns count from 1, columns in characters; offsets are bytes.
///
/// A missing key has the place of the mapping that lacks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Line of the first character.
    pub line: u32,
    /// Column of the first character.
    pub column: u32,
    /// Byte offset of the first character.
    pub start: usize,
    /// Byte offset after the last character.
    pub end: usize,
    /// The place is in the catalog entry that a binding refers to, not in the document itself. Never set in a
    /// [`Problem`]: there such places are rewritten to the reference.
    pub(crate) in_entry: bool,
}

impl Place {
    /// The first character of any document.
    pub const START: Place = Place {
        line: 1,
        column: 1,
        start: 0,
        end: 0,
        in_entry: false,
    };
}

/// One thing a person should know about a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Dotted path from the document's root, list items as `[i]`; empty for the document as a whole. Problems of a
    /// reference to a catalog begin with `references.`.
    pub path: String,
    /// Whether it fails the document.
    pub severity: Severity,
    /// What was found and what would be right. Lower case, no full stop.
    pub message: String,
    /// A next step, where one is known.
    pub hint: Option<String>,
    /// Where in the document; `None` only for problems of no document (a catalog folder, say).
    pub place: Option<Place>,
    /// A violation of a scenario lock, which `--override-locks` forgives for a trial. A document whose errors are all
    /// waivable is still returned by [`crate::read`].
    pub waivable: bool,
}

impl Problem {
    pub(crate) fn hint(&mut self, hint: impl Into<String>) -> &mut Problem {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn waivable(&mut self) -> &mut Problem {
        self.waivable = true;
        self
    }

    /// An error, as opposed to a warning.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Problem {
    /// The one-line form: `error: path: message`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity, self.title())
    }
}

impl Problem {
    /// `path: message`, without the path where there is none.
    pub fn title(&self) -> String {
        if self.path.is_empty() {
            self.message.clone()
        } else {
            format!("{}: {}", self.path, self.message)
        }
    }
}

/// No error among them, waivable ones included.
pub fn is_ok(problems: &[Problem]) -> bool {
    !problems.iter().any(Problem::is_error)
}

/// No error among them but violations of scenario locks.
pub fn is_ok_but_for_locks(problems: &[Problem]) -> bool {
    !problems
        .iter()
        .any(|problem| problem.is_error() && !problem.waivable)
}

/// Problems in the making.
#[derive(Default)]
pub(crate) struct Report {
    problems: Vec<Problem>,
}

impl Report {
    pub(crate) fn error(
        &mut self,
        path: impl Into<String>,
        place: Place,
        message: impl Into<String>,
    ) -> &mut Problem {
        self.push(Severity::Error, path.into(), place, message.into())
    }

    pub(crate) fn warning(
        &mut self,
        path: impl Into<String>,
        place: Place,
        message: impl Into<String>,
    ) -> &mut Problem {
        self.push(Severity::Warning, path.into(), place, message.into())
    }

    fn push(&mut self, severity: Severity, path: String, place: Place, message: String) -> &mut Problem {
        self.problems.push(Problem {
            path,
            severity,
            message,
            hint: None,
            place: Some(place),
            waivable: false,
        });
        self.problems.last_mut().expect("one was pushed just now")
    }

    pub(crate) fn has_errors(&self) -> bool {
        !is_ok(&self.problems)
    }

    pub(crate) fn add(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// All of them, by path and then message, so that output is stable.
    pub(crate) fn finish(mut self) -> Vec<Problem> {
        sort(&mut self.problems);
        self.problems
    }
}

/// By path and then message.
pub(crate) fn sort(problems: &mut [Problem]) {
    problems.sort_by(|a, b| (&a.path, &a.message, a.severity).cmp(&(&b.path, &b.message, b.severity)));
}

/// Text from a document as a message shows it: quoted, escaped, and cut where it is long.
pub(crate) fn shown(text: &str) -> String {
    const CHARACTERS_MAX: usize = 80;
    let mut cut: String = text.chars().take(CHARACTERS_MAX).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    format!("\"{}\"", cut.escape_debug().to_string().replace("\\'", "'"))
}
