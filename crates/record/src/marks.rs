//! `marks.jsonl`: what a run only learns on its way, one line each, appended when it happens.
//!
//! A file of its own, so that every line of `requests.jsonl` is a request. A run that was killed has the marks until then;
//! what the missing ones would have said is taken from the last stamp seen, and the summary says so.

use serde::{Deserialize, Serialize};

use crate::request::Phase;
use crate::words::{Word, Worded};

/// Version of the lines that are written; lines up to it are read.
pub const MARK_VERSION: u32 = 1;

/// Most marks that are read; a run makes about a dozen.
pub const MARKS_MAX: usize = 10_000;

/// Something that happened to the run as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When; nanoseconds from the run's anchor.
    pub at_ns: u64,
    /// What.
    pub event: RunEvent,
}

/// What a [`Mark`] says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEvent {
    /// A phase began; its window counts from here.
    PhaseStart(Phase),
    /// The phase sends no more requests.
    SendingEnd(Phase),
    /// Nothing of the phase is in flight any more; this many of its requests were started.
    PhaseEnd {
        /// The phase.
        phase: Phase,
        /// Requests started in it.
        started: u64,
    },
    /// A lane will send no more in the window: its turns wait for what cannot come.
    LaneStuck {
        /// The lane.
        lane: u32,
    },
    /// The run is over.
    RunEnd {
        /// How it came.
        stop: Stop,
        /// The reason in words; empty when there is nothing to say.
        reason: String,
    },
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// By its own stop rule.
    Done,
    /// By the user.
    Interrupt,
    /// By a rule that gives up: a failed primer, the failed-request threshold.
    Abort,
}

impl Word for Stop {
    const WHAT: &'static str = "stop";
    const TABLE: &'static [(Self, &'static str)] = &[
        (Stop::Done, "done"),
        (Stop::Interrupt, "interrupt"),
        (Stop::Abort, "abort"),
    ];
}

/// One line of `marks.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkLine {
    /// Version of the line: 1.
    pub v: u32,
    /// [`Mark::at_ns`].
    pub at_ns: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: EventLine,
}

/// [`RunEvent`] as it stands in a line, its name under `mark`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mark", rename_all = "snake_case")]
pub enum EventLine {
    /// [`RunEvent::PhaseStart`].
    PhaseStart {
        /// The phase.
        phase: Worded<Phase>,
    },
    /// [`RunEvent::SendingEnd`].
    SendingEnd {
        /// The phase.
        phase: Worded<Phase>,
    },
    /// [`RunEvent::PhaseEnd`].
    PhaseEnd {
        /// The phase.
        phase: Worded<Phase>,
        /// Requests started in it.
        started: u64,
    },
    /// [`RunEvent::LaneStuck`].
    LaneStuck {
        /// The lane.
        lane: u32,
    },
    /// [`RunEvent::RunEnd`].
    RunEnd {
        /// How it came.
        stop: Worded<Stop>,
        /// The reason in words.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// A mark that a later version added.
    #[serde(other)]
    Unknown,
}

impl MarkLine {
    /// The mark's line.
    pub fn from_mark(mark: &Mark) -> Self {
        let event = match &mark.event {
            RunEvent::PhaseStart(phase) => EventLine::PhaseStart {
                phase: Worded(*phase),
            },
            RunEvent::SendingEnd(phase) => EventLine::SendingEnd {
                phase: Worded(*phase),
            },
            RunEvent::PhaseEnd { phase, started } => EventLine::PhaseEnd {
                phase: Worded(*phase),
                started: *started,
            },
            RunEvent::LaneStuck { lane } => EventLine::LaneStuck { lane: *lane },
            RunEvent::RunEnd { stop, reason } => EventLine::RunEnd {
                stop: Worded(*stop),
                reason: reason.clone(),
            },
        };
        Self {
            v: MARK_VERSION,
            at_ns: mark.at_ns,
            event,
        }
    }

    /// The mark; `None` for one that is not known here.
    pub fn into_mark(self) -> Option<Mark> {
        let event = match self.event {
            EventLine::PhaseStart { phase } => RunEvent::PhaseStart(phase.0),
            EventLine::SendingEnd { phase } => RunEvent::SendingEnd(phase.0),
            EventLine::PhaseEnd { phase, started } => RunEvent::PhaseEnd {
                phase: phase.0,
                started,
            },
            EventLine::LaneStuck { lane } => RunEvent::LaneStuck { lane },
            EventLine::RunEnd { stop, reason } => RunEvent::RunEnd { stop: stop.0, reason },
            EventLine::Unknown => return None,
        };
        Some(Mark {
            at_ns: self.at_ns,
            event,
        })
    }
}
