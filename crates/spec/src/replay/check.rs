//! Every rule of a replay (`bindings.md` §7), and the checked value with its defaults (§9).

use super::{
    Definition, MaxContextLength, Reference, Replay, TrajectoryStart, Warmup, corpus, locks, origins,
};
use crate::check;
use crate::problem::Report;
use crate::terms;
use crate::view::View;
use crate::vocabulary::{HARNESS_VERSIONS, SCENARIO_NAMES, SCENARIOS, WARMUP_MODES, listed, not_one_of};
use crate::yaml::Node;

/// What a reference may state beside the entry's name.
pub(crate) const CHOICES: [&str; 6] = [
    "concurrency",
    "random_seed",
    "benchmark_duration_s",
    "grace_period_s",
    "max_context_length",
    "acceptance",
];

/// The entry's keys that a reference replaces, whole, when it states them.
pub(crate) const OVERRIDES: [&str; 5] = [
    "random_seed",
    "benchmark_duration_s",
    "grace_period_s",
    "max_context_length",
    "acceptance",
];

/// Lanes when there is no lane count to check: a catalog entry has none.
const NO_LANES: u32 = 0;

/// Checks the reference form: its key set and its lane count, not the choices' values.
pub(crate) fn reference(view: &View<'_>, node: &Node, report: &mut Report) -> Option<Reference> {
    for (key, _) in view.stated() {
        if key != "workload" && !CHOICES.contains(&key) {
            view.error(
                report,
                key,
                format!(
                    "{key} belongs to the catalog entry, found beside workload; expected there only {}",
                    listed(&CHOICES)
                ),
            )
            .hint(format!(
                "leave {key} out, or leave workload out and state the whole definition"
            ));
        }
    }
    let concurrency = concurrency(view, report)?;
    Some(Reference {
        workload: view.text("workload")?.to_owned(),
        concurrency,
        node: node.clone(),
    })
}

/// Checks a whole definition with its lane count.
pub(crate) fn inline(view: &View<'_>, report: &mut Report) -> Option<Replay> {
    let concurrency = concurrency(view, report);
    definition(view, concurrency, report)
}

/// Checks a catalog entry's definition, which states no lane count and no reference.
pub(crate) fn definition_entry(view: &View<'_>, report: &mut Report) -> Option<Definition> {
    if view.has("concurrency") {
        view.error(
            report,
            "concurrency",
            "a catalog entry has no lane count, which is the run's choice; expected none, found one",
        )
        .hint("state it where the entry is bound");
    }
    if view.has("workload") {
        view.error(
            report,
            "workload",
            "a catalog entry is not itself a reference; expected a definition, found a name",
        );
    }
    let replay = definition(view, Some(NO_LANES), report)?;
    Some(Definition { replay })
}

fn concurrency(view: &View<'_>, report: &mut Report) -> Option<u32> {
    let lanes = check::required_at_least(view, report, "concurrency", 1)?;
    let fits = u32::try_from(lanes).ok();
    if fits.is_none() {
        view.error(
            report,
            "concurrency",
            format!("concurrency must be at most {}, found {lanes}", u32::MAX),
        );
    }
    fits
}

/// Runs every rule first and builds the value only then, so that all problems of the definition are told.
fn definition(view: &View<'_>, concurrency: Option<u32>, report: &mut Report) -> Option<Replay> {
    let scenario = check::word(view, report, "scenario", &SCENARIO_NAMES);
    let harness_version = harness_version(view, scenario, report);
    let corpus = corpus::check(&view.mapping("corpus"), report);
    let random_seed = valid(
        view,
        "random_seed",
        42,
        check::at_least(view, report, "random_seed", 0),
    );
    let duration = duration(view, report);
    let grace = grace(view, report);
    let max_context_length = max_context_length(view, report);
    let locks = locks::check(view, report);
    let trajectory_start = trajectory_start(&view.mapping("trajectory_start"), report);
    let warmup = warmup(view, report);
    let idle_cap = check::positive(view, report, "trace_idle_gap_cap_s");
    let terms = terms::check(view, report);
    let locks = locks?;
    Some(Replay {
        scenario: scenario?.to_owned(),
        harness_version: harness_version?.to_owned(),
        corpus: corpus?,
        concurrency: concurrency?,
        random_seed: random_seed?,
        benchmark_duration_s: duration?,
        grace_period_s: grace?,
        max_context_length,
        cache_bust: locks.cache_bust,
        system_idle_gap_cap_s: locks.system_idle_gap_cap_s,
        trajectory_start: trajectory_start?,
        warmup: warmup?,
        split_flattened_agents: view.boolean("split_flattened_agents").unwrap_or(true),
        streaming: locks.streaming,
        ignore_eos: locks.ignore_eos,
        ignore_trace_delays: locks.ignore_trace_delays,
        synthesis_max_isl: locks.synthesis_max_isl,
        trace_idle_gap_cap_s: idle_cap,
        inter_turn_delay_cap_s: locks.inter_turn_delay_cap_s,
        terms,
        origins: origins::origins(view),
        entry: None,
    })
}

/// A key's checked value, its default when it is absent, nothing when it is wrong.
fn valid<T>(view: &View<'_>, key: &str, default: T, checked: Option<T>) -> Option<T> {
    if view.has(key) { checked } else { Some(default) }
}

fn harness_version<'a>(view: &View<'a>, scenario: Option<&str>, report: &mut Report) -> Option<&'a str> {
    let version = check::word(view, report, "harness_version", &HARNESS_VERSIONS)?;
    let transcribed: Vec<&str> = SCENARIOS
        .iter()
        .filter(|(name, _)| scenario.is_none_or(|scenario| scenario == *name))
        .map(|row| row.1)
        .collect();
    if transcribed.contains(&version) {
        return Some(version);
    }
    view.error(report, "harness_version", not_one_of(version, &transcribed));
    None
}

/// Shortest sending window that the scenario accepts, in seconds.
const DURATION_FLOOR_S: f64 = 900.0;

fn duration(view: &View<'_>, report: &mut Report) -> Option<f64> {
    const KEY: &str = "benchmark_duration_s";
    let rule = "finite and at least 900 seconds";
    let value = valid(
        view,
        KEY,
        1800.0,
        check::ruled(view, report, KEY, rule, |value| value >= 0.0),
    )?;
    if value < DURATION_FLOOR_S {
        let found = view.written(KEY);
        view.error(report, KEY, format!("{KEY} must be {rule}, found {found}"))
            .hint("the scenario locks the floor; --override-locks allows a shorter trial, not valid for submission")
            .waivable();
    }
    Some(value)
}

fn grace(view: &View<'_>, report: &mut Report) -> Option<f64> {
    let Some(value) = view.number("grace_period_s") else {
        return Some(30.0);
    };
    if value.is_nan() || value < 0.0 {
        let found = view.written("grace_period_s");
        view.error(
            report,
            "grace_period_s",
            format!("grace_period_s must not be negative, found {found}"),
        )
        .hint("write .inf to wait for every request in flight");
        return None;
    }
    Some(value)
}

/// `None` is also what a wrong value gives; its problem keeps the replay from being used.
fn max_context_length(view: &View<'_>, report: &mut Report) -> Option<MaxContextLength> {
    if view.text("max_context_length") == Some("max_model_len") {
        return Some(MaxContextLength::ModelLimit);
    }
    check::at_least(view, report, "max_context_length", 1).map(MaxContextLength::Tokens)
}

fn trajectory_start(view: &View<'_>, report: &mut Report) -> Option<TrajectoryStart> {
    let min_ratio = valid(view, "min_ratio", 0.0, check::fraction(view, report, "min_ratio"));
    let max_ratio = valid(view, "max_ratio", 1.0, check::fraction(view, report, "max_ratio"));
    let (min_ratio, max_ratio) = (min_ratio?, max_ratio?);
    if min_ratio > max_ratio {
        view.error(
            report,
            "min_ratio",
            format!("min_ratio exceeds max_ratio: {min_ratio} is above {max_ratio}; expected at most it"),
        );
        return None;
    }
    Some(TrajectoryStart { min_ratio, max_ratio })
}

fn warmup(replay: &View<'_>, report: &mut Report) -> Option<Warmup> {
    if !replay.has("warmup") {
        return Some(Warmup::Synthesized);
    }
    let view = replay.mapping("warmup");
    let mode = check::word(&view, report, "mode", &WARMUP_MODES)?;
    if mode != "cache_pressure" {
        for knob in ["duration_s", "requests_per_lane"] {
            if view.has(knob) {
                view.error(
                    report,
                    knob,
                    format!("{knob} goes with mode cache_pressure only, found mode {mode}"),
                )
                .hint(format!("leave {knob} out, or write mode: cache_pressure"));
            }
        }
        return Some(Warmup::Synthesized);
    }
    match (view.has("duration_s"), view.has("requests_per_lane")) {
        (true, false) => {
            let duration_s = check::positive(&view, report, "duration_s")?;
            Some(Warmup::CachePressureFor { duration_s })
        }
        (false, true) => {
            let requests_per_lane = check::at_least(&view, report, "requests_per_lane", 1)?;
            Some(Warmup::CachePressureRequests { requests_per_lane })
        }
        (both, _) => {
            let found = if both { "both" } else { "neither" };
            view.error_here(
                report,
                format!(
                    "cache_pressure takes exactly one of duration_s and requests_per_lane, found {found}"
                ),
            );
            None
        }
    }
}
