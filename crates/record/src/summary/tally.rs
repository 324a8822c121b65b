//! The whole run while its requests are read.

use super::phase::{PhaseMarks, PhaseTally};
use super::{RunEnd, SUMMARY_VERSION, Summary};
use crate::folder::{Entry, Losses};
use crate::header::RunHeader;
use crate::marks::{Mark, RunEvent, Stop};
use crate::request::Phase;
use crate::server_metrics::statistics::ServerMetrics;
use crate::stated::Stated;
use crate::stats::doubt;
use crate::validity;
use crate::words::Worded;

/// Takes requests one at a time and gives the [`Summary`]; 100 bytes a request and a bounded pool of gaps.
#[derive(Clone, Debug)]
pub struct Tally {
    header: Option<RunHeader>,
    server_metrics: Option<ServerMetrics>,
    stop: Option<(Stop, String, u64)>,
    stuck_lanes: Vec<u32>,
    last_mark_ns: u64,
    warmup: PhaseTally,
    profiling: PhaseTally,
}

impl Tally {
    /// A tally of a run with this header and these marks.
    pub fn new(header: Option<RunHeader>, marks: &[Mark]) -> Self {
        let slo = header
            .as_ref()
            .map(|header| header.slo.clone())
            .unwrap_or_default();
        let stop = marks.iter().rev().find_map(|mark| match &mark.event {
            RunEvent::RunEnd { stop, reason } => Some((*stop, reason.clone(), mark.at_ns)),
            _ => None,
        });
        let stuck_lanes = marks.iter().filter_map(|mark| match mark.event {
            RunEvent::LaneStuck { lane } => Some(lane),
            _ => None,
        });
        Self {
            stuck_lanes: stuck_lanes.collect(),
            header,
            server_metrics: None,
            stop,
            last_mark_ns: marks.iter().map(|mark| mark.at_ns).max().unwrap_or(0),
            warmup: PhaseTally::new(phase_marks(marks, Phase::Warmup), &slo),
            profiling: PhaseTally::new(phase_marks(marks, Phase::Profiling), &slo),
        }
    }

    /// The same with what the server said meanwhile.
    #[must_use]
    pub fn beside(mut self, metrics: Option<ServerMetrics>) -> Self {
        self.server_metrics = metrics;
        self
    }

    /// Takes a request.
    pub fn push(&mut self, entry: &Entry) {
        match entry.record.phase {
            Phase::Warmup => self.warmup.push(entry),
            Phase::Profiling => self.profiling.push(entry),
        }
    }

    /// The summary. `losses` is what the reader found missing.
    pub fn finish(self, losses: Losses) -> Summary {
        let rows_end_ns = self.warmup.last_stamp_ns().max(self.profiling.last_stamp_ns());
        let end = match self.stop {
            Some((stop, reason, at_ns)) => RunEnd {
                stop: Some(Worded(stop)),
                reason,
                at_ns,
            },
            None => RunEnd {
                stop: None,
                reason: String::new(),
                at_ns: rows_end_ns.max(self.last_mark_ns),
            },
        };
        let warmup_last_ns = self.warmup.last_stamp_ns();
        let warmup = (!self.warmup.is_empty()).then(|| self.warmup.finish(warmup_last_ns));
        let profiling_last_ns = self.profiling.last_stamp_ns();
        let profiling = self.profiling.finish(profiling_last_ns);
        let unrecorded_in_warmup = warmup.as_ref().map_or(0, |warmup| warmup.counts.unrecorded);
        let unrecorded_requests = profiling.counts.unrecorded.saturating_add(unrecorded_in_warmup);
        let trace = self.header.as_ref().and_then(|run| run.trace.as_ref());
        let mut summary = Summary {
            not_sent: trace.map(|trace| trace.planned.saturating_sub(profiling.counts.started)),
            schema_version: SUMMARY_VERSION,
            validity: self.header.as_ref().and_then(|header| {
                validity::judge(&header.validity, &profiling, end.stop.map(|stop| stop.0))
            }),
            stated: self
                .header
                .as_ref()
                .and_then(|run| Stated::of(run, self.server_metrics.as_ref())),
            server_metrics: self.server_metrics,
            run: self.header,
            end,
            profiling,
            warmup,
            losses: Losses {
                unrecorded_requests,
                ..losses
            },
            stuck_lanes: self.stuck_lanes,
            warnings: Vec::new(),
        };
        summary.warnings = doubt::doubts(&summary)
            .iter()
            .map(doubt::Doubt::warning)
            .collect();
        summary
    }
}

fn phase_marks(marks: &[Mark], of: Phase) -> PhaseMarks {
    let mut found = PhaseMarks::default();
    for mark in marks {
        match mark.event {
            RunEvent::PhaseStart(phase) if phase == of => found.start_ns = Some(mark.at_ns),
            RunEvent::SendingEnd(phase) if phase == of => found.sending_end_ns = Some(mark.at_ns),
            RunEvent::PhaseEnd { phase, started } if phase == of => {
                found.end_ns = Some(mark.at_ns);
                found.started = Some(started);
            }
            _ => {}
        }
    }
    found
}
