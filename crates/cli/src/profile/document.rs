//! The settled values as a scenario document, so that `profile` goes through the same checks as `run` and its run folder
//! holds a scenario that can be run again.

use super::Resolved;
use std::fmt::Write;

/// The corpus once it is at hand.
pub(crate) struct CorpusFile<'a> {
    /// Loader of our pins; for traces of the user's own, the one whose form they have.
    pub(crate) loader: &'a str,
    /// The repository that the loader reads.
    pub(crate) repository: &'a str,
    /// Its revision.
    pub(crate) revision: &'a str,
    /// Its file.
    pub(crate) file: &'a str,
    /// SHA-256 of the bytes at hand.
    pub(crate) sha256: &'a str,
    /// Whether the bytes are the user's own.
    pub(crate) local: bool,
}

/// The document, as YAML.
pub(crate) fn yaml(
    resolved: &Resolved,
    seed: u64,
    split_flattened_agents: bool,
    corpus: &CorpusFile<'_>,
) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut text = String::from("# Made by `turnmill profile` from its flags.\n");
    if corpus.local {
        text += "# The corpus was the user's own: only its sha256 says which; loader and source are where its form is from.\n";
    }
    // `harness_version` has one value; the dialect stands in run.json.
    let _ = write!(
        text,
        "workload:\n  replay:\n    scenario: {}\n    harness_version: 0.12.0\n    corpus:\n      loader: {}\n      \
         format: weka-trace-v7\n      encoding: jsonl\n      source:\n        huggingface: {}\n        revision: {}\n        \
         file: {}\n        split: train\n      sha256: {}\n",
        super::SCENARIO,
        quoted(corpus.loader),
        quoted(corpus.repository),
        quoted(corpus.revision),
        quoted(corpus.file),
        quoted(corpus.sha256),
    );
    let mut key = |name: &str, value: String| {
        let _ = writeln!(text, "    {name}: {value}");
    };
    key("concurrency", resolved.concurrency.to_string());
    key("random_seed", seed.to_string());
    key("benchmark_duration_s", number(resolved.duration_s));
    key("grace_period_s", number(resolved.grace_s));
    if let Some(tokens) = resolved.max_context_length {
        key("max_context_length", tokens.to_string());
    }
    key("cache_bust", quoted(&resolved.cache_bust));
    key("system_idle_gap_cap_s", number(resolved.system_idle_gap_cap_s));
    if let Some(cap_s) = resolved.trace_idle_gap_cap_s {
        key("trace_idle_gap_cap_s", number(cap_s));
    }
    let (min, max) = resolved.start_ratios;
    key(
        "trajectory_start",
        format!("{{min_ratio: {}, max_ratio: {}}}", number(min), number(max)),
    );
    match (
        resolved.warmup.cache_pressure_s,
        resolved.warmup.requests_per_lane,
    ) {
        (Some(stage_s), _) => key(
            "warmup",
            format!("{{mode: cache_pressure, duration_s: {}}}", number(stage_s)),
        ),
        (None, Some(count)) => key(
            "warmup",
            format!("{{mode: cache_pressure, requests_per_lane: {count}}}"),
        ),
        (None, None) => {}
    }
    if !resolved.ignore_eos {
        key("ignore_eos", "false".into());
    }
    key("split_flattened_agents", split_flattened_agents.to_string());
    text
}

/// YAML writes infinity its own way.
fn number(value: f64) -> String {
    if value.is_infinite() {
        ".inf".into()
    } else {
        value.to_string()
    }
}
