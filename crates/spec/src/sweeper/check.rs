//! Every rule of a Sweeper document (`sweeper-traffic.md` §4), all problems in one pass.

use std::collections::BTreeSet;

use super::{KvRatio, Load, Sweeper, Synthetic, TraceLoad, goal};
use crate::check;
use crate::problem::Report;
use crate::view::{View, number};
use crate::vocabulary::{TRACE_FORMATS, listed, not_one_of};
use crate::yaml::Node;

/// The fields that choose a synthetic load shape.
const LOADS: [&str; 3] = ["request_rate", "concurrency", "kv_load_ratio"];
/// The fields that a trace must not have beside it.
const SYNTHETIC: [&str; 6] = [
    "isl",
    "osl",
    "request_rate",
    "concurrency",
    "kv_load_ratio",
    "num_request_ratio",
];
/// Knobs of synthetic traffic that a trace tolerates without effect.
const KNOBS: [&str; 4] = [
    "shared_prefix_ratio",
    "num_prefix_groups",
    "turns_per_session",
    "inter_turn_delay_ms",
];

/// Top-level keys that configure a search: kept, not read.
const KEPT: [&str; 3] = ["search_space", "adapters", "sweep"];

/// Checks a document that passed the structure stage.
pub(crate) fn check(root: &View<'_>, report: &mut Report) -> Option<Sweeper> {
    let goal = goal::check(&root.mapping("goal"), report);
    let pareto = goal.as_ref().is_some_and(|goal| goal.target == "pareto");
    let view = root.mapping("workload");
    let knobs = knobs(&view, report);
    let (load, synthetic, ratio_place) = if view.has("trace_path") {
        (trace(&view, report).map(Load::Trace), None, view.place)
    } else {
        let lengths = lengths(&view, report);
        let synthetic = lengths
            .zip(knobs)
            .map(|((isl, osl, num_request_ratio), knobs)| Synthetic {
                isl,
                osl,
                num_request_ratio,
                ..knobs
            });
        let stated = LOADS.iter().filter(|key| view.has(key)).count();
        let load = load(&view, stated, pareto, report);
        (load, Some(synthetic?), view.place("kv_load_ratio"))
    };
    Some(Sweeper {
        load: load?,
        synthetic,
        goal: goal?,
        stated: stated(root),
        kept: KEPT
            .iter()
            .filter_map(|key| Some(((*key).to_owned(), root.get(key)?.clone())))
            .collect(),
        ratio_place,
    })
}

fn trace(view: &View<'_>, report: &mut Report) -> Option<TraceLoad> {
    for key in SYNTHETIC {
        if view.has(key) {
            view.error(
                report,
                key,
                format!("{key} is for synthetic traffic; expected none of it beside trace_path"),
            )
            .hint(format!("leave {key} out, or leave trace_path out"));
        }
    }
    for key in KNOBS {
        if view.has(key) {
            view.warning(
                report,
                key,
                format!("{key} has no effect, found beside trace_path; expected it with synthetic traffic"),
            );
        }
    }
    let path = check::text(view, report, "trace_path", "the path of a trace file");
    let format = if view.has("trace_format") {
        trace_format(view, report)
    } else {
        Some(TRACE_FORMATS[0])
    };
    let speedup = speedup(view, report);
    let cap = check::at_least(view, report, "replay_concurrency", 1);
    if cap.is_some() && speedup.is_some_and(|ratio| ratio.to_bits() != 1f64.to_bits()) {
        view.warning(
            report,
            "arrival_speedup_ratio",
            "found a speed-up in a capped trace, which ignores recorded starts; expected it in an open loop",
        );
    }
    Some(TraceLoad {
        path: path?.to_owned(),
        format: format?.to_owned(),
        arrival_speedup_ratio: speedup?,
        replay_concurrency: cap,
    })
}

fn trace_format<'a>(view: &View<'a>, report: &mut Report) -> Option<&'a str> {
    if view.text("trace_format") == Some("weka") {
        view.error(report, "trace_format", not_one_of("weka", &TRACE_FORMATS))
            .hint("a Weka corpus is driven by a scenario's replay arm");
        return None;
    }
    check::word(view, report, "trace_format", &TRACE_FORMATS)
}

fn speedup(view: &View<'_>, report: &mut Report) -> Option<f64> {
    if view.has("arrival_speedup_ratio") {
        check::positive(view, report, "arrival_speedup_ratio")
    } else {
        Some(1.0)
    }
}

/// The synthetic load shape, by which of three fields is set.
fn load(view: &View<'_>, stated: usize, pareto: bool, report: &mut Report) -> Option<Load> {
    trace_keys_without_trace(view, report);
    if stated > 1 || (stated == 0 && !pareto) {
        let found: Vec<&str> = LOADS.into_iter().filter(|key| view.has(key)).collect();
        let found = if found.is_empty() {
            "none".to_owned()
        } else {
            found.join(", ")
        };
        let problem = view.error_here(
            report,
            format!(
                "expected exactly one of {} or a trace_path, found {found}",
                listed(&LOADS)
            ),
        );
        if stated == 0 {
            problem.hint("only goal.target: pareto has a default, kv_load_ratio: [0.0, 1.0]");
        }
    }
    let rate = check::positive(view, report, "request_rate").map(Load::RequestRate);
    let concurrency = check::at_least(view, report, "concurrency", 1).map(Load::Concurrency);
    let ratio = match view.get("kv_load_ratio") {
        Some(node) => kv_ratio(view, node, pareto, report),
        None => (stated == 0).then_some(KvRatio::Range(0.0, 1.0)),
    };
    if stated > 1 {
        return None;
    }
    rate.or(concurrency).or(ratio.map(Load::Kv))
}

fn trace_keys_without_trace(view: &View<'_>, report: &mut Report) {
    if view.has("replay_concurrency") {
        view.error(
            report,
            "replay_concurrency",
            "replay_concurrency is for a trace; expected concurrency instead",
        )
        .hint("use concurrency for synthetic traffic");
    }
    if view.has("trace_format") && trace_format(view, report).is_some() {
        view.warning(
            report,
            "trace_format",
            "trace_format has no effect, found without a trace; expected it beside trace_path",
        );
    }
    if speedup(view, report).is_some_and(|ratio| ratio.to_bits() != 1f64.to_bits()) {
        view.warning(
            report,
            "arrival_speedup_ratio",
            "arrival_speedup_ratio has no effect, found without a trace; expected it beside trace_path",
        );
    }
}

fn kv_ratio(view: &View<'_>, node: &Node, pareto: bool, report: &mut Report) -> Option<KvRatio> {
    const KEY: &str = "kv_load_ratio";
    let valid = |value: f64| value.is_finite() && value >= 0.0;
    let Some(items) = view.list(KEY) else {
        return check::not_negative(view, report, KEY).map(KvRatio::Fixed);
    };
    if !pareto {
        view.error(
            report,
            KEY,
            "expected one number, found a range, which goes with goal.target: pareto only",
        )
        .hint("write one ratio, or set goal.target to pareto");
    }
    let values: Vec<f64> = items.iter().filter_map(number).collect();
    let [min, max] = values[..] else {
        view.error(
            report,
            KEY,
            format!("a range has exactly two values, found {}", items.len()),
        );
        return None;
    };
    if let Some(at) = values.iter().position(|value| !valid(*value)) {
        let found = items[at].text();
        report.error(
            view.at(KEY),
            node.place,
            format!("both values must be finite and not negative, found {found}"),
        );
        return None;
    }
    if min >= max {
        let (min, max) = (items[0].text(), items[1].text());
        view.error(
            report,
            KEY,
            format!("the first value must be below the second, found [{min}, {max}]"),
        );
        return None;
    }
    pareto.then_some(KvRatio::Range(min, max))
}

fn lengths(view: &View<'_>, report: &mut Report) -> Option<(u64, u64, f64)> {
    let isl = check::required_at_least(view, report, "isl", 1);
    let osl = check::required_at_least(view, report, "osl", 1);
    let ratio = if view.has("num_request_ratio") {
        check::positive(view, report, "num_request_ratio")
    } else {
        view.error(
            report,
            "num_request_ratio",
            "num_request_ratio is missing; expected a number above 0",
        );
        None
    };
    Some((isl?, osl?, ratio?))
}

/// The shared knobs, whose bounds hold beside a trace too; lengths are filled in by the caller.
fn knobs(view: &View<'_>, report: &mut Report) -> Option<Synthetic> {
    let ratio = optional(
        view,
        "shared_prefix_ratio",
        0.0,
        check::fraction(view, report, "shared_prefix_ratio"),
    );
    let groups = optional(
        view,
        "num_prefix_groups",
        0,
        check::at_least(view, report, "num_prefix_groups", 0),
    );
    let turns = optional(
        view,
        "turns_per_session",
        1,
        check::at_least(view, report, "turns_per_session", 1),
    );
    let delay = optional(
        view,
        "inter_turn_delay_ms",
        0.0,
        check::not_negative(view, report, "inter_turn_delay_ms"),
    );
    let knobs = Synthetic {
        isl: 0,
        osl: 0,
        num_request_ratio: 0.0,
        shared_prefix_ratio: ratio?,
        num_prefix_groups: groups?,
        turns_per_session: turns?,
        inter_turn_delay_ms: delay?,
    };
    if !view.has("trace_path") {
        idle_knobs(view, knobs, report);
    }
    Some(knobs)
}

fn optional<T>(view: &View<'_>, key: &str, default: T, checked: Option<T>) -> Option<T> {
    if view.has(key) { checked } else { Some(default) }
}

/// Warns of a knob that cannot have an effect.
fn idle_knobs(view: &View<'_>, knobs: Synthetic, report: &mut Report) {
    if knobs.shared_prefix_ratio > 0.0 && knobs.num_prefix_groups == 0 {
        view.warning(
            report,
            "shared_prefix_ratio",
            "found a ratio without groups, so nothing is shared; expected num_prefix_groups of at least 1",
        );
    }
    if knobs.num_prefix_groups > 0 && knobs.shared_prefix_ratio <= 0.0 {
        view.warning(
            report,
            "num_prefix_groups",
            "found groups without a ratio, so nothing is shared; expected shared_prefix_ratio above 0",
        );
    }
    if knobs.inter_turn_delay_ms > 0.0 && knobs.turns_per_session == 1 {
        view.warning(
            report,
            "inter_turn_delay_ms",
            "found a delay in sessions of one turn, which have none; expected turns_per_session above 1",
        );
    }
}

/// Paths of the keys that the document states, two levels down and within `goal.sla`.
fn stated(root: &View<'_>) -> BTreeSet<String> {
    let (workload, goal) = (root.mapping("workload"), root.mapping("goal"));
    [goal.mapping("sla"), workload, goal]
        .iter()
        .flat_map(|view| view.stated().map(|(key, _)| view.at(key)).collect::<Vec<_>>())
        .collect()
}
