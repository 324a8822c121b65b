//! What engines call the figures that are wanted (`metrics-and-exports` §5.3), counters without `_total`.

use super::{Family, Kind};

/// A pair of counters that makes the share of prompt tokens found in the prefix cache: hits, and what was looked up. The first
/// pair that a run's pages have is used.
pub(super) const CACHE: [(&str, &str); 3] = [
    ("vllm:prefix_cache_hits", "vllm:prefix_cache_queries"),
    ("vllm:gpu_prefix_cache_hits", "vllm:gpu_prefix_cache_queries"),
    ("sglang:cached_tokens", "sglang:prompt_tokens"),
];
/// Gauges of single batches, which say nothing about a window.
pub(super) const BATCH_HIT_RATES: [&str; 3] = [
    "vllm:gpu_prefix_cache_hit_rate",
    "vllm:cpu_prefix_cache_hit_rate",
    "sglang:cache_hit_rate",
];
pub(super) const PROMPT_TOKENS: [&str; 2] = ["vllm:prompt_tokens", "sglang:prompt_tokens"];
pub(super) const GENERATION_TOKENS: [&str; 2] = ["vllm:generation_tokens", "sglang:generation_tokens"];
pub(super) const PREEMPTIONS: [&str; 2] = ["vllm:num_preemptions", "sglang:num_retracted_reqs"];
pub(super) const DRAFTS: &str = "vllm:spec_decode_num_drafts";
pub(super) const ACCEPTED: &str = "vllm:spec_decode_num_accepted_tokens";

pub(super) const RUNNING: [&str; 2] = ["vllm:num_requests_running", "sglang:num_running_reqs"];
pub(super) const WAITING: [&str; 2] = ["vllm:num_requests_waiting", "sglang:num_queue_reqs"];
pub(super) const KV_USAGE: [&str; 3] = [
    "vllm:kv_cache_usage_perc",
    "vllm:gpu_cache_usage_perc",
    "sglang:token_usage",
];

const TOTAL: &str = "_total";

/// The name that a family has in lists and exports: a counter's without `_total`.
pub(super) fn listed(family: &Family) -> &str {
    match family.kind {
        Kind::Counter => family.name.strip_suffix(TOTAL).unwrap_or(&family.name),
        _ => &family.name,
    }
}

/// The counter's name, for a family that counts: by its type, or by its ending where the page states no types.
pub(super) fn counter(family: &Family) -> Option<&str> {
    match family.kind {
        Kind::Counter => Some(listed(family)),
        Kind::Unknown => family.name.strip_suffix(TOTAL),
        _ => None,
    }
}
