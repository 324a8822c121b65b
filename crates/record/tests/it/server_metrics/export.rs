//! aiperf's file: figures, and its keys beside those of a real one.

use std::collections::BTreeSet;

use record::folder::Recorder;
use record::marks::{Mark, RunEvent};
use record::request::Phase;
use record::server_metrics::aiperf;
use serde_json::{Value, json};

use super::{encoded, marks, write};
use crate::samples::{MS, header};

/// Every key of an export, with lists and maps of free keys folded: `metrics.*.series[].stats.rate`.
fn key_paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let free = ["metrics", "warmup_metrics", "endpoint_info", "labels", "buckets"];
                let is_free = free.iter().any(|name| path.ends_with(name));
                let key = if is_free { "*" } else { key.as_str() };
                // A histogram, a gauge and a counter have keys of their own.
                let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
                key_paths(value, &format!("{path}.{key}{kind}"), found);
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| key_paths(item, &format!("{path}[]"), found)),
        _ => {
            found.insert(path.to_owned());
        }
    }
}

#[test]
fn the_export_has_the_keys_of_a_real_one() {
    let page = |n: f64| {
        [
            ("vllm:prefix_cache_hits_total{engine=0}", 10.0 * n),
            ("vllm:num_requests_running{engine=0}", n),
            ("vllm:prompt_tokens_total", n),
            ("vllm:ttft_seconds_bucket{engine=0,le=0.01}", 0.0),
            ("vllm:ttft_seconds_bucket{engine=0,le=0.05}", 5.0 * n),
            ("vllm:ttft_seconds_bucket{engine=0,le=+Inf}", 5.0 * n),
            ("vllm:ttft_seconds_sum{engine=0}", n),
            ("vllm:ttft_seconds_count{engine=0}", 5.0 * n),
            ("vllm:idle_seconds_bucket{le=+Inf}", 0.0),
            ("vllm:idle_seconds_sum", 0.0),
            ("vllm:idle_seconds_count", 0.0),
        ]
    };
    let folder = testkit::tempdir().unwrap();
    let pages: Vec<_> = (0..14_u64).map(|n| (n * 250, page(n as f64))).collect();
    let pages: Vec<(u64, &[(&str, f64)])> = pages.iter().map(|(at, page)| (*at, page.as_slice())).collect();
    let mut recorder = Recorder::create(folder.path(), &header()).unwrap();
    let warmup = Phase::Warmup;
    for (at_ms, event) in [
        (10, RunEvent::PhaseStart(warmup)),
        (
            1000,
            RunEvent::PhaseEnd {
                phase: warmup,
                started: 2,
            },
        ),
    ] {
        recorder
            .mark(&Mark {
                at_ns: at_ms * MS,
                event,
            })
            .unwrap();
    }
    for mark in marks() {
        recorder.mark(&mark).unwrap();
    }
    write(folder.path(), &encoded(&[(0, &pages)]));
    let file = folder.path().join("server_metrics_export.json");
    assert!(aiperf::write_sliced(folder.path(), &file, 750 * MS).unwrap());
    let ours: Value = testkit::json(&file);

    // Scrapes at 1000 ms (n = 4) to 3000 ms (n = 12); slices of 750 ms, the last one cut to 500.
    let counter = &ours["metrics"]["vllm:prefix_cache_hits"]["series"][0];
    assert_eq!(counter["stats"]["total"], 80.0);
    assert_eq!(counter["stats"]["rate"], 40.0);
    assert_eq!(counter["stats"]["rate_avg"], 40.0);
    let slices = counter["timeslices"].as_array().unwrap();
    let totals: Vec<f64> = slices
        .iter()
        .map(|slice| slice["total"].as_f64().unwrap())
        .collect();
    assert_eq!(totals, [30.0, 30.0, 20.0]);
    assert_eq!(slices[2]["is_complete"], false);
    let start = header().wall_start.as_nanosecond() as u64 + 1000 * MS;
    assert_eq!(
        ours["summary"]["phase_time_ranges"]["profiling"],
        json!({"start_ns": start, "end_ns": start + 2000 * MS})
    );
    assert_eq!(slices[0]["start_ns"], start + 1);
    let gauge = &ours["metrics"]["vllm:num_requests_running"]["series"][0]["stats"];
    assert_eq!(
        (&gauge["avg"], &gauge["min"], &gauge["max"]),
        (&json!(8.0), &json!(4.0), &json!(12.0))
    );
    let histogram = &ours["metrics"]["vllm:ttft_seconds"]["series"][0];
    assert_eq!(histogram["stats"]["count"], 40);
    assert_eq!(histogram["buckets"], json!({"0.01": 0, "0.05": 40, "+Inf": 40}));
    assert_eq!(
        ours["metrics"]["vllm:idle_seconds"]["series"][0]["stats"],
        json!({"count": 0})
    );
    // The warm-up's figures are its own.
    assert_eq!(
        ours["warmup_metrics"]["vllm:prefix_cache_hits"]["series"][0]["stats"]["total"],
        40.0
    );

    let Some(real) =
        testkit::shared("oracle/captures/aiperf_outputs/a_c4_realvllm/server_metrics_export.json.gz")
    else {
        return;
    };
    let mut real: Value = testkit::json(&real);
    let mut ours = ours;
    for export in [&mut real, &mut ours] {
        export.as_object_mut().unwrap().remove("input_config").unwrap();
        // A kind in aiperf's lists that this run has none of.
        export["metrics"]
            .as_object_mut()
            .unwrap()
            .retain(|_, metric| metric["type"] != "unknown");
    }
    let (mut theirs, mut found) = Default::default();
    key_paths(&real, "", &mut theirs);
    key_paths(&ours, "", &mut found);
    let only = |one: &BTreeSet<String>, other| one.difference(other).cloned().collect::<Vec<_>>();
    assert_eq!(
        (only(&theirs, &found), only(&found, &theirs)),
        (Vec::new(), Vec::new())
    );
}
