//! The parts of the text, each a list of lines.

use record::folder::{CHUNKS_FILE, MARKS_FILE, REQUESTS_FILE, RUN_FILE};
use record::header::ServerFacts;
use record::marks::Stop;
use record::server_metrics::SERVER_METRICS_FILE;
use record::stats::sample::Distribution;
use record::stats::window::Throughput;
use record::summary::{Counts, PhaseSummary, RunEnd, Summary};
use record::validity::Validity;
use record::words::Word;

use super::quantity::{ABSENT, count, foreign, number, percent};
use super::table::{table, wrapped};
use super::{Paint, Role};

/// Error groups that are shown; `summary.json` has more.
const ERRORS_SHOWN: usize = 5;

/// What was run, where, and whether it counts.
pub(super) fn run(summary: &Summary, paint: Paint) -> Vec<String> {
    let mut lines = Vec::new();
    match &summary.run {
        None => lines.push(paint.paint(
            Role::Bad,
            &format!("{RUN_FILE} is absent: what was run is not known"),
        )),
        Some(run) => {
            let title = format!(
                "turnmill {}, run {}, {}",
                run.turnmill_version, run.benchmark_id, run.wall_start
            );
            lines.push(paint.paint(Role::Heading, &title));
            lines.extend(fact("server", &server(&run.server)));
            let load = format!(
                "{} loop, {} lanes, dialect {}, seed {}",
                run.loop_kind, run.concurrency, run.dialect, run.seed
            );
            lines.extend(fact("load", &load));
            if let Some(selection) = &run.selection {
                let corpus = format!(
                    "{} of {} traces, {} dropped, the largest has {} tokens",
                    count(selection.kept),
                    count(selection.scanned),
                    count(selection.dropped),
                    count(selection.largest)
                );
                lines.extend(fact("corpus", &corpus));
            }
            if let Some(plan) = &run.digests.plan {
                lines.extend(fact("plan", plan));
            }
        }
    }
    lines.extend(fact("end", &ended(&summary.end)));
    lines.extend(submission(summary.validity.as_ref(), paint));
    lines
}

fn server(facts: &ServerFacts) -> String {
    let window = facts
        .max_model_len
        .map(|tokens| format!("context window {} tokens", count(tokens)));
    let version = facts
        .version
        .as_ref()
        .map(|version| format!("version {}", foreign(version)));
    let known = [
        facts.url.as_str().to_owned(),
        format!("model {}", foreign(&facts.model)),
    ];
    known
        .into_iter()
        .chain(window)
        .chain(version)
        .collect::<Vec<_>>()
        .join(", ")
}

fn ended(end: &RunEnd) -> String {
    let after = format!("after {} s", number(Some(end.at_ns as f64 / 1e9), 1));
    let how = match end.stop.map(|stop| stop.0) {
        None => return format!("none: the run was killed; last stamp {after}"),
        Some(Stop::Done) => "done",
        Some(Stop::Interrupt) => "stopped by the user",
        Some(Stop::Abort) => "given up",
    };
    if end.reason.is_empty() {
        format!("{how} {after}")
    } else {
        format!("{how} {after}: {}", foreign(&end.reason))
    }
}

fn submission(validity: Option<&Validity>, paint: Paint) -> Vec<String> {
    let Some(validity) = validity else {
        return fact("submission", "no scenario to be submitted under");
    };
    if validity.submission_valid {
        let valid = paint.paint(Role::Good, "valid");
        return fact("submission", &format!("{valid} for {}", validity.scenario));
    }
    let invalid = paint.paint(Role::Bad, "NOT valid");
    let mut lines = fact("submission", &format!("{invalid} for {}:", validity.scenario));
    for reason in &validity.reasons {
        lines.extend(fact(
            "",
            &format!("{}: {}", reason.name.0.word(), foreign(&reason.detail)),
        ));
    }
    lines
}

/// A line with a name in its margin.
pub(super) fn fact(name: &str, text: &str) -> Vec<String> {
    wrapped(&format!("{name:<11} "), text)
}

/// The distributions of the measurement.
pub(super) fn latency(phase: &PhaseSummary, paint: Paint) -> Vec<String> {
    let row = |name: &str, of: &Distribution, decimals: usize| {
        let figure = |value| number(value, decimals);
        let name = name.to_owned();
        let (n, missing) = (count(of.n), count(of.missing));
        let [mean, p50, p90, p95, p99, max] = [of.mean, of.p50, of.p90, of.p95, of.p99, of.max].map(figure);
        [name, n, missing, mean, p50, p90, p95, p99, max]
    };
    let mut rows = vec![row("TTFT, ms", &phase.ttft_ms, 2)];
    if phase.ttfo_ms != phase.ttft_ms {
        rows.push(row("TTFO, ms", &phase.ttfo_ms, 2));
    }
    rows.extend([
        row("TPOT, ms", &phase.tpot_ms, 2),
        row("ITL, ms", &phase.itl_ms.distribution, 2),
        row("full-response ITL, ms", &phase.full_response_itl_ms, 2),
        row("E2E, ms", &phase.e2e_ms, 2),
        row("ISL, tokens", &phase.isl, 0),
        row("OSL, tokens", &phase.osl, 0),
    ]);
    let head = [
        "answered requests",
        "n",
        "missing",
        "mean",
        "p50",
        "p90",
        "p95",
        "p99",
        "max",
    ];
    let mut lines = table(head, &rows, paint);
    let itl = &phase.itl_ms;
    if itl.distribution.n > 0 {
        let note = format!(
            "ITL is the gap between chunks: {} of the gaps within one read, {} tokens a chunk{}.",
            percent(itl.burst_share),
            number(phase.tokens.per_chunk, 2),
            if itl.percentile_error > 0.0 {
                ", percentiles to 0.1 %"
            } else {
                ""
            }
        );
        lines.extend(wrapped("", &note));
    }
    lines
}

/// Rates over their windows.
pub(super) fn throughput(phase: &PhaseSummary, paint: Paint) -> Vec<String> {
    let row = |name: &str, window: Option<&Throughput>| {
        let figure = |of: fn(&Throughput) -> Option<f64>| number(window.and_then(of), 2);
        [
            name.to_owned(),
            figure(|window| Some(window.seconds)),
            window.map_or(ABSENT.to_owned(), |window| count(window.requests)),
            figure(|window| window.rps),
            figure(|window| window.output_tps),
            figure(|window| window.total_tps),
        ]
    };
    let windows = &phase.throughput;
    let rows = [
        row("while sending", windows.send.as_ref()),
        row("first start to last end", windows.span.as_ref()),
        row("whole phase, grace included", windows.phase.as_ref()),
    ];
    let head = [
        "throughput",
        "window, s",
        "requests",
        "requests/s",
        "output tokens/s",
        "all tokens/s",
    ];
    let mut lines = table(head, &rows, paint);
    let user = &phase.tps_per_user;
    let speed = format!(
        "Interactivity, tokens/s a user (1 / TPOT): {} mean, {} p50, {} p90, {} p95, {} p99.",
        number(user.mean, 1),
        number(user.p50, 1),
        number(user.p90, 1),
        number(user.p95, 1),
        number(user.p99, 1)
    );
    lines.extend(wrapped("", &speed));
    for (class, goodput) in &phase.goodput {
        let good = format!(
            "Goodput {}: {} requests/s, {} of the answers met every target.",
            foreign(class),
            number(goodput.goodput_rps, 2),
            percent(goodput.share)
        );
        lines.extend(wrapped("", &good));
    }
    lines
}

/// Counts by outcome, errors, cache hits.
pub(super) fn requests(summary: &Summary, paint: Paint) -> Vec<String> {
    let phase = &summary.profiling;
    let mut lines = vec![paint.paint(Role::Heading, "requests")];
    lines.extend(fact("measured", &counts(&phase.counts)));
    if let Some(warmup) = &summary.warmup {
        lines.extend(fact("warm-up", &counts(&warmup.counts)));
    }
    for (name, phase) in [("errors", Some(phase)), ("in warm-up", summary.warmup.as_ref())] {
        let errors = phase.map(|phase| phase.errors.as_slice()).unwrap_or_default();
        for (index, group) in errors.iter().take(ERRORS_SHOWN).enumerate() {
            let status = group
                .http_status
                .map(|status| format!(" {status}"))
                .unwrap_or_default();
            let error = format!(
                "{} × {}{status}: {}",
                count(group.count),
                group.kind,
                foreign(&group.text)
            );
            lines.extend(fact(if index == 0 { name } else { "" }, &error));
        }
        if errors.len() > ERRORS_SHOWN {
            lines.extend(fact("", "more in summary.json"));
        }
    }
    let cache = &phase.cache;
    let hits = format!(
        "{} theoretical (infinite cache), {} reported by the server ({} of {} answers)",
        percent(cache.theoretical_share),
        percent(cache.reported_share),
        count(cache.reported_requests),
        count(phase.counts.ok)
    );
    lines.extend(fact("cache hits", &hits));
    let early = &phase.early_finish;
    let asked = format!(
        "{} of {} asked tokens came, {} of the answers are short",
        count(phase.tokens.osl.unwrap_or(0)),
        count(phase.tokens.osl_planned),
        percent(early.share)
    );
    lines.extend(fact(
        "output",
        if early.known == 0 {
            "not counted by the server"
        } else {
            &asked
        },
    ));
    let mut files = vec![RUN_FILE, REQUESTS_FILE, CHUNKS_FILE, MARKS_FILE];
    if summary.server_metrics.is_some() {
        files.push(SERVER_METRICS_FILE);
    }
    let files = format!("{}; every figure is made from these", files.join(", "));
    lines.extend(fact("files", &files));
    lines
}

fn counts(counts: &Counts) -> String {
    let with_reasons = |name: &str, number: u64, reasons: &std::collections::BTreeMap<String, u64>| {
        let reasons: Vec<String> = reasons
            .iter()
            .map(|(reason, number)| format!("{} {reason}", count(*number)))
            .collect();
        let reasons = if reasons.is_empty() {
            String::new()
        } else {
            format!(" ({})", reasons.join(", "))
        };
        format!("{} {name}{reasons}", count(number))
    };
    let mut parts = vec![
        format!("{} ok", count(counts.ok)),
        with_reasons("failed", counts.failed, &counts.failure_kinds),
        format!("{} overflow", count(counts.overflow)),
        with_reasons("cancelled", counts.cancelled, &counts.cancel_causes),
    ];
    if counts.unrecorded > 0 {
        parts.push(format!("{} without a row", count(counts.unrecorded)));
    }
    format!("{} started = {}", count(counts.started), parts.join(" + "))
}

/// Doubts, each with its advice.
pub(super) fn warnings(summary: &Summary, paint: Paint) -> Vec<String> {
    if summary.warnings.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![paint.paint(Role::Heading, "warnings")];
    for warning in &summary.warnings {
        let message = wrapped("! ", &foreign(&warning.message));
        lines.extend(message.iter().map(|line| paint.paint(Role::Doubtful, line)));
        lines.extend(wrapped("  ", &warning.advice));
    }
    lines
}
