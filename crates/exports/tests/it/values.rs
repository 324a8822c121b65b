//! Figures recomputed from aiperf's own rows are aiperf's own figures.

use serde_json::{Map, Value};

use crate::convert::folder_of;
use crate::runs::{Artifacts, artifacts, lines};

/// Relative difference that is allowed where both sides compute with the same doubles.
const CLOSE: f64 = 1e-9;
/// The window's place is known to the microsecond only, and aiperf's stamps in the sweep are doubles of 256 ns.
const SWEEP_CLOSE: f64 = 1e-7;
/// Where two chunks are a few µs apart, 256 ns are much: how its decode rates overlap is not reproduced.
const DECODE_CLOSE: f64 = 5e-5;

/// Metrics that we do not have, see `docs/reference/aiperf-artifacts.md`.
const ABSENT: [&str; 4] = [
    "http_req_waiting",
    "http_req_receiving",
    "http_req_chunks_sent",
    "http_req_chunks_received",
];

const RUNS: [&str; 3] = ["a_c4_realvllm", "a_c4_r3", "b_c8_r1"];

fn tolerance(tag: &str, figure: &str) -> Option<f64> {
    let decode = tag.contains("decode_throughput");
    match figure {
        // The largest of a few overlaps that last 256 ns.
        "max" if decode || tag == "tokens_in_flight" => None,
        "avg" | "std" if decode => Some(DECODE_CLOSE),
        _ if tag.starts_with("effective_") || tag.starts_with("active_") || tag == "tokens_in_flight" => {
            Some(SWEEP_CLOSE)
        }
        _ => Some(CLOSE),
    }
}

fn is_sweep(tag: &str) -> bool {
    tag.starts_with("active_")
        || tag == "tokens_in_flight"
        || (tag.starts_with("effective_") && tag != "effective_latency")
}

/// Every metric object of `theirs` that `wanted` names is in `ours`, figure by figure; and the other way round.
fn check_metrics(
    what: &str,
    theirs: &Map<String, Value>,
    ours: &Map<String, Value>,
    wanted: impl Fn(&str) -> bool,
) -> usize {
    let mut compared = 0;
    let metric = |value: &Value| value.get("unit").is_some();
    for (tag, their) in theirs.iter().filter(|(tag, value)| metric(value) && wanted(tag)) {
        let our = ours.get(tag).unwrap_or_else(|| panic!("{what}: no {tag}"));
        assert_eq!(their["unit"], our["unit"], "{what} {tag}");
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let (mut their_keys, mut our_keys) = (keys(their), keys(our));
        their_keys.sort();
        our_keys.sort();
        assert_eq!(their_keys, our_keys, "{what} {tag}");
        for figure in their_keys.iter().filter(|key| *key != "unit") {
            let (a, b) = (their[figure].as_f64().unwrap(), our[figure].as_f64().unwrap());
            let Some(close) = tolerance(tag, figure) else {
                continue;
            };
            assert!(
                (a - b).abs() <= close * a.abs() + 1e-12,
                "{what} {tag}.{figure}: theirs {a}, ours {b}"
            );
            compared += 1;
        }
    }
    for (tag, _) in ours.iter().filter(|(tag, value)| metric(value) && wanted(tag)) {
        assert!(theirs.contains_key(tag), "{what}: {tag} is not in theirs");
    }
    compared
}

#[test]
fn figures_of_whole_runs() {
    for run in RUNS {
        let Some(oracle) = testkit::shared(&format!("oracle/captures/aiperf_outputs/{run}")) else {
            return;
        };
        let place = testkit::tempdir().unwrap();
        let document = folder_of(&oracle, place.path());
        let Artifacts { json, rows, csv } = artifacts(place.path());
        let (theirs, ours) = (document.as_object().unwrap(), json.as_object().unwrap());
        let known = |tag: &str| !ABSENT.contains(&tag);
        assert!(check_metrics(run, theirs, ours, known) > 480, "{run}");
        // When the warm-up's window began is not told, so its sweep and its blocks cannot be placed.
        let placed = |tag: &str| {
            known(tag)
                && !is_sweep(tag)
                && !tag.contains("_throughput")
                && tag != "theoretical_prefix_cache_hit"
        };
        let warmup = |document: &Value| document["warmup_metrics"].as_object().unwrap().clone();
        assert!(
            check_metrics(run, &warmup(&document), &warmup(&json), placed) > 250,
            "{run}"
        );

        check_rows(run, &lines(&oracle.join("profile_export.jsonl.gz")), &rows);
        check_csv(
            run,
            &std::fs::read_to_string(oracle.join("profile_export_aiperf.csv")).unwrap(),
            &csv,
        );
        for key in [
            "benchmark_id",
            "was_cancelled",
            "error_summary",
            "schema_version",
            "aiperf_version",
        ] {
            assert_eq!(document[key], json[key], "{run} {key}");
        }
        assert_eq!(document["metadata"]["scenario"], json["metadata"]["scenario"]);
        assert_eq!(
            format!("{}+00:00", document["start_time"].as_str().unwrap()),
            json["start_time"].as_str().unwrap()
        );
    }
}

fn check_rows(run: &str, theirs: &[Value], ours: &[Value]) {
    assert_eq!(theirs.len(), ours.len(), "{run}");
    // Those name processes of aiperf, and requests of the recording.
    let unlike = [
        "worker_id",
        "record_processor_id",
        "source_outer_idx",
        "source_inner_idx",
    ];
    for (their, our) in theirs.iter().zip(ours) {
        for (key, value) in their["metadata"].as_object().unwrap() {
            assert!(
                unlike.contains(&key.as_str()) || *value == our["metadata"][key],
                "{run} {key}: {their} {our}"
            );
        }
        for (tag, their) in their["metrics"].as_object().unwrap() {
            if ABSENT.contains(&tag.as_str()) {
                continue;
            }
            let our = &our["metrics"][tag];
            assert_eq!(their["unit"], our["unit"], "{run} {tag}");
            let list = |value: &Value| value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
            let (a, b) = (list(&their["value"]), list(&our["value"]));
            assert_eq!(a.len(), b.len(), "{run} {tag}");
            for (a, b) in a.iter().zip(&b) {
                assert_eq!(a.is_u64(), b.is_u64(), "{run} {tag}: {a} {b}");
                let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
                assert!((a - b).abs() <= CLOSE * a.abs(), "{run} {tag}: {a} {b}");
            }
        }
    }
}

/// The same rows in the same order, each number within one hundredth.
fn check_csv(run: &str, theirs: &str, ours: &str) {
    let absent = ["HTTP Waiting", "HTTP Receiving", "HTTP Chunks"];
    let kept = |text: &str| -> Vec<String> {
        let wanted = |line: &&str| !absent.iter().any(|name| line.starts_with(name));
        text.lines().filter(wanted).map(str::to_owned).collect()
    };
    let (theirs, ours) = (kept(theirs), kept(ours));
    let names = |lines: &[String]| -> Vec<String> {
        lines
            .iter()
            .map(|line| line.split(',').next().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&theirs), names(&ours), "{run}");
    for (their, our) in theirs.iter().zip(&ours) {
        if their.contains("Decode Throughput") || their.starts_with("Tokens In Flight") {
            continue;
        }
        let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(cells(their).len(), cells(our).len(), "{their} | {our}");
        for (a, b) in cells(their).iter().zip(&cells(our)) {
            match (a.parse::<f64>(), b.parse::<f64>()) {
                (Ok(a), Ok(b)) => assert!((a - b).abs() < 0.011 + a.abs() * SWEEP_CLOSE, "{their} | {our}"),
                _ => assert_eq!(a, b, "{their} | {our}"),
            }
        }
    }
}
