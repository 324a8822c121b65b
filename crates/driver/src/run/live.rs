//! What is known of a run while it goes on: counts, recent TTFT, and words for its end.

use std::collections::VecDeque;

use record::marks::Stop;
use record::request::{Outcome, RequestRecord};
use record::timeline;
use replay::{Phase, RunEnd, Standing};

use super::Ended;

/// Requests that the TTFT shown in passing is taken over.
const TTFT_RECENT: usize = 1024;

/// The run at a moment.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Phase, lanes, requests in flight.
    pub standing: Standing,
    /// Seconds since the run began.
    pub elapsed_s: f64,
    /// Outcomes in the phase at hand.
    pub counts: Counts,
    /// Median TTFT of the last requests answered in the phase, in milliseconds.
    pub ttft_p50_ms: Option<f64>,
    /// Output tokens of the phase, as far as the server has reported them.
    pub output_tokens: u64,
}

/// Requests of a phase by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Answered.
    pub ok: u64,
    /// Not answered, or not to the end.
    pub failed: u64,
    /// Too long for the server's context window.
    pub overflow: u64,
    /// Ended by us.
    pub cancelled: u64,
}

#[derive(Default)]
pub(super) struct Live {
    /// The files cannot be written any more.
    pub(super) writer_gone: bool,
    in_window: bool,
    counts: Counts,
    ttft_ms: VecDeque<f64>,
    output_tokens: u64,
    started_before: u64,
    /// The first failure, in words; in the warm-up, of a root's request.
    first_failure: Option<String>,
}

/// When a run with failing requests is given up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FailedThreshold {
    /// Share of the window's recorded requests that may fail, in [0, 1]. Overflows count as recorded, not as failed.
    pub share: f64,
    /// Requests that must be recorded before it is looked at (`aiperf-replay` §3.5: the larger of the lanes and 10).
    pub least: u64,
}

impl Live {
    pub(super) fn begin(&mut self, phase: Phase) {
        if phase == Phase::Profiling {
            let recorded = self.recorded();
            *self = Self {
                in_window: true,
                writer_gone: self.writer_gone,
                started_before: recorded,
                ..Self::default()
            };
        }
    }

    /// Whether more of the window's requests have failed than may.
    pub(super) fn exceeds(&self, threshold: FailedThreshold) -> bool {
        let recorded = self.recorded();
        self.in_window
            && recorded >= threshold.least
            && self.counts.failed as f64 > threshold.share * recorded as f64
    }

    fn recorded(&self) -> u64 {
        self.counts.ok + self.counts.failed + self.counts.overflow + self.counts.cancelled
    }

    fn failed_share(&self) -> String {
        format!(
            "{} of {} requests failed, more than the failed-request threshold allows",
            self.counts.failed,
            self.recorded()
        )
    }

    /// Requests started in the phase at hand, of `started` in the run: a phase begins when all of the one before have ended.
    pub(super) fn started_in_phase(&self, started: u64) -> u64 {
        started - self.started_before
    }

    pub(super) fn count(&mut self, record: &RequestRecord) {
        match record.outcome {
            Outcome::Ok => self.counts.ok += 1,
            Outcome::Failed => self.counts.failed += 1,
            Outcome::Overflow => self.counts.overflow += 1,
            Outcome::Cancelled => self.counts.cancelled += 1,
        }
        let tells = self.in_window || record.depth == 0;
        if record.outcome == Outcome::Failed && tells && self.first_failure.is_none() {
            let text = record.error.as_deref().unwrap_or("no text");
            self.first_failure = Some(format!(
                "{} turn {}: {text}",
                record.conversation_id, record.turn_index
            ));
        }
        self.output_tokens += record.usage.completion_tokens.unwrap_or_default();
        if let Some(ttft_ns) = timeline::of(record).ttft_ns {
            if self.ttft_ms.len() == TTFT_RECENT {
                self.ttft_ms.pop_front();
            }
            self.ttft_ms.push_back(ttft_ns as f64 / 1e6);
        }
    }

    pub(super) fn progress(&self, standing: Standing, elapsed_s: f64) -> Progress {
        let mut recent: Vec<f64> = self.ttft_ms.iter().copied().collect();
        let middle = recent.len() / 2;
        let ttft_p50_ms =
            (!recent.is_empty()).then(|| *recent.select_nth_unstable_by(middle, f64::total_cmp).1);
        Progress {
            standing,
            elapsed_s,
            counts: self.counts,
            ttft_p50_ms,
            output_tokens: self.output_tokens,
        }
    }

    pub(super) fn explain(&self, why: RunEnd) -> Ended {
        let (stop, reason) = match why {
            RunEnd::Complete => (Stop::Done, String::new()),
            RunEnd::Interrupted => (Stop::Interrupt, "stopped by the user".to_string()),
            RunEnd::PrimerFailed => {
                let failure = self.first_failure.as_deref().unwrap_or("no text");
                (
                    Stop::Abort,
                    format!("a warm-up request of a root failed: {failure}"),
                )
            }
            RunEnd::WarmupTimedOut => (
                Stop::Abort,
                "requests of the warm-up did not end within its grace period".to_string(),
            ),
            RunEnd::Aborted if self.writer_gone => {
                (Stop::Abort, "the run's files could not be written".to_string())
            }
            RunEnd::Aborted => {
                let failure = self.first_failure.as_deref().unwrap_or("no text");
                (
                    Stop::Abort,
                    format!("{}; the first failure: {failure}", self.failed_share()),
                )
            }
        };
        Ended { stop, reason }
    }
}
