//! Metrics that each answered request has a value of, or none.

use super::{MS, MS_PER_NS, PER_USER, PERCENT, REQUESTS, RecordMetric, TOKENS, metric, ms};
use crate::aiperf::Observed;
use crate::figures::Quantity::{self, Real, Whole};

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

/// One value a request.
pub const RECORD: &[RecordMetric] = &[
    adjusted(each(
        "request_latency",
        "Request Latency",
        MS,
        "last content − t0",
        |seen| seen.latency_ns().map(ms),
    )),
    adjusted(each(
        "time_to_first_token",
        "Time to First Token",
        MS,
        "first content − t0",
        |seen| seen.ttft_ns().map(ms),
    )),
    each(
        "time_to_second_token",
        "Time to Second Token",
        MS,
        "second content − first content",
        |seen| seen.gaps().next().map(ms),
    ),
    each(
        "time_to_first_output_token",
        "Time to First Output Token",
        MS,
        "first content that is not reasoning − t0",
        |seen| seen.ttfo_ns().map(ms),
    ),
    adjusted(each(
        "inter_token_latency",
        "Inter Token Latency",
        MS,
        "decode_duration / (OSL − 1), OSL ≥ 2",
        |seen| seen.itl_ns().map(|ns| Real(ns * MS_PER_NS)),
    )),
    adjusted(each(
        "decode_duration",
        "Decode Duration",
        MS,
        "request_latency − TTFT",
        |seen| seen.decode_ns().map(ms),
    )),
    each(
        "output_token_throughput_per_user",
        "Output Token Throughput Per User",
        PER_USER,
        "1 / ITL, ITL > 0",
        |seen| rate(1.0, seen.itl_ns()?),
    ),
    each(
        "e2e_output_token_throughput",
        "E2E Output Token Throughput",
        PER_USER,
        "OSL / request_latency",
        |seen| rate(seen.osl()? as f64, seen.latency_ns()? as f64),
    ),
    each(
        "prefill_throughput_per_user",
        "Prefill Throughput Per User",
        PER_USER,
        "ISL / TTFT",
        |seen| rate(seen.isl()? as f64, seen.ttft_ns()? as f64),
    ),
    each(
        "output_sequence_length",
        "Output Sequence Length",
        TOKENS,
        "output tokens, reasoning included",
        |seen| seen.osl().map(Whole),
    ),
    each(
        "input_sequence_length",
        "Input Sequence Length",
        TOKENS,
        "prompt tokens",
        |seen| seen.isl().map(Whole),
    ),
    each(
        "output_token_count",
        "Output Token Count",
        TOKENS,
        "output tokens without reasoning; absent when 0",
        |seen| seen.output_tokens().map(Whole),
    ),
    each(
        "reasoning_token_count",
        "Reasoning Token Count",
        TOKENS,
        "reasoning tokens",
        |seen| seen.record.usage.reasoning_tokens.map(Whole),
    ),
    each(
        "osl_mismatch_diff_pct",
        "OSL Mismatch Diff %",
        PERCENT,
        "100 · (OSL − asked) / asked",
        |seen| {
            let asked = seen.record.osl_planned as f64;
            (asked > 0.0).then_some(Real((seen.osl()? as f64 - asked) / asked * 100.0))
        },
    ),
    each(
        "usage_prompt_tokens",
        "Usage Prompt Tokens",
        TOKENS,
        "`prompt_tokens` of the server",
        |seen| seen.isl().map(Whole),
    ),
    each(
        "usage_completion_tokens",
        "Usage Completion Tokens",
        TOKENS,
        "`completion_tokens` of the server",
        |seen| seen.osl().map(Whole),
    ),
    each(
        "usage_total_tokens",
        "Usage Total Tokens",
        TOKENS,
        "prompt + completion tokens (the server's own sum is not recorded)",
        |seen| Some(Whole(seen.isl()?.saturating_add(seen.osl()?))),
    ),
    each(
        "usage_prompt_cache_read_tokens",
        "Usage Prompt Cache Read Tokens",
        TOKENS,
        "`cached_tokens` of the server",
        |seen| seen.record.usage.cached_tokens.map(Whole),
    ),
    each(
        "usage_reasoning_tokens",
        "Usage Reasoning Tokens",
        TOKENS,
        "`reasoning_tokens` of the server",
        |seen| seen.record.usage.reasoning_tokens.map(Whole),
    ),
    each(
        "good_request_count",
        "Good Request Count",
        REQUESTS,
        "1 when every bound of goodput is met, else 0",
        |seen| seen.is_good().map(|good| Whole(good.into())),
    ),
    each(
        "http_req_blocked",
        "HTTP Blocked",
        MS,
        "0: there is no pool to wait for",
        |_| Some(Real(0.0)),
    ),
    each(
        "http_req_dns_lookup",
        "HTTP DNS Lookup",
        MS,
        "0 for an address or an open connection; else part of connecting, and absent",
        |seen| (seen.no_lookup || seen.connect_ns() == 0).then_some(Real(0.0)),
    ),
    each(
        "http_req_connecting",
        "HTTP Connecting",
        MS,
        "connected − t0, name lookup and TLS included; 0 for an open connection",
        |seen| Some(ms(seen.connect_ns())),
    ),
    each(
        "http_req_sending",
        "HTTP Sending",
        MS,
        "last body byte written − first byte written",
        |seen| {
            let stamps = &seen.record.stamps;
            Some(ms(stamps
                .body_written_ns?
                .saturating_sub(stamps.headers_written_ns?)))
        },
    ),
    each(
        "http_req_duration",
        "HTTP Duration (excl. conn)",
        MS,
        "last byte read − first byte written",
        |seen| seen.exchange_ns().map(ms),
    ),
    each(
        "http_req_connection_overhead",
        "HTTP Connection Overhead",
        MS,
        "blocked + connecting",
        |seen| Some(ms(seen.connect_ns())),
    ),
    each(
        "http_req_total",
        "HTTP Total Time",
        MS,
        "blocked + connecting + duration",
        |seen| {
            seen.exchange_ns()
                .map(|ns| ms(ns.saturating_add(seen.connect_ns())))
        },
    ),
    each(
        "http_req_connection_reused",
        "HTTP Connection Reused",
        "ratio",
        "1 when the connection was open, else 0",
        |seen| Some(Whole(seen.record.stamps.connected_ns.is_none().into())),
    ),
    each(
        "http_req_data_sent",
        "HTTP Data Sent",
        "KB",
        "body bytes / 1024",
        |seen| Some(kilobytes(seen.record.body_bytes)),
    ),
    each(
        "http_req_data_received",
        "HTTP Data Received",
        "KB",
        "body bytes of the answer / 1024",
        |seen| Some(kilobytes(seen.record.response_bytes)),
    ),
];

fn rate(tokens: f64, ns: f64) -> Option<Quantity> {
    (ns > 0.0).then(|| Real(tokens / (ns * 1e-9)))
}

fn kilobytes(bytes: u64) -> Quantity {
    Real(bytes as f64 / 1024.0)
}
