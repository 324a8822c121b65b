//! What is wrong with flags whatever the scenario says: values out of range, flags that exclude each other, flags that
//! cannot be had. No override helps here (aiperf 0.12.0 refuses these while it reads its configuration).

use super::{Problems, SCENARIO, Source, fork_flags};
use crate::args::SamplingName;
use crate::args::profile::{Extra, Fate, ProfileArgs, ProfileDialect, Series, extra_inputs, headers};

/// aiperf's own start ratios, against which a bound that stands alone is checked (`aiperf-replay` §1.2, rule 10).
const STOCK_START_RATIOS: (f64, f64) = (0.25, 0.75);

/// Values that only had to be read.
pub(super) struct Checked {
    pub(super) source: Source,
    pub(super) sampling: SamplingName,
    pub(super) seed: Option<u64>,
    pub(super) max_context_length: Option<u64>,
    pub(super) entries: Option<usize>,
    pub(super) extra: Extra,
}

pub(super) fn check(args: &ProfileArgs, dialect: ProfileDialect, problems: &mut Problems) -> Checked {
    scenario(args, problems);
    for row in &args.others.0 {
        if let Fate::Refused(why) = row.fate {
            problems.config(row.names[0], format!("{why}{}", row.also()));
        }
    }
    dialects(args, dialect, problems);
    ranges(args, problems);
    start_ratios(args, problems);
    sweeps(args, problems);
    let extra = extra_inputs(&args.endpoint.extra_inputs).unwrap_or_else(|why| {
        problems.config("--extra-inputs", why);
        Extra::new()
    });
    if extra.iter().any(|(name, _)| name == "messages") {
        problems.config(
            "--extra-inputs",
            "`messages` is what the replay sends; name another field",
        );
    }
    if let Err(why) = headers(&args.endpoint.headers) {
        problems.config("--header", why);
    }
    let workload = &args.workload;
    Checked {
        source: source(args, problems),
        sampling: sampling(args, problems),
        seed: workload.random_seed.and_then(|seed| {
            let fits = u64::try_from(seed).ok();
            if fits.is_none() {
                problems.config(
                    "--random-seed",
                    format!("{seed} is no seed; expected 0 to {}", u64::MAX),
                );
            }
            fits
        }),
        max_context_length: positive("--max-context-length", workload.max_context_length, problems),
        entries: positive("--num-dataset-entries", workload.dataset_entries, problems)
            .and_then(|entries| usize::try_from(entries).ok()),
        extra,
    }
}

fn scenario(args: &ProfileArgs, problems: &mut Problems) {
    match args.workload.scenario.as_deref() {
        Some(SCENARIO) => {}
        Some("agentx") => problems.config(
            "--scenario",
            format!(
                "agentx, the fork's set of presets, is not known here; name {SCENARIO} and state --benchmark-duration, \
                 the start ratios, --warmup-requests-per-lane and --trace-idle-gap-cap-seconds as InferenceX does"
            ),
        ),
        Some(other) => problems.config("--scenario", format!("{other} is not known; valid names: {SCENARIO}")),
        None => problems.config(
            "--scenario",
            format!("not given; state --scenario {SCENARIO}, or run a scenario document with `turnmill run`"),
        ),
    }
}

/// A dialect that was named against flags of the other one.
fn dialects(args: &ProfileArgs, dialect: ProfileDialect, problems: &mut Problems) {
    if dialect == ProfileDialect::Agentx10 {
        return;
    }
    for flag in fork_flags(args) {
        // Stock knows this one, and its scenario locks it: the lock says so.
        if flag != "--trace-idle-gap-cap-seconds" {
            problems.config(
                flag,
                format!(
                    "belongs to the dialect {}, and --dialect names {}; leave one of the two out",
                    ProfileDialect::Agentx10.name(),
                    dialect.name()
                ),
            );
        }
    }
}

fn ranges(args: &ProfileArgs, problems: &mut Problems) {
    let (load, warmup) = (&args.load, &args.warmup);
    let mut number = |flag, value: Option<f64>, rule: &str, holds: fn(f64) -> bool| {
        if let Some(value) = value.filter(|value| !holds(*value)) {
            problems.config(flag, format!("must be {rule}, found {value}"));
        }
    };
    let duration = load.benchmark_duration.as_ref().map(Series::first);
    number(
        "--benchmark-duration",
        duration,
        "a positive number of seconds",
        |s| s.is_finite() && s > 0.0,
    );
    number(
        "--benchmark-grace-period",
        load.benchmark_grace_period,
        "at least 0 seconds, or inf",
        |s| s >= 0.0,
    );
    number(
        "--system-idle-gap-cap-seconds",
        load.system_idle_gap_cap_seconds,
        "a positive number of seconds",
        |s| s.is_finite() && s > 0.0,
    );
    number(
        "--trace-idle-gap-cap-seconds",
        load.trace_idle_gap_cap_seconds,
        "a positive number of seconds",
        |s| s.is_finite() && s > 0.0,
    );
    number(
        "--failed-request-threshold",
        load.failed_request_threshold,
        "a share between 0 and 1",
        |share| (0.0..=1.0).contains(&share),
    );
    number(
        "--trajectory-start-min-ratio",
        load.trajectory_start_min_ratio,
        "a share between 0 and 1",
        |share| (0.0..=1.0).contains(&share),
    );
    number(
        "--trajectory-start-max-ratio",
        load.trajectory_start_max_ratio,
        "a share between 0 and 1",
        |share| (0.0..=1.0).contains(&share),
    );
    number(
        "--agentic-cache-warmup-duration",
        warmup.agentic_cache_warmup_duration,
        "a positive number of seconds",
        |s| s.is_finite() && s > 0.0,
    );
    number(
        "--agentic-warmup-grace-period",
        warmup.agentic_warmup_grace_period,
        "at least 0 seconds, or inf",
        |s| s >= 0.0,
    );
    number(
        "--warmup-grace-period",
        warmup.warmup_grace_period,
        "at least 0 seconds, or inf",
        |s| s >= 0.0,
    );
    number(
        "--request-timeout-seconds",
        Some(args.endpoint.request_timeout_s),
        "at least 0 seconds",
        |s| s.is_finite() && s >= 0.0,
    );
    number(
        "--slice-duration",
        args.output.slice_duration,
        "a positive number of seconds",
        |s| s.is_finite() && s > 0.0,
    );
    let mut count = |flag, value: Option<u64>| {
        if value == Some(0) {
            problems.config(flag, "must be at least 1, found 0");
        }
    };
    count(
        "--concurrency",
        load.concurrency.as_ref().map(|lanes| u64::from(lanes.first())),
    );
    count("--request-count", load.request_count.as_ref().map(Series::first));
    count(
        "--conversation-num",
        load.conversations.as_ref().map(Series::first),
    );
    positive(
        "--warmup-requests-per-lane",
        warmup.warmup_requests_per_lane,
        problems,
    );
    if load.benchmark_grace_period.is_some() && load.benchmark_duration.is_none() {
        problems.config("--benchmark-grace-period", "needs --benchmark-duration");
    }
    if warmup.agentic_cache_warmup_duration.is_some() && warmup.warmup_requests_per_lane.is_some() {
        problems.config(
            "--warmup-requests-per-lane",
            "excludes --agentic-cache-warmup-duration; state one of the two",
        );
    }
}

fn positive(flag: &'static str, value: Option<i64>, problems: &mut Problems) -> Option<u64> {
    let value = value?;
    let found = u64::try_from(value).ok().filter(|value| *value > 0);
    if found.is_none() {
        problems.config(flag, format!("must be at least 1, found {value}"));
    }
    found
}

fn start_ratios(args: &ProfileArgs, problems: &mut Problems) {
    let min = args.load.trajectory_start_min_ratio;
    let max = args.load.trajectory_start_max_ratio;
    let checked = (
        min.unwrap_or(STOCK_START_RATIOS.0),
        max.unwrap_or(STOCK_START_RATIOS.1),
    );
    if checked.0 > checked.1 {
        let alone = if min.is_some() && max.is_some() {
            ""
        } else {
            "; a bound that stands alone is checked against aiperf's 0.25 and 0.75, so state both"
        };
        problems.config(
            "--trajectory-start-min-ratio",
            format!(
                "must not be above --trajectory-start-max-ratio, found {} and {}{alone}",
                checked.0, checked.1
            ),
        );
    }
}

/// Lists of values, which are a sweep: with a scenario only under override.
fn sweeps(args: &ProfileArgs, problems: &mut Problems) {
    if args.workload.unsafe_override {
        return;
    }
    for flag in sweep_flags(args) {
        problems.config(
            flag,
            "a list of values is a sweep, which a scenario does not allow; start one run for each value",
        );
    }
}

/// Flags with more than one value.
pub(super) fn sweep_flags(args: &ProfileArgs) -> Vec<&'static str> {
    let load = &args.load;
    [
        (
            "--concurrency",
            load.concurrency.as_ref().is_some_and(Series::is_sweep),
        ),
        (
            "--benchmark-duration",
            load.benchmark_duration.as_ref().is_some_and(Series::is_sweep),
        ),
        (
            "--request-count",
            load.request_count.as_ref().is_some_and(Series::is_sweep),
        ),
        (
            "--conversation-num",
            load.conversations.as_ref().is_some_and(Series::is_sweep),
        ),
        (
            "--request-rate",
            load.request_rate.as_ref().is_some_and(Series::is_sweep),
        ),
    ]
    .into_iter()
    .filter_map(|(flag, sweeps)| sweeps.then_some(flag))
    .collect()
}

fn sampling(args: &ProfileArgs, problems: &mut Problems) -> SamplingName {
    match args.workload.dataset_sampling_strategy.as_deref() {
        None | Some("sequential") => SamplingName::Sequential,
        Some("shuffle") => SamplingName::Shuffle,
        Some("random") => SamplingName::Random,
        Some(other) => {
            problems.config(
                "--dataset-sampling-strategy",
                format!("{other} is not known; valid names: sequential, shuffle, random"),
            );
            SamplingName::Sequential
        }
    }
}

/// Which corpus is meant; several at once are none.
fn source(args: &ProfileArgs, problems: &mut Problems) -> Source {
    let workload = &args.workload;
    let public = workload.public_dataset.as_deref();
    if workload.input_file.is_some() && (public.is_some() || workload.hf_weka_dataset.is_some()) {
        problems.config(
            "--input-file",
            "excludes --public-dataset and --hf-weka-dataset; state one corpus",
        );
    }
    if workload.input_file.is_none() && workload.custom_dataset_type.is_some() {
        problems.config("--custom-dataset-type", "needs --input-file");
    }
    match (public, workload.hf_weka_dataset.as_deref()) {
        (Some("weka_hf"), None) => {
            problems.config("--public-dataset", "weka_hf needs --hf-weka-dataset OWNER/NAME");
        }
        (Some(public), Some(_)) if public != "weka_hf" => problems.config(
            "--hf-weka-dataset",
            format!("selects the loader weka_hf, and --public-dataset names {public}; state one of the two"),
        ),
        _ => {}
    }
    if let Some(path) = &workload.input_file {
        return Source::Local {
            format: workload
                .custom_dataset_type
                .clone()
                .unwrap_or_else(|| "weka_trace".to_owned()),
            path: path.clone(),
        };
    }
    match (public, &workload.hf_weka_dataset) {
        (_, Some(repository)) => Source::Repository(repository.clone()),
        (Some(public), None) => Source::Public(public.to_owned()),
        (None, None) => Source::Synthetic,
    }
}
