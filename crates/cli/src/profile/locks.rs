//! The locks of the scenario `inferencex-agentx-mvp`, rule by rule in aiperf 0.12.0's order (`aiperf-replay` §1.2).
//!
//! A rule either settles its value or states a conflict and settles what an override would run with. All rules are applied,
//! whatever an earlier one found. Rule 5 (think time only) and rule 14 (the seed) ask for nothing and have no code.

use super::config::Checked;
use super::{GRACE_S, Kind, Problems, Source, Timing};
use crate::args::profile::{Extra, ProfileArgs, ProfileDialect, Series};

/// Shortest sending window, seconds (rule 9).
const DURATION_FLOOR_S: f64 = 900.0;
/// Sending window where none is stated, seconds (rule 9).
const DURATION_S: f64 = 1800.0;
/// The cache-bust target (rule 8).
const CACHE_BUST: &str = "first_turn_prefix";
/// The system's idle cap, seconds (rule 13).
const SYSTEM_IDLE_GAP_CAP_S: f64 = 10.0;
/// The repository that `weka_hf` may read (rule 7).
const WEKA_HF_REPOSITORY: &str = "semianalysisai/cc-traces-weka-062126";

/// Values that the locks settle.
pub(super) struct Locked {
    pub(super) timing: Timing,
    pub(super) streaming: bool,
    pub(super) ignore_eos: bool,
    pub(super) cache_bust: String,
    pub(super) duration_s: f64,
    pub(super) grace_s: f64,
    pub(super) start_ratios: (f64, f64),
    pub(super) system_idle_gap_cap_s: f64,
}

pub(super) fn apply(
    args: &ProfileArgs,
    dialect: ProfileDialect,
    checked: &Checked,
    problems: &mut Problems,
) -> Locked {
    let timing = timing_mode(args, problems);
    let streaming = streaming(args, problems);
    let ignore_eos = ignore_eos(&checked.extra, problems);
    ignore_trace_delays(args, problems);
    input_truncation(args, problems);
    loader(&checked.source, problems);
    let cache_bust = cache_bust(args, problems);
    let duration_s = duration(args, problems);
    let start_ratios = (
        args.load.trajectory_start_min_ratio.unwrap_or(0.0),
        args.load.trajectory_start_max_ratio.unwrap_or(1.0),
    );
    inter_turn_delay_cap(args, problems);
    trace_idle_gap_cap(args, dialect, problems);
    Locked {
        timing,
        streaming,
        ignore_eos,
        cache_bust,
        duration_s,
        grace_s: args.load.benchmark_grace_period.unwrap_or(GRACE_S),
        start_ratios,
        system_idle_gap_cap_s: system_idle_gap_cap(args, problems),
    }
}

/// Rule 1.
fn timing_mode(args: &ProfileArgs, problems: &mut Problems) -> Timing {
    let load = &args.load;
    let given = [
        ("--request-rate", load.request_rate.is_some()),
        ("--request-rate-series", load.request_rate_series.is_some()),
        ("--user-centric-rate", load.user_centric_rate.is_some()),
        ("--fixed-schedule", load.fixed_schedule),
    ];
    match given.iter().find(|(_, given)| *given) {
        None => Timing::AgenticReplay,
        Some((flag, _)) => {
            problems.lock(
                "--request-rate / --user-centric-rate / --fixed-schedule",
                format!("the scenario times its sends by agentic replay, found {flag}"),
            );
            Timing::Other
        }
    }
}

/// Rule 2.
fn streaming(args: &ProfileArgs, problems: &mut Problems) -> bool {
    let streaming = args.endpoint.streaming.unwrap_or(true);
    if !streaming {
        problems.lock(
            "--streaming",
            "must be on, found off; without a stream there is no TTFT and no ITL",
        );
    }
    streaming
}

/// Rule 3: null counts as absent, and whatever is not falsy is on.
fn ignore_eos(extra: &Extra, problems: &mut Problems) -> bool {
    let Some((_, value)) = extra.iter().rev().find(|(name, _)| name == "ignore_eos") else {
        return true;
    };
    if is_falsy(value.get()) {
        problems.lock(
            "extra_inputs.ignore_eos",
            format!("must be true, found {}", value.get()),
        );
        return false;
    }
    true
}

/// False, a zero, or a text that says so.
fn is_falsy(json: &str) -> bool {
    match serde_json::from_str(json) {
        Ok(serde_json::Value::Bool(on)) => !on,
        Ok(serde_json::Value::Number(number)) => number.as_f64() == Some(0.0),
        Ok(serde_json::Value::String(text)) => {
            matches!(text.trim().to_lowercase().as_str(), "false" | "0" | "no")
        }
        _ => false,
    }
}

/// Rule 4.
fn ignore_trace_delays(args: &ProfileArgs, problems: &mut Problems) {
    if args.workload.ignore_trace_delays {
        problems.lock(
            "--ignore-trace-delays",
            "must be off: the scenario replays recorded think time",
        );
    }
}

/// Rule 6.
fn input_truncation(args: &ProfileArgs, problems: &mut Problems) {
    if let Some(tokens) = args.workload.synthesis_max_isl {
        problems.lock(
            "--synthesis-max-isl",
            format!("must be left out, found {tokens}; --max-context-length drops whole traces instead"),
        );
    }
}

/// Rule 7 (`aiperf-replay` §1.3): the loaders that our pins know are those that the scenario accepts, and `weka_trace`.
fn loader(source: &Source, problems: &mut Problems) {
    const FLAG: &str = "--input-file (loader)";
    let accepted = || {
        let names: Vec<&str> = corpus::pin::pins()
            .iter()
            .map(|pin| pin.loader.as_str())
            .collect();
        names.join(", ")
    };
    match source {
        Source::Synthetic => problems.push(
            Kind::HardLock,
            FLAG,
            format!(
                "no corpus is stated, and --unsafe-override does not help: nothing could be replayed; state --public-dataset, \
                 one of {}",
                accepted()
            ),
        ),
        Source::Public(name) if corpus::pin::by_loader(name).is_none() => problems.lock(
            FLAG,
            format!("{name} is not a corpus of the scenario; expected one of {}", accepted()),
        ),
        Source::Public(_) => {}
        Source::Repository(repository) if repository == WEKA_HF_REPOSITORY => {}
        Source::Repository(repository) => problems.lock(
            "--hf-weka-dataset",
            format!("must be {WEKA_HF_REPOSITORY}, found {repository}; name its loader with --public-dataset instead"),
        ),
        Source::Local { format, .. } if format == "weka_trace" => problems.lock(
            "--custom-dataset-type / --input-file",
            "a corpus on this machine has no identity that a submission could name; state --public-dataset",
        ),
        Source::Local { format, .. } => {
            problems.lock(FLAG, format!("{format} is not a corpus of the scenario; expected one of {}", accepted()));
        }
    }
}

/// Rule 8.
fn cache_bust(args: &ProfileArgs, problems: &mut Problems) -> String {
    let target = args.workload.cache_bust.as_deref().unwrap_or(CACHE_BUST);
    if target != CACHE_BUST {
        problems.lock("--cache-bust", format!("must be {CACHE_BUST}, found {target}"));
    }
    target.to_owned()
}

/// Rule 9.
fn duration(args: &ProfileArgs, problems: &mut Problems) -> f64 {
    let duration_s = args
        .load
        .benchmark_duration
        .as_ref()
        .map_or(DURATION_S, Series::first);
    if duration_s < DURATION_FLOOR_S {
        problems.lock(
            "--benchmark-duration",
            format!("must be at least {DURATION_FLOOR_S} s, found {duration_s}"),
        );
    }
    duration_s
}

/// Rule 11.
fn inter_turn_delay_cap(args: &ProfileArgs, problems: &mut Problems) {
    if let Some(cap_s) = args.workload.inter_turn_delay_cap_seconds {
        problems.lock(
            "--inter-turn-delay-cap-seconds",
            format!("must be left out, found {cap_s}: the scenario replays recorded think time"),
        );
    }
}

/// Rule 12, which the fork does not have.
fn trace_idle_gap_cap(args: &ProfileArgs, dialect: ProfileDialect, problems: &mut Problems) {
    let Some(cap_s) = args.load.trace_idle_gap_cap_seconds else {
        return;
    };
    if dialect == ProfileDialect::Aiperf0120 {
        problems.lock(
            "--trace-idle-gap-cap-seconds",
            format!(
                "must be left out under {}, found {cap_s}; {} allows it",
                dialect.name(),
                ProfileDialect::Agentx10.name()
            ),
        );
    }
}

/// Rule 13.
fn system_idle_gap_cap(args: &ProfileArgs, problems: &mut Problems) -> f64 {
    let cap_s = args
        .load
        .system_idle_gap_cap_seconds
        .unwrap_or(SYSTEM_IDLE_GAP_CAP_S);
    if cap_s.to_bits() != SYSTEM_IDLE_GAP_CAP_S.to_bits() {
        problems.lock(
            "--system-idle-gap-cap-seconds",
            format!("must be {SYSTEM_IDLE_GAP_CAP_S}, found {cap_s}"),
        );
    }
    cap_s
}
