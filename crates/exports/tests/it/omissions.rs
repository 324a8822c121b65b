//! What aiperf's files leave out, and how they name what they keep.

use record::request::Outcome;
use serde_json::{Value, json};

use crate::runs::{
    MS, answered, artifacts, header, header_with_slo, mixed, mixed_artifacts, refused, run, unanswered,
};

fn row<'a>(rows: &'a [Value], request: &str) -> Option<&'a Value> {
    rows.iter().find(|row| {
        row["metadata"]["x_request_id"] == request && row["metadata"]["benchmark_phase"] == "profiling"
    })
}

fn scalar(document: &Value, tag: &str) -> Option<f64> {
    document.get(tag).map(|figures| figures["avg"].as_f64().unwrap())
}

#[test]
fn rows_of_a_mixed_run() {
    let rows = mixed_artifacts().rows;
    assert_eq!(rows.len(), mixed().len() - 2, "no overflow, nothing cancelled");
    assert!(row(&rows, "request-5").is_none() && row(&rows, "request-6").is_none());
    let refused = row(&rows, "request-2").unwrap();
    assert_eq!(refused["metrics"], json!({}));
    assert_eq!(
        refused["error"],
        json!({"code": 500, "type": "Internal Server Error", "message": "boom"})
    );
    assert_eq!(
        refused["metadata"]["request_end_ns"],
        refused["metadata"]["request_start_ns"]
    );
    assert!(refused["metadata"].get("request_ack_ns").is_none());
    let dead = row(&rows, "request-3").unwrap();
    assert_eq!(
        dead["metrics"],
        json!({"error_isl": {"value": 90, "unit": "tokens"}})
    );
    assert_eq!(dead["error"]["type"], "SSEResponseError");
    assert_eq!(dead["error"]["code"], 502);
    let child = row(&rows, "request-1").unwrap();
    assert_eq!(child["metadata"]["root_correlation_id"], "session-0");
    assert_eq!(child["metadata"]["source_kind"], "weka_subagent");
    // t0 is before the first byte written, and gaps are a list.
    assert_eq!(child["metrics"]["time_to_first_token"]["value"], 40.0);
    assert_eq!(
        child["metrics"]["inter_chunk_latency"]["value"],
        json!([4.0, 4.0])
    );
    assert_eq!(child["metrics"]["output_token_count"]["value"], 2);
}

#[test]
fn counts_of_a_mixed_run() {
    let document = mixed_artifacts().json;
    for (tag, value) in [
        ("request_count", Some(5.0)),
        ("error_request_count", Some(3.0)),
        ("completed_request_count", Some(8.0)),
        ("request_error_rate", Some(37.5)),
        ("context_overflow_count", Some(1.0)),
        ("skipped_context_overflow_count", Some(1.0)),
        ("request_throughput", Some(2.5)),
        ("total_error_isl", Some(90.0)),
        // request-0 takes 70 ms, of which 60 are allowed; request-7 has one token and no ITL; the TTFT of request-9 is 60 ms.
        ("good_request_count", Some(2.0)),
        ("goodput", Some(1.0)),
        ("good_request_fraction", Some(0.25)),
        ("benchmark_duration", Some(0.231)),
        ("total_reasoning_tokens", Some(1.0)),
        ("overall_usage_prompt_cache_read_pct", Some(25.0)),
    ] {
        let found = scalar(&document, tag);
        let close = found.zip(value).is_some_and(|(a, b)| (a - b).abs() < 1e-9);
        assert!(close, "{tag}: {found:?}");
    }
    assert_eq!(document["adj_request_latency"]["count"], 8);
    assert!(document["adj_request_latency"].get("p99").is_none());
    assert_eq!(document["error_summary"].as_array().unwrap().len(), 3);
    assert_eq!(document["theoretical_prefix_cache_hit"]["sum"], json!(5));
    assert_eq!(document["theoretical_prefix_cache_hit"]["count"], json!(20));
    assert_eq!(
        document["metadata"]["submission_invalid_reasons"][0],
        "unsafe_override"
    );
    assert_eq!(document["warmup_metrics"]["request_count"]["avg"], 1.0);
    assert_eq!(document["start_time"], "1970-01-01T00:00:00.900000+00:00");
    assert_eq!(
        document["input_config"]["endpoint"]["urls"],
        json!(["http://127.0.0.1:8000"])
    );
}

/// A clean run has no key of failures; one without a scenario counts an overflow as a failure.
#[test]
fn presence_rules() {
    let check = |scenario: bool, records: &[_], present: &[&str], absent: &[&str]| {
        let place = testkit::tempdir().unwrap();
        let mut header = header();
        if !scenario {
            header.validity.scenario = None;
        }
        run(place.path(), &header, records, (900 * MS, 2900 * MS));
        let ours = artifacts(place.path());
        for tag in present {
            assert!(ours.json.get(tag).is_some(), "{tag}");
        }
        for tag in absent {
            assert!(ours.json.get(tag).is_none(), "{tag}");
        }
        ours.rows.len()
    };
    let failures = [
        "error_request_count",
        "completed_request_count",
        "request_error_rate",
        "error_isl",
        "context_overflow_count",
        "skipped_context_overflow_count",
        "adj_request_latency",
        "goodput",
        "usage_reasoning_tokens",
    ];
    assert_eq!(
        check(
            true,
            &[answered(0, 1000, &[1040, 1050])],
            &["request_count", "metadata"],
            &failures
        ),
        1
    );
    let mut overflow = refused(0, 1000, 400, "prompt is too long");
    overflow.outcome = Outcome::Overflow;
    overflow.failure_kind = None;
    let gone = [
        "skipped_context_overflow_count",
        "completed_request_count",
        "metadata",
        "request_latency",
    ];
    assert_eq!(
        check(
            false,
            &[overflow],
            &["error_request_count", "context_overflow_count"],
            &gone
        ),
        1
    );
    let cut = unanswered(0, 1000, Outcome::Cancelled);
    assert_eq!(
        check(
            true,
            &[cut],
            &["request_count"],
            &["request_latency", "effective_concurrency"]
        ),
        0
    );
}

#[test]
fn a_run_that_was_killed_is_cancelled() {
    let place = testkit::tempdir().unwrap();
    run(place.path(), &header_with_slo(), &mixed(), (900 * MS, 2900 * MS));
    let marks = place.path().join("marks.jsonl");
    let text = std::fs::read_to_string(&marks).unwrap();
    let kept: String = text.split_inclusive('\n').take(3).collect();
    std::fs::write(&marks, kept).unwrap();
    let document = artifacts(place.path()).json;
    assert_eq!(document["was_cancelled"], true);
    let reasons = document["metadata"]["submission_invalid_reasons"]
        .as_array()
        .unwrap();
    assert!(reasons.contains(&json!("run_cancelled")));
    // The last stamp of any request stands for the end.
    assert_eq!(document["end_time"], "1970-01-01T00:00:01.232000+00:00");
}
