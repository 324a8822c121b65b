//! `InferenceX`'s aggregation over an artifact folder (`metrics-and-exports` §4.3, §4.4), on our files and on aiperf's own.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::convert::folder_of;
use crate::runs::{MS, artifacts, header_with_slo, lines, mixed, run};

/// Every figure by name: `p95_itl`, `theoretical_cache_hit` …
type Figures = BTreeMap<String, f64>;

/// The figures without which a result is not published.
const REQUIRED: [&str; 14] = [
    "mean_ttft",
    "p95_ttft",
    "mean_e2el",
    "mean_itl",
    "p95_intvty",
    "mean_e2e_norm_intvty",
    "mean_full_response_itl",
    "input_tput",
    "output_tput",
    "total_tput",
    "mean_qps",
    "p90_isl",
    "p90_osl",
    "theoretical_cache_hit",
];

/// Reads the two files by the names that `InferenceX` reads them by.
fn aggregate(summary: &Value, rows: &[Value]) -> Figures {
    let mut figures = Figures::new();
    let warmup = |row: &&Value| row["metadata"]["benchmark_phase"] == "warmup";
    let failed = |row: &&&Value| row.get("error").is_some_and(|error| !error.is_null());
    let profiled: Vec<&Value> = rows.iter().filter(|row| !warmup(row)).collect();
    let good: Vec<&Value> = profiled.iter().filter(|row| !failed(row)).copied().collect();
    let mut put = |name: &str, value: f64| figures.insert(name.to_owned(), value);
    put("rows", rows.len() as f64);
    put("warmup_dropped", (rows.len() - profiled.len()) as f64);
    put("error_dropped", (profiled.len() - good.len()) as f64);

    let metric = |row: &Value, tag: &str| {
        let value = row["metrics"][tag]["value"].as_f64();
        value.filter(|value| value.is_finite() && *value > 0.0)
    };
    let all = |tag: &str, scale: f64| -> Vec<f64> {
        good.iter()
            .filter_map(|row| metric(row, tag))
            .map(|value| value * scale)
            .collect()
    };
    spread(&mut put, "ttft", all("time_to_first_token", 1e-3));
    spread(&mut put, "e2el", all("request_latency", 1e-3));
    let itl = all("inter_token_latency", 1e-3);
    inverse(&mut put, "intvty", &itl);
    spread(&mut put, "tpot", itl.clone());
    spread(&mut put, "itl", itl);
    let per_token =
        |row: &&Value| Some(metric(row, "request_latency")? * 1e-3 / metric(row, "output_sequence_length")?);
    inverse(
        &mut put,
        "e2e_norm_intvty",
        &good.iter().filter_map(per_token).collect::<Vec<_>>(),
    );
    let stamp = |row: &Value, key: &str| row["metadata"][key].as_u64().unwrap();
    // What the site takes where the fork's own metric is not there.
    let full_response = |row: &&Value| {
        let ns = stamp(row, "request_end_ns") - stamp(row, "request_start_ns");
        let osl = metric(row, "output_sequence_length").filter(|osl| *osl > 1.0)?;
        Some((ns as f64 * 1e-9 - metric(row, "time_to_first_token")? * 1e-3) / (osl - 1.0))
    };
    let full_response: Vec<f64> = good.iter().filter_map(full_response).collect();
    inverse(&mut put, "full_response_intvty", &full_response);
    spread(&mut put, "full_response_itl", full_response);

    let first = good
        .iter()
        .map(|row| stamp(row, "request_start_ns"))
        .min()
        .unwrap();
    let ends: Vec<u64> = good.iter().map(|row| stamp(row, "request_end_ns")).collect();
    let seconds = (ends.iter().max().unwrap() - first) as f64 * 1e-9;
    let (isl, osl) = (
        all("input_sequence_length", 1.0),
        all("output_sequence_length", 1.0),
    );
    let (input, output) = (isl.iter().sum::<f64>(), osl.iter().sum::<f64>());
    put("input_tput", input / seconds);
    put("output_tput", output / seconds);
    put("total_tput", (input + output) / seconds);
    spread(&mut put, "isl", isl);
    spread(&mut put, "osl", osl);
    spread(&mut put, "qps", windows(&ends));

    let hits = &summary["theoretical_prefix_cache_hit"];
    put(
        "theoretical_cache_hit",
        hits["sum"].as_f64().unwrap() / hits["count"].as_f64().unwrap(),
    );
    put("error_fraction", error_fraction(summary));
    figures
}

/// Share of failures, as the validation step reads it; `request_count` must be there.
fn error_fraction(summary: &Value) -> f64 {
    let valid = summary["request_count"]["avg"]
        .as_f64()
        .expect("request_count is required");
    let failed = summary["error_request_count"]["avg"].as_f64().unwrap_or(0.0);
    let completed = summary["completed_request_count"]["avg"].as_f64();
    failed / completed.unwrap_or(valid + failed)
}

/// Completions in windows of a second, from the first one on.
fn windows(ends: &[u64]) -> Vec<f64> {
    let first = *ends.iter().min().unwrap();
    let last = (ends.iter().max().unwrap() - first) / 1_000_000_000;
    (0..=last)
        .map(|second| {
            ends.iter()
                .filter(|end| (*end - first) / 1_000_000_000 == second)
                .count() as f64
        })
        .collect()
}

fn percentile(sorted: &[f64], p: f64) -> f64 {
    let rank = (sorted.len() - 1) as f64 * p;
    let low = rank.floor() as usize;
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] + (sorted[high] - sorted[low]) * rank.fract()
}

fn statistics(mut values: Vec<f64>) -> Vec<(&'static str, f64)> {
    values.sort_by(f64::total_cmp);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    let at = [("p50", 0.5), ("p75", 0.75), ("p90", 0.9), ("p95", 0.95)];
    let mut found = vec![("mean", mean), ("std", variance.sqrt())];
    found.extend(at.map(|(name, p)| (name, percentile(&values, p))));
    found
}

fn spread<R>(put: &mut impl FnMut(&str, f64) -> R, name: &str, values: Vec<f64>) {
    for (statistic, value) in statistics(values) {
        put(&format!("{statistic}_{name}"), value);
    }
}

/// One over the same statistic, so that p95 is the slow tail; the deviation is that of the inverses.
fn inverse<R>(put: &mut impl FnMut(&str, f64) -> R, name: &str, values: &[f64]) {
    for (statistic, value) in statistics(values.to_vec()) {
        if statistic != "std" {
            put(&format!("{statistic}_{name}"), 1.0 / value);
        }
    }
    let inverses = statistics(values.iter().map(|value| 1.0 / value).collect());
    put(&format!("std_{name}"), inverses[1].1);
}

/// The rows of the CSV that its sweep script reads, each as wide as the first header.
fn check_csv(csv: &str) {
    let section: Vec<&str> = csv.lines().take_while(|line| !line.is_empty()).collect();
    let width = section[0].split(',').count();
    assert!(
        section.iter().all(|line| line.split(',').count() == width),
        "{csv}"
    );
    for name in [
        "Request Count",
        "Request Throughput (requests/sec)",
        "Output Token Throughput (tokens/sec)",
        "Total Token Throughput (tokens/sec)",
        "Time to First Token (ms)",
        "Inter Token Latency (ms)",
        "Request Latency (ms)",
    ] {
        assert!(
            csv.lines().any(|line| line.starts_with(&format!("{name},"))),
            "{name}"
        );
    }
}

#[test]
fn our_files_aggregate_as_the_ones_of_aiperf() {
    for name in ["a_c4_realvllm", "a_c4_r3", "b_c8_r1"] {
        let Some(run) = testkit::shared(&format!("oracle/captures/aiperf_outputs/{name}")) else {
            return;
        };
        let place = testkit::tempdir().unwrap();
        let document = folder_of(&run, place.path());
        let ours = artifacts(place.path());
        let theirs = aggregate(&document, &lines(&run.join("profile_export.jsonl.gz")));
        let found = aggregate(&ours.json, &ours.rows);
        assert!(theirs.keys().eq(found.keys()));
        for (figure, value) in &theirs {
            assert!(
                (value - found[figure]).abs() <= 1e-9 * value.abs(),
                "{name} {figure}: {value} {}",
                found[figure]
            );
        }
        check_csv(&ours.csv);
    }
}

/// The checker itself: on aiperf's files it gives the figures that stand in them.
#[test]
fn figures_of_the_files_of_aiperf() {
    let Some(run) = testkit::shared("oracle/captures/aiperf_outputs/a_c4_realvllm") else {
        return;
    };
    let document: Value = testkit::json(&run.join("profile_export_aiperf.json"));
    let figures = aggregate(&document, &lines(&run.join("profile_export.jsonl.gz")));
    let stated = |tag: &str, figure: &str| document[tag][figure].as_f64().unwrap();
    for (name, value) in [
        ("mean_ttft", stated("time_to_first_token", "avg") / 1e3),
        ("p95_e2el", stated("request_latency", "p95") / 1e3),
        ("std_itl", stated("inter_token_latency", "std") / 1e3),
        ("p95_intvty", 1e3 / stated("inter_token_latency", "p95")),
        ("std_intvty", stated("output_token_throughput_per_user", "std")),
        ("p90_isl", stated("input_sequence_length", "p90")),
        (
            "theoretical_cache_hit",
            stated("theoretical_prefix_cache_hit", "avg") / 100.0,
        ),
        ("error_fraction", 0.0),
        ("rows", 127.0),
        ("warmup_dropped", 5.0),
    ] {
        assert!(
            (figures[name] - value).abs() <= 1e-9 * value.abs(),
            "{name}: {} {value}",
            figures[name]
        );
    }
}

#[test]
fn required_figures_of_a_run_of_ours() {
    let place = testkit::tempdir().unwrap();
    run(place.path(), &header_with_slo(), &mixed(), (900 * MS, 2900 * MS));
    let ours = artifacts(place.path());
    let figures = aggregate(&ours.json, &ours.rows);
    for name in REQUIRED {
        assert!(
            figures.get(name).is_some_and(|value| value.is_finite()),
            "{name} of {figures:?}"
        );
    }
    assert_eq!(figures["warmup_dropped"], 1.0);
    assert_eq!(figures["error_dropped"], 3.0);
    assert_eq!(figures["error_fraction"], 3.0 / 8.0);
    assert_eq!(figures["theoretical_cache_hit"], 0.25);
    // 13 tokens from 1000 ms to the end of the last stream at 1232 ms.
    assert!((figures["output_tput"] - 13.0 / 0.232).abs() < 1e-9);
    check_csv(&ours.csv);
    for row in &ours.rows {
        let metadata = row["metadata"].as_object().unwrap();
        for key in [
            "conversation_id",
            "turn_index",
            "request_start_ns",
            "request_end_ns",
            "root_correlation_id",
        ] {
            assert!(metadata.contains_key(key), "{key}");
        }
    }
}

#[test]
fn examples_aggregate() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/aiperf-artifacts/agentx-run");
    let document: Value = testkit::json(&examples.join("profile_export_aiperf.json"));
    let figures = aggregate(&document, &lines(&examples.join("profile_export.jsonl")));
    assert!(REQUIRED.iter().all(|name| figures[*name].is_finite()));
    assert_eq!(figures["theoretical_cache_hit"], 1636.0 / 1944.0);
}
