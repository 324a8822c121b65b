//! Every metric of our aiperf files, as data: tag, heading of its CSV row, unit, what it is, and for one that each request has, how it
//! comes from the record. Definitions are those of aiperf 0.12.0 (`metrics-and-exports` §1.4–§1.8, §1.11).

use super::observed::Observed;
use crate::figures::Quantity::{self, Real, Whole};

/// A metric's names and meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its key in JSON.
    pub tag: &'static str,
    /// Its name in the CSV, unit not included.
    pub header: &'static str,
    /// Its unit as it stands in JSON.
    pub unit: &'static str,
    /// What it is, and when it is absent.
    pub formula: &'static str,
}

/// A metric that every answered request has a value of, or none.
#[derive(Clone, Copy, Debug)]
pub struct RecordMetric {
    /// Its names.
    pub metric: Metric,
    /// Has an `adj_` twin in which failures count as infinite.
    pub adjusted: bool,
    /// Its value.
    pub value: fn(&Observed<'_>) -> Option<Quantity>,
}

const fn metric(tag: &'static str, header: &'static str, unit: &'static str, formula: &'static str) -> Metric {
    Metric {
        tag,
        header,
        unit,
        formula,
    }
}

const fn each(
    tag: &'static str,
    header: &'static str,
    unit: &'static str,
    formula: &'static str,
    value: fn(&Observed<'_>) -> Option<Quantity>,
) -> RecordMetric {
    RecordMetric {
        metric: metric(tag, header, unit, formula),
        adjusted: false,
        value,
    }
}

const fn adjusted(plain: RecordMetric) -> RecordMetric {
    RecordMetric {
        adjusted: true,
        ..plain
    }
}

const MS: &str = "ms";
const TOKENS: &str = "tokens";
const PER_USER: &str = "tokens/sec/user";
const PER_SECOND: &str = "tokens/sec";
const REQUESTS: &str = "requests";
const PERCENT: &str = "%";

/// One value a request.
pub const RECORD: &[RecordMetric] = &[
    adjusted(each("request_latency", "Request Latency", MS, "last content − t0", |seen| seen.latency_ns().map(ms))),
    adjusted(each("time_to_first_token", "Time to First Token", MS, "first content − t0", |seen| seen.ttft_ns().map(ms))),
    each("time_to_second_token", "Time to Second Token", MS, "second content − first content", |seen| {
        seen.gaps().next().map(ms)
    }),
    each("time_to_first_output_token", "Time to First Output Token", MS, "first content that is not reasoning − t0", |seen| {
        seen.ttfo_ns().map(ms)
    }),
    adjusted(each("inter_token_latency", "Inter Token Latency", MS, "decode_duration / (OSL − 1), OSL ≥ 2", |seen| {
        seen.itl_ns().map(|ns| Real(ns * MS_PER_NS))
    })),
    adjusted(each("decode_duration", "Decode Duration", MS, "request_latency − TTFT", |seen| seen.decode_ns().map(ms))),
    each("output_token_throughput_per_user", "Output Token Throughput Per User", PER_USER, "1 / ITL, ITL > 0", |seen| {
        rate(1.0, seen.itl_ns()?)
    }),
    each("e2e_output_token_throughput", "E2E Output Token Throughput", PER_USER, "OSL / request_latency", |seen| {
        rate(seen.osl()? as f64, seen.latency_ns()? as f64)
    }),
    each("prefill_throughput_per_user", "Prefill Throughput Per User", PER_USER, "ISL / TTFT", |seen| {
        rate(seen.isl()? as f64, seen.ttft_ns()? as f64)
    }),
    each("output_sequence_length", "Output Sequence Length", TOKENS, "output tokens, reasoning included", |seen| {
        seen.osl().map(Whole)
    }),
    each("input_sequence_length", "Input Sequence Length", TOKENS, "prompt tokens", |seen| seen.isl().map(Whole)),
    each("output_token_count", "Output Token Count", TOKENS, "output tokens without reasoning; absent when 0", |seen| {
        seen.output_tokens().map(Whole)
    }),
    each("reasoning_token_count", "Reasoning Token Count", TOKENS, "reasoning tokens", |seen| {
        seen.record.usage.reasoning_tokens.map(Whole)
    }),
    each("osl_mismatch_diff_pct", "OSL Mismatch Diff %", PERCENT, "100 · (OSL − asked) / asked", |seen| {
        let asked = seen.record.osl_planned as f64;
        (asked > 0.0).then_some(Real((seen.osl()? as f64 - asked) / asked * 100.0))
    }),
    each("usage_prompt_tokens", "Usage Prompt Tokens", TOKENS, "`prompt_tokens` of the server", |seen| seen.isl().map(Whole)),
    each("usage_completion_tokens", "Usage Completion Tokens", TOKENS, "`completion_tokens` of the server", |seen| {
        seen.osl().map(Whole)
    }),
    each("usage_total_tokens", "Usage Total Tokens", TOKENS, "prompt + completion tokens (the server's own sum is not recorded)", |seen| {
        Some(Whole(seen.isl()?.saturating_add(seen.osl()?)))
    }),
    each("usage_prompt_cache_read_tokens", "Usage Prompt Cache Read Tokens", TOKENS, "`cached_tokens` of the server", |seen| {
        seen.record.usage.cached_tokens.map(Whole)
    }),
    each("usage_reasoning_tokens", "Usage Reasoning Tokens", TOKENS, "`reasoning_tokens` of the server", |seen| {
        seen.record.usage.reasoning_tokens.map(Whole)
    }),
    each("good_request_count", "Good Request Count", REQUESTS, "1 when every bound of the only SLO class is met, else 0", |seen| {
        seen.is_good().map(|good| Whole(good.into()))
    }),
    each("http_req_blocked", "HTTP Blocked", MS, "0: there is no pool to wait for", |_| Some(Real(0.0))),
    each("http_req_dns_lookup", "HTTP DNS Lookup", MS, "0 for an address or an open connection; else part of connecting, and absent", |seen| {
        (seen.no_lookup || seen.connect_ns() == 0).then_some(Real(0.0))
    }),
    each("http_req_connecting", "HTTP Connecting", MS, "connected − t0, name lookup and TLS included; 0 for an open connection", |seen| {
        Some(ms(seen.connect_ns()))
    }),
    each("http_req_sending", "HTTP Sending", MS, "last body byte written − first byte written", |seen| {
        let stamps = &seen.record.stamps;
        Some(ms(stamps.body_written_ns?.saturating_sub(stamps.headers_written_ns?)))
    }),
    each("http_req_duration", "HTTP Duration (excl. conn)", MS, "last byte read − first byte written", |seen| seen.exchange_ns().map(ms)),
    each("http_req_connection_overhead", "HTTP Connection Overhead", MS, "blocked + connecting", |seen| Some(ms(seen.connect_ns()))),
    each("http_req_total", "HTTP Total Time", MS, "blocked + connecting + duration", |seen| {
        seen.exchange_ns().map(|ns| ms(ns.saturating_add(seen.connect_ns())))
    }),
    each("http_req_connection_reused", "HTTP Connection Reused", "ratio", "1 when the connection was open, else 0", |seen| {
        Some(Whole(seen.record.stamps.connected_ns.is_none().into()))
    }),
    each("http_req_data_sent", "HTTP Data Sent", "KB", "body bytes / 1024", |seen| Some(kilobytes(seen.record.body_bytes))),
    each("http_req_data_received", "HTTP Data Received", "KB", "body bytes of the answer / 1024", |seen| {
        Some(kilobytes(seen.record.response_bytes))
    }),
];

/// All gaps between content chunks, pooled over requests; in a row a list.
pub const INTER_CHUNK_LATENCY: Metric = metric(
    "inter_chunk_latency",
    "Inter Chunk Latency",
    MS,
    "gaps between contents, 0 within one socket read; absent below two chunks",
);

/// Prompt tokens of failed requests.
pub const ERROR_ISL: Metric = metric("error_isl", "Error Input Sequence Length", TOKENS, "prompt tokens of a failed request, where the server counted them");

/// One value a run. Each is absent where its formula has nothing to stand on.
pub const RUN: &[Metric] = &[
    metric("request_throughput", "Request Throughput", "requests/sec", "valid requests / W"),
    metric("request_count", "Request Count", REQUESTS, "valid requests"),
    metric("output_token_throughput", "Output Token Throughput", PER_SECOND, "ΣOSL / W"),
    metric("input_token_throughput", "Input Token Throughput", PER_SECOND, "ΣISL / W"),
    metric("total_token_throughput", "Total Token Throughput", PER_SECOND, "(ΣISL + ΣOSL) / W"),
    metric("goodput", "Goodput", "requests/sec", "good requests / W; with exactly one SLO class"),
    metric("good_request_fraction", "GoodRequestFraction", "ratio", "good / (valid + failed); with exactly one SLO class"),
    metric("error_request_count", "Error Request Count", REQUESTS, "failed requests; absent when there are none"),
    metric("completed_request_count", "Completed Requests (Success + Error)", REQUESTS, "valid + failed; absent unless there are both"),
    metric("request_error_rate", "Request Error Rate", PERCENT, "100 · failed / (valid + failed); absent unless there are both"),
    metric("total_error_isl", "Total Error Input Sequence Length", TOKENS, "sum of error_isl"),
    metric("context_overflow_count", "Context Overflow Count", REQUESTS, "prompts that did not fit; absent when there are none"),
    metric("benchmark_duration", "Benchmark Duration", "sec", "latest (t0 + request_latency) − earliest t0, valid requests"),
    metric("total_isl", "Total Input Sequence Length", TOKENS, "sum"),
    metric("total_osl", "Total Output Sequence Length", TOKENS, "sum"),
    metric("total_output_tokens", "Total Output Tokens", TOKENS, "sum of output_token_count"),
    metric("total_reasoning_tokens", "Total Reasoning Tokens", TOKENS, "sum of reasoning_token_count"),
    metric("osl_mismatch_count", "OSL Mismatch Count", REQUESTS, "requests with abs(OSL − asked) > min(5 % of asked, 50)"),
    metric("total_usage_prompt_tokens", "Total Usage Prompt Tokens", TOKENS, "sum"),
    metric("total_usage_completion_tokens", "Total Usage Completion Tokens", TOKENS, "sum"),
    metric("total_usage_total_tokens", "Total Usage Total Tokens", TOKENS, "sum"),
    metric("total_usage_prompt_cache_read_tokens", "Total Usage Prompt Cache Read Tokens", TOKENS, "sum"),
    metric("total_usage_reasoning_tokens", "Total Usage Reasoning Tokens", TOKENS, "sum"),
    metric("overall_usage_prompt_cache_read_pct", "Overall Usage Prompt Cache Read %", PERCENT, "100 · Σcache read / Σprompt"),
    metric("theoretical_prefix_cache_hit", "Theoretical Prefix Cache Hit", PERCENT, "100 · hit / total blocks; `sum` is the hit blocks, `count` all blocks"),
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
    metric("credit_to_start_latency", "Credit-to-Start Latency", MS, "t0 − the time it was due"),
    metric("effective_latency", "Effective Latency (CO-aware)", MS, "last event − the time it was due"),
];

/// Weighted by time over the window W.
pub const SWEEP: &[Metric] = &[
    metric("effective_concurrency", "Effective Concurrency", REQUESTS, "requests between t0 and their last event"),
    metric("effective_decode_throughput", "Effective Decode Throughput", PER_SECOND, "(OSL − 1) tokens spread over the positive gaps of a request"),
    metric("effective_prefill_throughput", "Effective Prefill Throughput", PER_SECOND, "ISL spread from t0 to the first content"),
    metric("effective_decode_concurrency", "Effective Decode Concurrency", REQUESTS, "requests between first content and last event"),
    metric("effective_prefill_concurrency", "Effective Prefill Concurrency", REQUESTS, "requests between t0 and first content"),
    metric("effective_total_throughput", "Effective Total Throughput", PER_SECOND, "prefill throughput + (OSL − 1) spread from first content to last event"),
    metric("effective_decode_throughput_per_user", "Effective Decode Throughput Per User", PER_USER, "decode throughput / decode concurrency"),
    metric("effective_prefill_throughput_per_user", "Effective Prefill Throughput Per User", PER_USER, "prefill throughput / prefill concurrency"),
    metric("tokens_in_flight", "Tokens In Flight", TOKENS, "ISL of open requests, and their output tokens so far"),
    metric("active_decode_throughput", "Active Decode Throughput", PER_SECOND, "the same while a request decodes"),
    metric("active_prefill_throughput", "Active Prefill Throughput", PER_SECOND, "the same while a request is in prefill"),
    metric("active_decode_throughput_per_user", "Active Decode Throughput Per User", PER_USER, "the same while a request decodes"),
    metric("active_prefill_throughput_per_user", "Active Prefill Throughput Per User", PER_USER, "the same while a request is in prefill"),
    metric("active_total_throughput", "Active Total Throughput", PER_SECOND, "the same while a request is open"),
];

/// The entry of `tag` in one of the tables above.
///
/// # Panics
/// When the table has none, which a test would show.
pub(crate) fn named(table: &'static [Metric], tag: &str) -> &'static Metric {
    table
        .iter()
        .find(|metric| metric.tag == tag)
        .expect("tags in code are those of the table")
}

/// Every metric but the `adj_` ones, in the order of the tables.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    RECORD
        .iter()
        .map(|each| &each.metric)
        .chain([&INTER_CHUNK_LATENCY, &ERROR_ISL])
        .chain(RUN)
        .chain(DISPATCH)
        .chain(SWEEP)
}

/// The tables as they stand in `docs/reference/aiperf-artifacts.md`.
pub fn markdown() -> String {
    use std::fmt::Write;
    let mut table = String::from("| tag | unit | meaning |\n|---|---|---|\n");
    for metric in all() {
        writeln!(table, "| `{}` | {} | {} |", metric.tag, metric.unit, metric.formula)
            .expect("writing to a string cannot fail");
    }
    table
}

/// aiperf multiplies by this, and the last digit shows it.
pub(crate) const MS_PER_NS: f64 = 1e-6;

pub(crate) fn ms(ns: u64) -> Quantity {
    Real(ns as f64 * MS_PER_NS)
}

fn rate(tokens: f64, ns: f64) -> Option<Quantity> {
    (ns > 0.0).then(|| Real(tokens / (ns * 1e-9)))
}

fn kilobytes(bytes: u64) -> Quantity {
    Real(bytes as f64 / 1024.0)
}
