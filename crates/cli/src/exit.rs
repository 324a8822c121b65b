//! How the program ends.

use std::process::ExitCode;

/// The exit codes, each for one kind of end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// What was asked for is done.
    Done,
    /// A document is invalid, or a finished run missed what it was required to meet.
    Invalid,
    /// Wrong usage, or a run refused before it sent anything.
    Refused,
    /// A run started and could not finish.
    Unfinished,
    /// The user stopped a run; its results are written.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Invalid => 1,
            Exit::Refused => 2,
            Exit::Unfinished => 3,
            Exit::Interrupted => 130,
        })
    }
}
