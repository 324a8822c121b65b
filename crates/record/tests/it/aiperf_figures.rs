//! Our statistics over the values of recorded aiperf 0.12.0 runs, beside the figures that aiperf (by way of numpy) wrote.

use std::path::Path;

use record::stats::gaps::Gaps;
use record::stats::quantile::quantile;
use record::stats::sample::Sample;
use record::timeline::Gap;
use serde_json::Value;

const PERCENTILES: [(&str, f64); 9] = [
    ("p1", 0.01),
    ("p5", 0.05),
    ("p10", 0.10),
    ("p25", 0.25),
    ("p50", 0.50),
    ("p75", 0.75),
    ("p90", 0.90),
    ("p95", 0.95),
    ("p99", 0.99),
];

#[test]
fn percentiles_means_and_deviations_are_those_of_numpy() {
    let Some(runs) = testkit::shared("oracle/captures/aiperf_outputs") else {
        return;
    };
    let mut compared = 0;
    for run in ["a_c4_r3", "a_c4_realvllm", "b_c8_r1"] {
        compared += check(&runs.join(run));
    }
    assert_eq!(compared, 3 * 5);
}

/// Compares every metric of one run and says how many.
fn check(run: &Path) -> usize {
    let rows: Vec<Value> = testkit::bytes(&run.join("profile_export.jsonl.gz"))
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .filter(|row: &Value| row["metadata"]["benchmark_phase"] == "profiling" && row["error"].is_null())
        .collect();
    let written: Value = testkit::json(&run.join("profile_export_aiperf.json"));
    let one_a_request = [
        "time_to_first_token",
        "request_latency",
        "inter_token_latency",
        "output_sequence_length",
    ];
    for tag in one_a_request {
        let mut sample = Sample::default();
        for row in &rows {
            sample.push(row["metrics"][tag]["value"].as_f64());
        }
        let figures = &written[tag];
        let sorted = sample.clone().sorted();
        for (name, p) in PERCENTILES {
            near(quantile(&sorted, p), &figures[name], tag);
        }
        let found = sample.distribution(1.0);
        assert_eq!(Some(found.n), figures["count"].as_u64(), "{tag}");
        near(found.mean, &figures["avg"], tag);
        near(found.std, &figures["std"], tag);
        near(found.min, &figures["min"], tag);
        near(found.max, &figures["max"], tag);
    }
    check_gaps(&rows, &written["inter_chunk_latency"]);
    one_a_request.len() + 1
}

fn check_gaps(rows: &[Value], figures: &Value) {
    let mut gaps = Gaps::default();
    for row in rows {
        for gap in row["metrics"]["inter_chunk_latency"]["value"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let ns = (gap.as_f64().unwrap() * 1e6).round() as u64;
            gaps.push(Gap {
                ns,
                same_read: ns == 0,
            });
        }
    }
    let found = gaps.pooled().distribution;
    assert_eq!(Some(found.n), figures["count"].as_u64());
    let expected = ["avg", "std", "p10", "p50", "p90", "p95", "p99", "max"];
    let ours = [
        found.mean, found.std, found.p10, found.p50, found.p90, found.p95, found.p99, found.max,
    ];
    for (name, found) in expected.iter().zip(ours) {
        near(found, &figures[*name], name);
    }
}

fn near(found: Option<f64>, expected: &Value, what: &str) {
    let (found, expected) = (found.unwrap(), expected.as_f64().unwrap());
    assert!(
        (found - expected).abs() <= 1e-9 * expected.abs().max(1.0),
        "{what}: {found}, not {expected}"
    );
}
