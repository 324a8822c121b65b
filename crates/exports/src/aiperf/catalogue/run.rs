//! Metrics of a run: lists, sums, rates, and what was true at once.

use super::{MS, Metric, PER_SECOND, PER_USER, PERCENT, REQUESTS, TOKENS, metric};

/// All gaps between content chunks, pooled over requests; in a row a list.
pub const INTER_CHUNK_LATENCY: Metric = metric(
    "inter_chunk_latency",
    "Inter Chunk Latency",
    MS,
    "gaps between contents, 0 within one socket read; absent below two chunks",
);

/// Prompt tokens of failed requests.
pub const ERROR_ISL: Metric = metric(
    "error_isl",
    "Error Input Sequence Length",
    TOKENS,
    "prompt tokens of a failed request, where the server counted them",
);

/// One value a run. Each is absent where its formula has nothing to stand on.
pub const RUN: &[Metric] = &[
    metric(
        "request_throughput",
        "Request Throughput",
        "requests/sec",
        "valid requests / W",
    ),
    metric("request_count", "Request Count", REQUESTS, "valid requests"),
    metric(
        "output_token_throughput",
        "Output Token Throughput",
        PER_SECOND,
        "ΣOSL / W",
    ),
    metric(
        "input_token_throughput",
        "Input Token Throughput",
        PER_SECOND,
        "ΣISL / W",
    ),
    metric(
        "total_token_throughput",
        "Total Token Throughput",
        PER_SECOND,
        "(ΣISL + ΣOSL) / W",
    ),
    metric(
        "goodput",
        "Goodput",
        "requests/sec",
        "good requests / W; with bounds",
    ),
    metric(
        "good_request_fraction",
        "GoodRequestFraction",
        "ratio",
        "good / (valid + failed); with bounds",
    ),
    metric(
        "error_request_count",
        "Error Request Count",
        REQUESTS,
        "failed requests; absent when there are none",
    ),
    metric(
        "completed_request_count",
        "Completed Requests (Success + Error)",
        REQUESTS,
        "valid + failed; absent unless there are both",
    ),
    metric(
        "request_error_rate",
        "Request Error Rate",
        PERCENT,
        "100 · failed / (valid + failed); absent unless there are both",
    ),
    metric(
        "total_error_isl",
        "Total Error Input Sequence Length",
        TOKENS,
        "sum of error_isl",
    ),
    metric(
        "context_overflow_count",
        "Context Overflow Count",
        REQUESTS,
        "prompts that did not fit; absent when there are none",
    ),
    metric(
        "benchmark_duration",
        "Benchmark Duration",
        "sec",
        "latest (t0 + request_latency) − earliest t0, valid requests",
    ),
    metric("total_isl", "Total Input Sequence Length", TOKENS, "sum"),
    metric("total_osl", "Total Output Sequence Length", TOKENS, "sum"),
    metric(
        "total_output_tokens",
        "Total Output Tokens",
        TOKENS,
        "sum of output_token_count",
    ),
    metric(
        "total_reasoning_tokens",
        "Total Reasoning Tokens",
        TOKENS,
        "sum of reasoning_token_count",
    ),
    metric(
        "osl_mismatch_count",
        "OSL Mismatch Count",
        REQUESTS,
        "requests with abs(OSL − asked) > min(5 % of asked, 50)",
    ),
    metric(
        "total_usage_prompt_tokens",
        "Total Usage Prompt Tokens",
        TOKENS,
        "sum",
    ),
    metric(
        "total_usage_completion_tokens",
        "Total Usage Completion Tokens",
        TOKENS,
        "sum",
    ),
    metric(
        "total_usage_total_tokens",
        "Total Usage Total Tokens",
        TOKENS,
        "sum",
    ),
    metric(
        "total_usage_prompt_cache_read_tokens",
        "Total Usage Prompt Cache Read Tokens",
        TOKENS,
        "sum",
    ),
    metric(
        "total_usage_reasoning_tokens",
        "Total Usage Reasoning Tokens",
        TOKENS,
        "sum",
    ),
    metric(
        "overall_usage_prompt_cache_read_pct",
        "Overall Usage Prompt Cache Read %",
        PERCENT,
        "100 · Σcache read / Σprompt",
    ),
    metric(
        "theoretical_prefix_cache_hit",
        "Theoretical Prefix Cache Hit",
        PERCENT,
        "100 · hit / total blocks; `sum` is the hit blocks, `count` all blocks",
    ),
    SKIPPED_OVERFLOWS,
];

/// Overflows that left no row; in JSON only.
pub const SKIPPED_OVERFLOWS: Metric = metric(
    "skipped_context_overflow_count",
    "Skipped Context Overflow Count",
    REQUESTS,
    "overflows without a row, in runs with a scenario",
);

/// Over all requests that have a row, failed ones too.
pub const DISPATCH: &[Metric] = &[
    metric(
        "credit_to_start_latency",
        "Credit-to-Start Latency",
        MS,
        "t0 − the time it was due",
    ),
    metric(
        "effective_latency",
        "Effective Latency (CO-aware)",
        MS,
        "last event − the time it was due",
    ),
];

/// Weighted by time over the window W.
pub const SWEEP: &[Metric] = &[
    metric(
        "effective_concurrency",
        "Effective Concurrency",
        REQUESTS,
        "requests between t0 and their last event",
    ),
    metric(
        "effective_decode_throughput",
        "Effective Decode Throughput",
        PER_SECOND,
        "(OSL − 1) tokens spread over the positive gaps of a request",
    ),
    metric(
        "effective_prefill_throughput",
        "Effective Prefill Throughput",
        PER_SECOND,
        "ISL spread from t0 to the first content",
    ),
    metric(
        "effective_decode_concurrency",
        "Effective Decode Concurrency",
        REQUESTS,
        "requests between first content and last event",
    ),
    metric(
        "effective_prefill_concurrency",
        "Effective Prefill Concurrency",
        REQUESTS,
        "requests between t0 and first content",
    ),
    metric(
        "effective_total_throughput",
        "Effective Total Throughput",
        PER_SECOND,
        "prefill throughput + (OSL − 1) spread from first content to last event",
    ),
    metric(
        "effective_decode_throughput_per_user",
        "Effective Decode Throughput Per User",
        PER_USER,
        "decode throughput / decode concurrency",
    ),
    metric(
        "effective_prefill_throughput_per_user",
        "Effective Prefill Throughput Per User",
        PER_USER,
        "prefill throughput / prefill concurrency",
    ),
    metric(
        "tokens_in_flight",
        "Tokens In Flight",
        TOKENS,
        "ISL of open requests, and their output tokens so far",
    ),
    metric(
        "active_decode_throughput",
        "Active Decode Throughput",
        PER_SECOND,
        "the same while a request decodes",
    ),
    metric(
        "active_prefill_throughput",
        "Active Prefill Throughput",
        PER_SECOND,
        "the same while a request is in prefill",
    ),
    metric(
        "active_decode_throughput_per_user",
        "Active Decode Throughput Per User",
        PER_USER,
        "the same while a request decodes",
    ),
    metric(
        "active_prefill_throughput_per_user",
        "Active Prefill Throughput Per User",
        PER_USER,
        "the same while a request is in prefill",
    ),
    metric(
        "active_total_throughput",
        "Active Total Throughput",
        PER_SECOND,
        "the same while a request is open",
    ),
];
