//! What a person sees while a run goes on: one line that redraws on a terminal, else a plain line every 30 s.

use crate::output;
use corpus::fetch::Progress as Step;
use driver::clock::Clock;
use driver::run::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use replay::{Phase, Plan, Settings};
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tree::Trace;

/// Time between two plain lines.
const PLAIN_EVERY_NS: u64 = 30_000_000_000;
/// How often the spinner turns.
const TURN_EVERY: Duration = Duration::from_millis(250);
/// Longest warm-up that is not worth a word.
const WARMUP_UNREMARKABLE_S: f64 = 30.0;

/// Shows the run until its end.
pub(crate) async fn show(mut progress: watch::Receiver<Option<Progress>>, clock: Clock) {
    let line = Line::new();
    let mut said_ns = clock.now_ns();
    while progress.changed().await.is_ok() {
        let Some(now) = progress.borrow_and_update().clone() else {
            continue;
        };
        match &line {
            Line::Redrawn(bar) => bar.set_message(text(&now)),
            Line::Plain if clock.now_ns() - said_ns >= PLAIN_EVERY_NS => {
                said_ns = clock.now_ns();
                output::say(&text(&now));
            }
            Line::Plain => {}
        }
    }
    if let Line::Redrawn(bar) = line {
        bar.finish_and_clear();
    }
}

enum Line {
    Redrawn(ProgressBar),
    Plain,
}

impl Line {
    fn new() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self::Plain;
        }
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{spinner} {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar.enable_steady_tick(TURN_EVERY);
        Self::Redrawn(bar)
    }
}

/// Phase, time left, lanes, requests in flight, outcomes, TTFT so far.
fn text(now: &Progress) -> String {
    let standing = &now.standing;
    let in_phase_s = now.elapsed_s - standing.phase_start;
    let left = standing
        .sending_until
        .map(|until| clock_text((until - now.elapsed_s).max(0.0)));
    let phase = match (standing.phase, standing.sending_complete) {
        (Phase::Warmup, false) => {
            let ends = left.map_or_else(
                || "last answers to come".to_string(),
                |left| format!("last request in {left} at most"),
            );
            format!("warm-up {}, {ends}", clock_text(in_phase_s))
        }
        (Phase::Warmup, true) => format!("warm-up {}, last answers to come", clock_text(in_phase_s)),
        (Phase::Profiling, false) => {
            let name = if standing.total.is_some() {
                "trace"
            } else {
                "window"
            };
            let left = left.map_or_else(String::new, |left| format!(", {left} left"));
            format!("{name} {}{left}", clock_text(in_phase_s))
        }
        (Phase::Profiling, true) => format!("grace {}, last answers to come", clock_text(in_phase_s)),
    };
    let stuck = match standing.stuck_lanes {
        0 => String::new(),
        lanes => format!(" ({lanes} stuck: their turns wait for what cannot come)"),
    };
    let lanes = match standing.total {
        Some(total) => format!("{} of {total} sent", standing.sent),
        None => format!("lanes {}{stuck}", standing.live_lanes),
    };
    let counts = now.counts;
    let ttft = now
        .ttft_p50_ms
        .map(|ttft| format!(" | ttft p50 {ttft:.0} ms"))
        .unwrap_or_default();
    let rate = if now.output_tokens > 0 && in_phase_s > 0.0 {
        format!(" | {:.0} tok/s", now.output_tokens as f64 / in_phase_s)
    } else {
        String::new()
    };
    format!(
        "{phase} | {lanes} | in flight {} | ok {} failed {} overflow {} cancelled {}{ttft}{rate}",
        standing.in_flight, counts.ok, counts.failed, counts.overflow, counts.cancelled
    )
}

/// A download as a person sees it.
pub(crate) struct Fetching {
    line: Line,
    clock: Clock,
    said_ns: u64,
}

impl Fetching {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            line: Line::new(),
            clock,
            said_ns: clock.now_ns(),
        }
    }

    pub(crate) fn show(&mut self, step: &Step) {
        let (text, is_news) = fetch_text(step);
        match &self.line {
            Line::Redrawn(bar) if is_news => bar.suspend(|| output::say(&text)),
            Line::Redrawn(bar) => bar.set_message(text),
            Line::Plain if is_news || self.clock.now_ns() - self.said_ns >= PLAIN_EVERY_NS => {
                self.said_ns = self.clock.now_ns();
                output::say(&text);
            }
            Line::Plain => {}
        }
    }

    pub(crate) fn end(self) {
        if let Line::Redrawn(bar) = self.line {
            bar.finish_and_clear();
        }
    }
}

/// A step in words, and whether it must not be missed.
fn fetch_text(step: &Step) -> (String, bool) {
    let mb = |bytes: &u64| *bytes as f64 / 1e6;
    match step {
        Step::Checking { path } => (format!("checking the digest of {}", path.display()), false),
        Step::Asking { url } => (format!("fetching {url}"), false),
        Step::Resuming { bytes } => (
            format!("going on after the {:.1} MB of an earlier download", mb(bytes)),
            true,
        ),
        Step::Received {
            bytes,
            total: Some(total),
        } => (format!("fetched {:.1} of {:.1} MB", mb(bytes), mb(total)), false),
        Step::Received { bytes, total: None } => (format!("fetched {:.1} MB", mb(bytes)), false),
        Step::Retrying {
            reason,
            failures,
            of,
            pause,
        } => (
            format!(
                "{reason}; attempt {failures} of {of} failed, the next in {:.0} s",
                pause.as_secs_f64()
            ),
            true,
        ),
        Step::FallingBack { from } => (
            format!("the hub has no such file at {from}; asking for the default branch"),
            true,
        ),
    }
}

/// `m:ss`, or `h:mm:ss` from an hour on.
fn clock_text(seconds: f64) -> String {
    let whole = seconds.max(0.0) as u64;
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// What should be known before a run starts: its size, and what will surprise.
pub(crate) fn before(plan: &Plan, traces: &[Arc<Trace>], settings: &Settings) -> Vec<String> {
    let lanes = plan.lanes.len();
    let mut lines = vec![format!(
        "{lanes} lanes over {} traces; warm-up of {} requests, window of {} s, grace of {} s",
        traces.len(),
        plan.warmup_request_count(),
        settings.duration_s,
        settings.grace_s
    )];
    if lanes < settings.concurrency as usize {
        lines.push(format!(
            "warning: only {lanes} of {} lanes have a trace to start with",
            settings.concurrency
        ));
    }
    if lanes > traces.len() {
        lines.push(format!(
            "note: more lanes than traces; {} traces start on several lanes, each at its own instant and with its own marker",
            lanes.min(2 * traces.len()) - traces.len()
        ));
    }
    let late = |lane: &&replay::LaneStart| {
        let going = lane
            .streams
            .iter()
            .filter(|stream| !stream.waiting)
            .map(|stream| stream.offset_ms);
        going.fold(f64::INFINITY, f64::min) / 1000.0 > settings.duration_s
    };
    let late: Vec<String> = plan
        .lanes
        .iter()
        .filter(late)
        .filter(|_| !settings.burst_phase_starts)
        .map(|lane| lane.lane.to_string())
        .collect();
    if !late.is_empty() {
        lines.push(format!(
            "warning: {} of {lanes} lanes may not start inside the window, since their first request is recorded later than \
             that (lanes {}); they start only if the idle cap pulls them in; --burst-phase-starts starts all at once",
            late.len(),
            late.join(", ")
        ));
    }
    let warmup_s = warmup_estimate_s(plan, traces, settings);
    if warmup_s > WARMUP_UNREMARKABLE_S {
        lines.push(format!(
            "note: the warm-up takes up to {} while it is aligned on the lanes' instants; idle time is cut to {} s a gap",
            clock_text(warmup_s),
            settings.system_idle_gap_cap_s
        ));
    }
    lines
}

/// The longest that sending the primers can take: their planned spread, or all gaps at the idle cap.
fn warmup_estimate_s(plan: &Plan, traces: &[Arc<Trace>], settings: &Settings) -> f64 {
    if settings.burst_phase_starts {
        return 0.0;
    }
    let leads = plan.lanes.iter().flat_map(|lane| {
        lane.streams.iter().filter_map(move |stream| {
            let turn = &traces[lane.trace].conversations[stream.conversation].turns[stream.warmup_turn?];
            Some(lane.t_star_ms - turn.timestamp_ms?)
        })
    });
    let (least, most) = leads.fold((f64::INFINITY, 0.0_f64), |(least, most), lead| {
        (least.min(lead), most.max(lead))
    });
    if most <= least {
        0.0
    } else {
        (most - least) / 1000.0
    }
}

#[cfg(test)]
mod tests {
    use super::clock_text;

    #[test]
    fn times_read_like_a_clock() {
        assert_eq!(clock_text(0.4), "0:00");
        assert_eq!(clock_text(61.0), "1:01");
        assert_eq!(clock_text(3_725.9), "1:02:05");
        assert_eq!(clock_text(-1.0), "0:00");
    }
}
