//! What aiperf would run and we cannot: said before anything is sent, all of it at once.
//!
//! A row goes from here when the thing can be run.

use super::{Kind, Problem, Problems, Resolved, Source, Timing, config};
use crate::args::profile::ProfileArgs;

/// Everything about these values that cannot be run here.
pub(crate) fn unsupported(args: &ProfileArgs, resolved: &Resolved) -> Vec<Problem> {
    let mut problems = Problems::default();
    let mut refuse = |flag, message: String| problems.push(Kind::Unsupported, flag, message);
    for flag in config::sweep_flags(args) {
        refuse(
            flag,
            "a list of values cannot be run here; start one run for each value".into(),
        );
    }
    let endpoint = &args.endpoint;
    if endpoint.endpoint_type != "chat" {
        refuse(
            "--endpoint-type",
            format!(
                "{} cannot be replayed here; only chat can",
                endpoint.endpoint_type
            ),
        );
    }
    if endpoint.urls.len() > 1 {
        refuse(
            "--url",
            format!("one server is spoken to, {} were given", endpoint.urls.len()),
        );
    }
    if endpoint.models.len() > 1 {
        refuse(
            "--model",
            format!("one model is spoken to, {} were given", endpoint.models.len()),
        );
    }
    match &resolved.source {
        Source::Public(name) if corpus::pin::by_loader(name).is_none() => {
            refuse(
                "--public-dataset",
                format!("{name} has no traces that could be replayed"),
            );
        }
        Source::Local { format, .. } if format != "weka_trace" => {
            refuse(
                "--custom-dataset-type",
                format!("{format} cannot be replayed here; only weka_trace can"),
            );
        }
        _ => {}
    }
    if resolved.timing == Timing::Other {
        refuse(
            "--request-rate / --user-centric-rate / --fixed-schedule",
            "only agentic replay can be run".into(),
        );
    }
    if !resolved.streaming {
        refuse(
            "--streaming",
            "answers that do not stream cannot be measured".into(),
        );
    }
    if resolved.cache_bust != "first_turn_prefix" {
        refuse(
            "--cache-bust",
            format!("{} cannot be run here, overridden or not", resolved.cache_bust),
        );
    }
    let workload = &args.workload;
    if workload.ignore_trace_delays {
        refuse(
            "--ignore-trace-delays",
            "cannot be run here, overridden or not".into(),
        );
    }
    if workload.synthesis_max_isl.is_some() {
        refuse(
            "--synthesis-max-isl",
            "cannot be run here, overridden or not".into(),
        );
    }
    if workload.inter_turn_delay_cap_seconds.is_some() {
        refuse(
            "--inter-turn-delay-cap-seconds",
            "cannot be run here, overridden or not".into(),
        );
    }
    if resolved.trace_idle_gap_cap_s.is_some()
        && resolved.dialect == crate::args::profile::ProfileDialect::Aiperf0120
    {
        refuse(
            "--trace-idle-gap-cap-seconds",
            "aiperf 0.12.0 would compress the traces while it loads them, which cannot be run here; leave out --dialect".into(),
        );
    }
    if resolved.session_cap.is_some() {
        refuse(
            "--conversation-num",
            "a cap on session trees cannot be run yet; --request-count caps requests".into(),
        );
    }
    problems.0
}
