//! What the scenario locks: a stated value other than the lock's is an error that `--override-locks` forgives.
//!
//! A value that would mean nothing even with the locks off (a negative time, an unknown marker position) is never forgiven.

use crate::problem::{Problem, Report, shown};
use crate::view::View;
use crate::vocabulary::CACHE_BUST_TARGETS;

/// The locked keys' effective values: the lock's own unless the document breaks it.
pub(super) struct Locks {
    pub(super) cache_bust: String,
    pub(super) system_idle_gap_cap_s: f64,
    pub(super) streaming: bool,
    pub(super) ignore_eos: bool,
    pub(super) ignore_trace_delays: bool,
    pub(super) synthesis_max_isl: Option<u64>,
    pub(super) inter_turn_delay_cap_s: Option<f64>,
}

const CACHE_BUST: &str = "first_turn_prefix";
const SYSTEM_IDLE_GAP_CAP_S: f64 = 10.0;

/// `None` when a value could not be run even with the locks off.
pub(super) fn check(view: &View<'_>, report: &mut Report) -> Option<Locks> {
    let cache_bust = cache_bust(view, report);
    let system_idle_gap_cap_s = system_idle_gap_cap_s(view, report);
    let streaming = switch(view, report, "streaming", true);
    let ignore_eos = switch(view, report, "ignore_eos", true);
    let ignore_trace_delays = switch(view, report, "ignore_trace_delays", false);
    let synthesis_max_isl = synthesis_max_isl(view, report);
    let inter_turn_delay_cap_s = inter_turn_delay_cap_s(view, report);
    Some(Locks {
        cache_bust: cache_bust?,
        system_idle_gap_cap_s: system_idle_gap_cap_s?,
        streaming,
        ignore_eos,
        ignore_trace_delays,
        synthesis_max_isl,
        inter_turn_delay_cap_s,
    })
}

fn broken<'r>(view: &View<'_>, report: &'r mut Report, key: &str, must: &str) -> &'r mut Problem {
    let found = match view.written(key) {
        "" => "empty text".to_owned(),
        text => shown(text).trim_matches('"').to_owned(),
    };
    view.error(report, key, format!("{key} must be {must}, found {found}")).hint(format!(
        "the scenario locks it: leave {key} out; --override-locks allows a trial, not valid for submission"
    ))
}

fn cache_bust(view: &View<'_>, report: &mut Report) -> Option<String> {
    let found = view.text("cache_bust").unwrap_or(CACHE_BUST);
    if found != CACHE_BUST {
        let problem = broken(view, report, "cache_bust", CACHE_BUST);
        if !CACHE_BUST_TARGETS.contains(&found) {
            problem.hint = Some(format!("leave it out, or write {CACHE_BUST}"));
            return None;
        }
        problem.waivable();
    }
    Some(found.to_owned())
}

fn system_idle_gap_cap_s(view: &View<'_>, report: &mut Report) -> Option<f64> {
    const KEY: &str = "system_idle_gap_cap_s";
    let found = view.number(KEY).unwrap_or(SYSTEM_IDLE_GAP_CAP_S);
    if found.to_bits() == SYSTEM_IDLE_GAP_CAP_S.to_bits() {
        return Some(found);
    }
    let problem = broken(view, report, KEY, "10");
    let runs = found.is_finite() && found > 0.0;
    problem.waivable = runs;
    runs.then_some(found)
}

fn switch(view: &View<'_>, report: &mut Report, key: &str, lock: bool) -> bool {
    let found = view.boolean(key).unwrap_or(lock);
    if found != lock {
        broken(view, report, key, if lock { "true" } else { "false" }).waivable();
    }
    found
}

/// `None` is also what a wrong value gives; its problem keeps the replay from being used.
fn synthesis_max_isl(view: &View<'_>, report: &mut Report) -> Option<u64> {
    let found = view.integer("synthesis_max_isl")?;
    let tokens = u64::try_from(found).ok().filter(|tokens| *tokens > 0);
    broken(view, report, "synthesis_max_isl", "unset").waivable = tokens.is_some();
    tokens
}

/// As [`synthesis_max_isl`].
fn inter_turn_delay_cap_s(view: &View<'_>, report: &mut Report) -> Option<f64> {
    const KEY: &str = "inter_turn_delay_cap_s";
    let found = view.number(KEY)?;
    let runs = found.is_finite() && found >= 0.0;
    broken(view, report, KEY, "unset").waivable = runs;
    runs.then_some(found)
}
