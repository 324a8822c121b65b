//! The files of other tools: `run` and `report` write the same ones.

use crate::support::{Bench, err, text, turnmill};
use serde_json::Value;
use sim::{Config, Server};
use std::path::Path;

const FILES: [&str; 3] = [
    "profile_export.jsonl",
    "profile_export_aiperf.json",
    "profile_export_aiperf.csv",
];

fn json(file: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

#[test]
fn run_and_report_write_the_same() {
    let server = Server::start(Config::paced(1_000_000)).unwrap();
    let bench = Bench::demo(&["concurrency: 4", "benchmark_duration_s: 2", "grace_period_s: 2"]);
    let (url, folder) = (server.url(), bench.out());
    let [first, again] = ["first", "again"].map(|name| bench.folder.path().join(name));
    let vllm = bench.folder.path().join("vllm.json");
    let to_first = ["--aiperf-artifacts", text(&first), "--vllm-result", text(&vllm)];
    let mut arguments = bench.arguments("run", &["--url", &url, "--out", text(&folder)]);
    arguments.extend(to_first);
    let output = turnmill(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));

    let summary = json(&folder.join("summary.json"));
    let ok = summary["profiling"]["counts"]["ok"].as_u64().unwrap();
    let document = json(&first.join(FILES[1]));
    assert_eq!(document["request_count"]["avg"], ok as f64);
    assert_eq!(document["benchmark_id"], summary["run"]["benchmark_id"]);
    assert_eq!(document["metadata"]["submission_valid"], false);
    assert_eq!(json(&vllm)["completed"], ok);

    let output = turnmill(&["report", text(&folder), "--aiperf-artifacts", text(&again)]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    for name in FILES {
        let read = |folder: &Path| std::fs::read_to_string(folder.join(name)).unwrap();
        // The folder is named in `input_config`.
        assert_eq!(
            read(&first).replace(text(&first), text(&again)),
            read(&again),
            "{name}"
        );
    }
}

/// The run is complete when its exports cannot be written, and the exit code tells.
#[test]
fn a_place_that_cannot_be_written() {
    let server = Server::start(Config::paced(1_000_000)).unwrap();
    let bench = Bench::demo(&["concurrency: 2", "benchmark_duration_s: 1", "grace_period_s: 1"]);
    let (url, folder) = (server.url(), bench.out());
    let nowhere = bench.corpus.join("inside-a-file");
    let mut arguments = bench.arguments("run", &["--url", &url, "--out", text(&folder)]);
    arguments.extend(["--aiperf-artifacts", text(&nowhere)]);
    let output = turnmill(&arguments);
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    assert!(err(&output).contains("cannot write"), "{}", err(&output));
    assert!(folder.join("summary.json").exists());
}
