//! What was run, where, and whether it counts.

use record::folder::RUN_FILE;
use record::header::{RunHeader, ServerFacts, TraceFacts};
use record::marks::Stop;
use record::summary::{RunEnd, Summary};
use record::validity::Validity;
use record::words::Word;

use super::blocks::fact;
use super::quantity::{count, foreign, number};
use super::{Paint, Role};

/// The first lines.
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
            match &run.trace {
                Some(trace) => {
                    lines.extend(fact("load", &of_trace(run, trace)));
                    lines.extend(fact("trace", &rows(trace)));
                }
                None => lines.extend(fact("load", &of_lanes(run))),
            }
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

fn of_lanes(run: &RunHeader) -> String {
    format!(
        "{} loop, {} lanes, dialect {}, seed {}",
        run.loop_kind, run.concurrency, run.dialect, run.seed
    )
}

/// What was to be sent of a trace file, and when. A closed loop takes no time from the trace.
fn of_trace(run: &RunHeader, trace: &TraceFacts) -> String {
    let timed = run.loop_kind != "closed";
    let kind = match run.loop_kind.as_str() {
        "sessions" => "sessions".to_owned(),
        kind => format!("{} loop", foreign(kind)),
    };
    let faster = timed && trace.speedup > 0.0 && (trace.speedup - 1.0).abs() > f64::EPSILON;
    let parts = [
        Some(kind),
        faster.then(|| format!(" at {}×", trace.speedup)),
        Some(format!(
            " of {}: {} requests",
            foreign(&trace.file),
            count(trace.planned)
        )),
        (trace.sessions > 0).then(|| format!(" in {} sessions", count(trace.sessions))),
        timed.then(|| format!(" over {} s", number(Some(trace.span_s), 1))),
        (run.concurrency > 0).then(|| format!(", {} in flight", run.concurrency)),
        Some(format!(", seed {}", run.seed)),
    ];
    parts.into_iter().flatten().collect()
}

/// What the requests were made of, and which rows have none.
fn rows(trace: &TraceFacts) -> String {
    let skipped: Vec<String> = [
        (trace.skipped_failed, "not answered when recorded"),
        (trace.skipped_empty, "without a prompt"),
    ]
    .into_iter()
    .filter(|(rows, _)| *rows > 0)
    .map(|(rows, which)| format!("{} {which}", count(rows)))
    .collect();
    let rows = count(trace.rows);
    let kept = if skipped.is_empty() {
        format!("{rows} rows")
    } else {
        format!("{rows} rows (left out: {})", skipped.join(", "))
    };
    let prompts = if trace.sidecar { "block ids" } else { "length" };
    let parts = [
        Some(kept),
        Some(format!("prompts by {prompts}")),
        (!trace.endpoint.is_empty()).then(|| format!("sent to {}", foreign(&trace.endpoint))),
        (!trace.context.is_empty()).then(|| format!("context {}", foreign(&trace.context))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
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
