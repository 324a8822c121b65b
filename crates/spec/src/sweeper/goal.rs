//! The rules of a Sweeper document's `goal` (`sweeper-traffic.md` §1).

use std::collections::HashSet;

use super::{Goal, Sla};
use crate::check as rules;
use crate::problem::{Report, shown};
use crate::view::View;
use crate::vocabulary::{GOAL_TARGETS, not_one_of};

/// `None` when the target is not one.
pub(super) fn check(view: &View<'_>, report: &mut Report) -> Option<Goal> {
    let target = if view.has("target") {
        rules::word(view, report, "target", &GOAL_TARGETS)
    } else {
        Some("throughput")
    };
    let sla_view = view.mapping("sla");
    let [ttft_ms, itl_ms, e2e_ms] =
        ["ttft_ms", "itl_ms", "e2e_ms"].map(|key| rules::positive(&sla_view, report, key));
    let has = |key| sla_view.has(key);
    if target.is_some_and(|target| target.starts_with("goodput"))
        && !has("e2e_ms")
        && !(has("ttft_ms") && has("itl_ms"))
    {
        let message =
            "a goodput target needs bounds; expected e2e_ms or both ttft_ms and itl_ms, found neither";
        sla_view.error_here(report, message);
    }
    let pareto_objectives = objectives(view, target == Some("pareto"), report);
    Some(Goal {
        target: target?.to_owned(),
        sla: Sla {
            ttft_ms,
            itl_ms,
            e2e_ms,
        },
        pareto_objectives,
    })
}

fn objectives(view: &View<'_>, pareto: bool, report: &mut Report) -> Vec<String> {
    const KEY: &str = "pareto_objectives";
    let allowed: Vec<&str> = GOAL_TARGETS
        .into_iter()
        .filter(|target| *target != "pareto")
        .collect();
    let Some(items) = view.list(KEY) else {
        let defaults = ["throughput_per_gpu", "throughput_per_user"]
            .map(str::to_owned)
            .to_vec();
        return if pareto { defaults } else { Vec::new() };
    };
    if !pareto {
        view.error(
            report,
            KEY,
            "expected no pareto_objectives but with goal.target: pareto, found some",
        );
    }
    let mut seen = HashSet::new();
    for (index, item) in items.iter().enumerate() {
        let path = format!("{}[{index}]", view.at(KEY));
        if !allowed.contains(&item.text()) {
            report.error(path, item.place, not_one_of(item.text(), &allowed));
        } else if !seen.insert(item.text()) {
            let message = format!("expected distinct targets, found {} twice", shown(item.text()));
            report.error(view.at(KEY), item.place, message);
        }
    }
    if items.len() < 2 {
        view.error(
            report,
            KEY,
            format!("a front needs at least two objectives, found {}", items.len()),
        );
    }
    items.iter().map(|item| item.text().to_owned()).collect()
}
