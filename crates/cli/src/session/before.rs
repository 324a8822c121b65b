//! What a person should know before a trace file is replayed: what is sent and how, and what will surprise.

use super::choices::Choices;
use corpus::recorded::Form;
use record::header::TraceFacts;
use replay::requests::{Starts, Timetable};
use trace::pace::Schedule;
use trace::recording::Recording;

/// What should be known before a replay starts.
pub(super) fn lines(
    recording: &Recording,
    choices: &Choices,
    table: &Timetable,
    schedule: &Schedule,
    facts: &TraceFacts,
    max_model_len: Option<u64>,
) -> Vec<String> {
    let how = match choices.starts {
        Starts::Slots(slots) => format!("{} loop, {slots} at once", choices.mode.word()),
        Starts::Due => format!("{} loop over {:.1} s", choices.mode.word(), facts.span_s),
    };
    let mut lines = vec![format!(
        "{how}: {} requests in {} sessions of {}, to {}",
        facts.planned, facts.sessions, facts.file, facts.endpoint
    )];
    if facts.skipped_failed > 0 {
        lines.push(format!(
            "note: {} rows that failed when they were recorded are left out; --include-failed sends them",
            facts.skipped_failed
        ));
    }
    if facts.skipped_empty > 0 {
        lines.push(format!(
            "note: {} rows without prompt tokens are left out",
            facts.skipped_empty
        ));
    }
    if schedule.gaps_cut > 0 {
        lines.push(format!(
            "note: {} silences cut, {:.1} s in all",
            schedule.gaps_cut, schedule.silence_cut_s
        ));
    }
    if facts.sidecar && choices.form == Form::Chat {
        lines.push(
            "note: over chat the server's template stands before and between the recorded blocks, so that its prefix cache \
             finds them only nearly as recorded; --endpoint completions sends them exactly"
                .to_owned(),
        );
    }
    if let Some(limit) = max_model_len {
        let too_long = |request: &&trace::recording::Request| {
            request.prompt_tokens() + u64::from(request.output_tokens.max(1)) > limit
        };
        let count = recording.requests.iter().filter(too_long).count();
        if count > 0 {
            lines.push(format!(
                "warning: {count} requests are longer than the server's context of {limit} tokens, which will refuse them"
            ));
        }
    }
    if choices.starts == Starts::Due && choices.limits.window_s.is_finite() {
        let window_ns = choices.limits.window_s * 1e9;
        let late = table
            .due_ns
            .iter()
            .filter(|due_ns| **due_ns as f64 >= window_ns)
            .count();
        if late > 0 {
            lines.push(format!(
                "warning: {late} requests are due after the {} s of --duration-s and are never sent",
                choices.limits.window_s
            ));
        }
    }
    lines
}
