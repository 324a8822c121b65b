//! Where each value of a replay is from.

use std::collections::BTreeMap;

use super::Origin;
use crate::view::View;

/// Keys with a default, and what omission is: a default or a lock.
const DEFAULTED: [(&str, Origin); 18] = [
    ("random_seed", Origin::Default),
    ("benchmark_duration_s", Origin::Default),
    ("grace_period_s", Origin::Default),
    ("max_context_length", Origin::Default),
    ("cache_bust", Origin::Lock),
    ("system_idle_gap_cap_s", Origin::Lock),
    ("trajectory_start.min_ratio", Origin::Default),
    ("trajectory_start.max_ratio", Origin::Default),
    ("warmup.mode", Origin::Default),
    ("split_flattened_agents", Origin::Default),
    ("streaming", Origin::Lock),
    ("ignore_eos", Origin::Lock),
    ("ignore_trace_delays", Origin::Lock),
    ("synthesis_max_isl", Origin::Lock),
    ("trace_idle_gap_cap_s", Origin::Default),
    ("inter_turn_delay_cap_s", Origin::Lock),
    ("corpus.source.file", Origin::Default),
    ("corpus.source.split", Origin::Default),
];

/// Keys that have no value unless somebody states one.
const STATED_ONLY: [&str; 15] = [
    "scenario",
    "harness_version",
    "concurrency",
    "corpus.loader",
    "corpus.format",
    "corpus.encoding",
    "corpus.source.huggingface",
    "corpus.source.revision",
    "corpus.sha256",
    "warmup.duration_s",
    "warmup.requests_per_lane",
    "category",
    "thinking",
    "acceptance",
    "routing",
];

/// The origin of every value that a definition has, by path.
pub(super) fn origins(view: &View<'_>) -> BTreeMap<&'static str, Origin> {
    let omitted = STATED_ONLY.iter().map(|path| (*path, None));
    let defaulted = DEFAULTED.iter().map(|(path, origin)| (*path, Some(*origin)));
    omitted
        .chain(defaulted)
        .filter_map(|(path, otherwise)| Some((path, stated(view, path).or(otherwise)?)))
        .collect()
}

fn stated(view: &View<'_>, path: &str) -> Option<Origin> {
    let node = match path.split_once('.') {
        None => view.get(path)?,
        Some((outer, rest)) => return stated(&view.mapping(outer), rest),
    };
    Some(if node.place.in_entry {
        Origin::Catalog
    } else {
        Origin::Stated
    })
}
