//! Whether a run is valid for submission: decided here once, so that every file and every export says the same.
//!
//! Reasons bear the names that aiperf 0.12.0 has for them (`aiperf-replay` §1.4); `corpus_not_pinned`,
//! `outputs_cut_short` and `latency_coverage_too_low` are ours. Beside each stands what was found and what the limit is.

use serde::{Deserialize, Serialize};

use crate::header::ValidityInputs;
use crate::marks::Stop;
use crate::summary::PhaseSummary;
use crate::words::{Word, Worded};

/// Share of context overflows above which a run is not valid; at the limit it still is. aiperf 0.12.0.
pub const OVERFLOW_SHARE_MAX: f64 = 0.01;

/// Share of answers shorter than asked above which a run that locks output lengths is not valid.
pub const EARLY_FINISH_SHARE_MAX: f64 = 0.01;

/// Share of the window up to which TTFT and ITL must have been seen in a dialect that wants it; at the limit it is enough.
/// agentx-harness 1.0 (`aiperf-replay` §9.2).
pub const LATENCY_COVERAGE_MIN: f64 = 0.95;

/// The stamp.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validity {
    /// The scenario that the result would be submitted under.
    pub scenario: String,
    /// The run may be submitted.
    pub submission_valid: bool,
    /// Why not; empty when it may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<InvalidReason>,
}

impl Validity {
    /// Whether this is one of the reasons.
    pub fn has(&self, name: ReasonName) -> bool {
        self.reasons.iter().any(|reason| reason.name.0 == name)
    }

    /// The reasons' names, each once: `submission_invalid_reasons` of aiperf's files.
    pub fn reason_names(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = Vec::new();
        for reason in &self.reasons {
            if !names.contains(&reason.name.0.word()) {
                names.push(reason.name.0.word());
            }
        }
        names
    }
}

/// One reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InvalidReason {
    /// Its name.
    pub name: Worded<ReasonName>,
    /// What was found, beside the limit.
    pub detail: String,
}

/// Names of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasonName {
    /// A scenario lock was broken.
    UnsafeOverride,
    /// The corpus digest is not the pin of its loader.
    CorpusNotPinned,
    /// The run was stopped, gave up or was killed.
    RunCancelled,
    /// Too many prompts did not fit the context window.
    ContextOverflowRateExceeded,
    /// Answers ended before the locked output length.
    OutputsCutShort,
    /// No latency was seen in the last part of the window.
    LatencyCoverageTooLow,
}

impl Word for ReasonName {
    const WHAT: &'static str = "reason";
    const TABLE: &'static [(Self, &'static str)] = &[
        (ReasonName::UnsafeOverride, "unsafe_override"),
        (ReasonName::CorpusNotPinned, "corpus_not_pinned"),
        (ReasonName::RunCancelled, "run_cancelled"),
        (
            ReasonName::ContextOverflowRateExceeded,
            "context_overflow_rate_exceeded",
        ),
        (ReasonName::OutputsCutShort, "outputs_cut_short"),
        (ReasonName::LatencyCoverageTooLow, "latency_coverage_too_low"),
    ];
}

/// The stamp of a run; `None` when it has no scenario to be submitted under. `stop` is `None` for a run that was killed.
pub fn judge(inputs: &ValidityInputs, profiling: &PhaseSummary, stop: Option<Stop>) -> Option<Validity> {
    let scenario = inputs.scenario.clone()?;
    let mut reasons: Vec<InvalidReason> = inputs
        .override_locks
        .iter()
        .map(|lock| reason(ReasonName::UnsafeOverride, lock.clone()))
        .collect();
    if !inputs.corpus_pinned {
        reasons.push(reason(
            ReasonName::CorpusNotPinned,
            "the corpus digest is not the pin of its loader".to_owned(),
        ));
    }
    reasons.extend(cancelled(stop));
    reasons.extend(overflowed(profiling));
    if inputs.output_length_locked {
        reasons.extend(cut_short(profiling));
    }
    reasons.extend(
        inputs
            .latency_window_s
            .and_then(|window_s| uncovered(window_s, profiling)),
    );
    Some(Validity {
        scenario,
        submission_valid: reasons.is_empty(),
        reasons,
    })
}

fn cancelled(stop: Option<Stop>) -> Option<InvalidReason> {
    let how = match stop {
        Some(Stop::Done) => return None,
        Some(Stop::Interrupt) => "the user stopped the run",
        Some(Stop::Abort) => "the run gave up",
        None => "the run has no end: it was killed",
    };
    Some(reason(ReasonName::RunCancelled, how.to_owned()))
}

fn overflowed(profiling: &PhaseSummary) -> Option<InvalidReason> {
    let counts = &profiling.counts;
    let answered = counts.ok + counts.failed + counts.overflow;
    let share = (answered > 0).then(|| counts.overflow as f64 / answered as f64)?;
    (share > OVERFLOW_SHARE_MAX).then(|| {
        let found = format!("{} of {answered} answers are context overflows", counts.overflow);
        reason(
            ReasonName::ContextOverflowRateExceeded,
            above(&found, share, OVERFLOW_SHARE_MAX),
        )
    })
}

fn cut_short(profiling: &PhaseSummary) -> Option<InvalidReason> {
    let early = &profiling.early_finish;
    let share = early.share.filter(|share| *share > EARLY_FINISH_SHARE_MAX)?;
    let found = format!(
        "{} of {} answers are shorter than asked",
        early.requests, early.known
    );
    Some(reason(
        ReasonName::OutputsCutShort,
        above(&found, share, EARLY_FINISH_SHARE_MAX),
    ))
}

/// As the fork has it: both signals must have been seen late enough, or the server stood still.
fn uncovered(window_s: f64, profiling: &PhaseSummary) -> Option<InvalidReason> {
    let share = |until_s: Option<f64>| (until_s.unwrap_or(0.0) / window_s).clamp(0.0, 1.0);
    let (ttft, itl) = (
        share(profiling.seen.ttft_until_s),
        share(profiling.seen.itl_until_s),
    );
    (ttft.min(itl) < LATENCY_COVERAGE_MIN).then(|| {
        let percent = |share: f64| share * 100.0;
        reason(
            ReasonName::LatencyCoverageTooLow,
            format!(
                "the last TTFT was seen {:.1} % into the window and the last ITL {:.1} %, at least {:.0} % is wanted; did the \
                 server stand still?",
                percent(ttft),
                percent(itl),
                percent(LATENCY_COVERAGE_MIN)
            ),
        )
    })
}

fn above(found: &str, share: f64, limit: f64) -> String {
    format!(
        "{found} ({:.2} %), the limit is {:.0} %",
        share * 100.0,
        limit * 100.0
    )
}

fn reason(name: ReasonName, detail: String) -> InvalidReason {
    InvalidReason {
        name: Worded(name),
        detail,
    }
}
