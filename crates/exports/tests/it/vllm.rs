//! The result file of `vllm bench serve`: its keys and its formulas (`metrics-and-exports` §4.1, §1.2).

use serde_json::Value;

use crate::runs::{MS, header_with_slo, mixed, run};

fn result() -> Value {
    let place = testkit::tempdir().unwrap();
    run(place.path(), &header_with_slo(), &mixed(), (900 * MS, 2900 * MS));
    let file = place.path().join("result.json");
    exports::vllm::write(place.path(), &file).unwrap();
    testkit::json(&file)
}

#[test]
fn keys() {
    let result = result();
    for key in [
        "date",
        "endpoint_type",
        "backend",
        "label",
        "model_id",
        "tokenizer_id",
        "num_prompts",
        "request_rate",
        "burstiness",
        "max_concurrency",
        "duration",
        "completed",
        "failed",
        "total_input_tokens",
        "total_output_tokens",
        "request_throughput",
        "request_goodput",
        "output_throughput",
        "total_token_throughput",
        "max_output_tokens_per_s",
        "max_concurrent_requests",
        "rtfx",
        "latencies",
        "queue_times",
    ] {
        assert!(result.get(key).is_some(), "{key}");
    }
    for metric in ["ttft", "tpot", "itl", "e2el"] {
        for statistic in ["mean", "median", "std", "p50", "p90", "p95", "p99"] {
            assert!(
                result[format!("{statistic}_{metric}_ms")].is_f64(),
                "{statistic} {metric}"
            );
        }
    }
    assert_eq!(result["request_rate"], "inf");
    assert_eq!(result["date"], "19700101-000000");
}

#[test]
fn formulas() {
    let result = result();
    for (key, value) in [
        // From the start of the phase to the end of its last request, which was failed or answered.
        ("duration", 0.332),
        ("completed", 5.0),
        // Three failures and an overflow; the cancelled one is no failure.
        ("failed", 4.0),
        ("num_prompts", 9.0),
        ("total_input_tokens", 500.0),
        ("total_output_tokens", 13.0),
        ("request_throughput", 5.0 / 0.332),
        ("output_throughput", 13.0 / 0.332),
        ("total_token_throughput", 513.0 / 0.332),
        ("max_output_tokens_per_s", 13.0),
        // request-0 to 1070 and request-1 to 1058; request-7 starts as request-0 ends.
        ("max_concurrent_requests", 2.0),
        // All but request-0 (70 ms) and request-9 (TTFT 60 ms).
        ("request_goodput", 3.0 / 0.332),
        ("mean_ttft_ms", (40.0 + 40.0 + 30.0 + 40.0 + 60.0) / 5.0),
        ("mean_e2el_ms", (70.0 + 48.0 + 30.0 + 55.0 + 61.0) / 5.0),
        // (latency − TTFT) / (tokens − 1), of answers with more than one token.
        ("mean_tpot_ms", (10.0 + 4.0 + 7.5 + 1.0) / 4.0),
        ("mean_itl_ms", (10.0 * 3.0 + 4.0 * 2.0 + 5.0 + 10.0 + 1.0) / 8.0),
        ("median_itl_ms", 7.5),
        ("p99_e2el_ms", 61.0 + (70.0 - 61.0) * 0.96),
    ] {
        let found = result[key].as_f64().unwrap();
        assert!((found - value).abs() < 1e-9, "{key}: {found}, not {value}");
    }
    let latencies = result["latencies"].as_array().unwrap();
    assert_eq!(latencies.len(), 9);
    assert!((latencies[0].as_f64().unwrap() - 0.07).abs() < 1e-12);
    assert_eq!(latencies[2], 0.0, "refused");
    assert!((result["queue_times"][0].as_f64().unwrap() - 0.0005).abs() < 1e-12);
}
