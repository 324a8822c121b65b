//! Which scrapes a window lies between.

use crate::marks::{Mark, RunEvent};
use crate::request::Phase;

/// A phase of a run, as its marks state it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its start.
    pub start_ns: u64,
    /// Its end, or that of the run when it came first; `u64::MAX` for a run that was killed.
    pub end_ns: u64,
    /// From here to the start, none of our requests was in flight.
    pub quiet_from_ns: u64,
}

/// The first and the last scrape of a page that a window's figures are made of, by their position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: usize,
    pub(super) last: usize,
}

impl Window {
    /// The window of `phase`; `None` when it never began.
    pub fn of(phase: Phase, marks: &[Mark]) -> Option<Self> {
        let start_ns = marks.iter().find_map(|mark| match mark.event {
            RunEvent::PhaseStart(started) if started == phase => Some(mark.at_ns),
            _ => None,
        })?;
        let end_ns = marks.iter().find_map(|mark| match mark.event {
            RunEvent::PhaseEnd { phase: ended, .. } if ended == phase => Some(mark.at_ns),
            _ => None,
        });
        // The end of a phase in which nothing is in flight any more is computed, and may lie behind the run's.
        let run_end_ns = marks.iter().find_map(|mark| match mark.event {
            RunEvent::RunEnd { .. } => Some(mark.at_ns),
            _ => None,
        });
        let quiet_from_ns = marks.iter().filter_map(|mark| match mark.event {
            RunEvent::PhaseEnd {
                phase: ended,
                started,
            } if ended != phase && started > 0 => Some(mark.at_ns),
            _ => None,
        });
        Some(Self {
            start_ns,
            end_ns: end_ns.into_iter().chain(run_end_ns).min().unwrap_or(u64::MAX),
            quiet_from_ns: quiet_from_ns.filter(|end| *end <= start_ns).max().unwrap_or(0),
        })
    }

    /// The scrapes of a page with these times. The first is the last one before the start, when nothing of ours went on
    /// since it, else the one nearest to the start; the last is the first one after the end, when there is one.
    pub(super) fn span(&self, stamps: &[u64]) -> Option<Span> {
        let behind = stamps.partition_point(|at| *at <= self.start_ns);
        let first = match (behind.checked_sub(1), stamps.get(behind)) {
            (None, _) => 0,
            (Some(before), None) => before,
            (Some(before), Some(after)) => {
                let early = self.start_ns - stamps[before];
                let is_quiet = stamps[before] >= self.quiet_from_ns;
                if is_quiet || early <= after - self.start_ns {
                    before
                } else {
                    behind
                }
            }
        };
        let last = stamps
            .partition_point(|at| *at < self.end_ns)
            .min(stamps.len().checked_sub(1)?);
        (first < last).then_some(Span { first, last })
    }
}
