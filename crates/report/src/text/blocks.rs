//! The parts of the text that hold figures and doubts, each a list of lines.

use record::folder::{CHUNKS_FILE, MARKS_FILE, REQUESTS_FILE, RUN_FILE};
use record::server_metrics::SERVER_METRICS_FILE;
use record::stats::sample::Distribution;
use record::stats::window::Throughput;
use record::summary::{Counts, Goodput, PhaseSummary, Summary, Tokens};

use super::quantity::{ABSENT, count, foreign, number, percent};
use super::table::{table, wrapped};
use super::{Paint, Role};

/// Error groups that are shown; `summary.json` has more.
const ERRORS_SHOWN: usize = 5;

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
    lines.extend(goodput(phase));
    lines
}

/// A line a class that has targets, and one for all where there are several.
fn goodput(phase: &PhaseSummary) -> Vec<String> {
    let mut lines = Vec::new();
    for (class, goodput) in &phase.goodput {
        lines.extend(good(&format!("Goodput {}", foreign(class)), goodput));
    }
    let Some(total) = &phase.goodput_total else {
        return lines;
    };
    if phase.goodput.len() > 1 {
        lines.extend(good("Goodput of these classes together", total));
    }
    let counts = &phase.counts;
    let others = (counts.ok + counts.failed + counts.overflow).saturating_sub(total.counted);
    if others > 0 {
        let note = format!(
            "In no goodput: {} of classes without targets.",
            requests_of(others)
        );
        lines.extend(wrapped("", &note));
    }
    lines
}

fn good(name: &str, goodput: &Goodput) -> Vec<String> {
    let targets = [("TTFT", "ttft_ms"), ("TPOT", "itl_ms"), ("E2E", "e2e_ms")];
    let each: Vec<String> = targets
        .iter()
        .filter_map(|(shown, key)| Some((shown, goodput.dimensions.get(*key)?)))
        .map(|(shown, of)| format!("{shown} {} of {}", count(of.met), count(of.measured)))
        .collect();
    let each = if each.is_empty() {
        "no target bounds anything".to_owned()
    } else {
        each.join(", ")
    };
    let text = format!(
        "{name}: {} requests/s, {} of {} ({}) met every target; {each}.",
        number(goodput.goodput_rps, 2),
        count(goodput.slo_met),
        requests_of(goodput.counted),
        percent(goodput.share)
    );
    wrapped("", &text)
}

fn requests_of(number: u64) -> String {
    format!("{} request{}", count(number), if number == 1 { "" } else { "s" })
}

/// Counts by outcome, errors, cache hits.
pub(super) fn requests(summary: &Summary, paint: Paint) -> Vec<String> {
    let phase = &summary.profiling;
    let mut lines = vec![paint.paint(Role::Heading, "requests")];
    lines.extend(fact("measured", &counts(&phase.counts)));
    if let Some(warmup) = &summary.warmup {
        lines.extend(fact("warm-up", &counts(&warmup.counts)));
    }
    if let Some(held) = &phase.held {
        let delay = &held.delay_ms;
        let text = format!(
            "{} by the cap on requests in flight, p50 {} ms, max {} ms",
            requests_of(held.requests),
            number(delay.p50, 2),
            number(delay.max, 2)
        );
        lines.extend(fact("held back", &text));
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
    if summary.run.as_ref().is_some_and(|run| run.trace.is_some()) {
        lines.extend(fact("prompts", &prompts(&phase.tokens)));
    }
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

/// The prompts of a trace file are made to a length, so what the server makes of them is said (`trace-csv` §4.3).
fn prompts(tokens: &Tokens) -> String {
    let Some(isl) = tokens.isl else {
        return "not counted by the server".to_owned();
    };
    let off = tokens.isl_counted_share().map_or(String::new(), |share| {
        format!(", {:+.1} %", (share - 1.0) * 100.0)
    });
    format!(
        "{} tokens planned, {} counted by the server{off}",
        count(tokens.isl_planned),
        count(isl)
    )
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
