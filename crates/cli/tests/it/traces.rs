//! Traces from the outside: what a run leaves behind can be verified and resolved, forms are converted, contents are told.

use crate::support::{Bench, err, json, out, sha256, text, turnmill};
use record::folder::RunReader;
use record::request::{Phase, RequestRecord};
use sim::{Config, Server};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The fixtures of crate `trace`.
fn fixture(relative: &str) -> PathBuf {
    testkit::checkout().join("crates/trace/tests/data").join(relative)
}

fn counts(contents: &serde_json::Value) -> HashMap<String, u64> {
    serde_json::from_value(contents["counts"].clone()).unwrap()
}

fn records(folder: &Path) -> Vec<RequestRecord> {
    RunReader::open(folder)
        .unwrap()
        .map(|entry| entry.unwrap().record)
        .collect()
}

#[test]
fn a_run_is_a_trace() {
    let mut config = Config::paced(1_000_000);
    config.template = sim::tokens::Template::bare(1);
    config.engine.block_size = 64;
    let server = Server::start(config).unwrap();
    let bench = Bench::demo(&["concurrency: 6", "benchmark_duration_s: 5", "grace_period_s: 5"]);
    let (url, folder) = (server.url(), bench.out());
    let output = turnmill(&bench.arguments("run", &["--url", &url, "--out", text(&folder), "--chunk-times"]));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(
        !err(&output).contains("trace was not written"),
        "{}",
        err(&output)
    );

    // The binding resolves, and the trace is right by its own rules: digests, rows, sidecar.
    let binding = folder.join("trace.binding.yaml");
    let resolved = json(&["resolve", text(&binding), "--format", "json"]);
    assert!(resolved.to_string().contains("trace.csv"), "{resolved}");
    let found = json(&["corpus", "survey", text(&binding), "--format", "json"]);
    assert_eq!(found["ok"], true, "{found}");
    let counts = counts(&found);

    let records = records(&folder);
    let profiling: Vec<_> = records
        .iter()
        .filter(|record| record.phase == Phase::Profiling)
        .collect();
    let warm_up = records.len() - profiling.len();
    assert!(warm_up > 0 && profiling.len() > 20);
    assert_eq!(counts["rows"], profiling.len() as u64);
    assert_eq!(counts["status ok"], profiling.len() as u64);
    let planned: u64 = profiling.iter().map(|record| record.isl_planned).sum();
    assert_eq!(counts["prompt tokens"], planned);
    assert!(
        counts["leading blocks seen before"] * 2 > counts["whole blocks"],
        "turns share: {counts:?}"
    );

    // Warm-up is left out, counted, and kept apart.
    let header = std::fs::read_to_string(folder.join("trace.header.yaml")).unwrap();
    assert!(
        header.contains(&format!("warm_up_requests: {warm_up}\n")),
        "{header}"
    );
    assert!(
        header.contains("mode: \"real\"\n") && header.contains("trace_version: 3\n"),
        "{header}"
    );
    // What is known of server and load, and nothing that is not.
    let summary = json(&["report", text(&folder), "--format", "json"]);
    let cache = &summary["server_metrics"]["cache"];
    let count = |key: &str| cache[key].as_f64().unwrap() as u64;
    let scenario = sha256(&std::fs::read(&bench.scenario).unwrap());
    for line in [
        format!("workload_seed: {}", summary["run"]["seed"]),
        format!("workload_spec: \"{} sha256:{scenario}\"", text(&bench.scenario)),
        "  type: \"vllm\"".to_owned(),
        format!("  model: {}", summary["run"]["server"]["model"]),
        "  block_size: 64".to_owned(),
        format!("  max_model_len: {}", summary["run"]["server"]["max_model_len"]),
        "network: {}".to_owned(),
        format!("  source: {}", cache["source"]),
        format!("  hit_rate: {}", cache["share"]),
        format!("  block_hits: {}", count("hit_tokens")),
        format!("  block_queries: {}", count("query_tokens")),
    ] {
        assert!(header.lines().any(|found| found == line), "{line} in {header}");
    }
    assert!(count("hit_tokens") > 0 && !header.contains("gpu_memory_utilization"));
    let rows = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(rows("trace.warmup.csv").lines().count(), warm_up + 1);

    // Latencies of the trace are those of the records.
    let data = rows("trace.csv");
    let mut lines = data.lines();
    let columns: HashMap<&str, usize> = lines
        .next()
        .unwrap()
        .split(',')
        .enumerate()
        .map(|(at, name)| (name, at))
        .collect();
    let chunks = rows("trace.itl.csv");
    let mut chunks = chunks.lines();
    assert_eq!(chunks.next(), Some("request_id,chunk_index,timestamp_us"));
    for (line, record) in lines.zip(&profiling) {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |name: &str| cells[columns[name]].parse::<u64>().unwrap();
        assert_eq!(number("request_id"), warm_up as u64 + record.sequence);
        assert_eq!(cells[columns["x_request_id"]], record.request_id);
        let ttft_ns = record.stamps.first_content_ns.unwrap() - record.stamps.headers_written_ns.unwrap();
        let ttft_us = number("first_chunk_time_us") - number("send_time_us");
        assert!(
            (ttft_us * 1000).abs_diff(ttft_ns) <= 1000,
            "{ttft_us} µs, {ttft_ns} ns"
        );
        assert_eq!(number("num_chunks"), record.chunks.len() as u64);
        assert_eq!(number("output_tokens"), record.usage.completion_tokens.unwrap());
        // Chunk times begin and end when the row says, and have the records' gaps.
        let mut before = None;
        for (index, chunk) in record.chunks.iter().enumerate() {
            let cells = chunks.next().unwrap().split(',');
            let cells: Vec<u64> = cells.map(|cell| cell.parse().unwrap()).collect();
            assert_eq!(cells[..2], [number("request_id"), index as u64]);
            if index == 0 {
                assert_eq!(cells[2], number("first_chunk_time_us"));
            }
            if let Some((at_us, at_ns)) = before.replace((cells[2], chunk.at_ns)) {
                assert!(((cells[2] - at_us) * 1000).abs_diff(chunk.at_ns - at_ns) <= 1000);
            }
        }
        assert_eq!(before.unwrap().0, number("last_chunk_time_us"));
    }
    assert_eq!(chunks.next(), None, "the measurement alone");

    // And it can be told in other forms.
    let lines = folder.join("mooncake.jsonl");
    let made = json(&[
        "convert",
        text(&binding),
        "--to",
        "mooncake",
        "--out",
        text(&lines),
        "--format",
        "json",
    ]);
    assert_eq!(made["requests"], profiling.len());
    let found = json(&["corpus", "inspect", text(&lines), "--format", "json"]);
    assert_eq!(
        (&found["form"], &found["ok"]),
        (&"mooncake".into(), &true.into()),
        "{found}"
    );
}

#[test]
fn conversions_say_what_is_lost() {
    let bench = Bench::demo(&[]);
    let at = |name: &str| bench.folder.path().join(name);
    let (csv, lines, weka) = (at("demo.csv"), at("demo.jsonl"), at("back.jsonl"));
    let made = json(&[
        "convert",
        text(&bench.corpus),
        "--to",
        "csv",
        "--out",
        text(&csv),
        "--format",
        "json",
    ]);
    assert_eq!(made["written"].as_array().unwrap().len(), 4);
    assert!(made["losses"].to_string().contains("spawns and joins"), "{made}");
    let binding = at("demo.binding.yaml");
    json(&[
        "convert",
        text(&binding),
        "--to",
        "weka",
        "--out",
        text(&weka),
        "--format",
        "json",
    ]);
    json(&[
        "convert",
        text(&bench.corpus),
        "--to",
        "mooncake",
        "--out",
        text(&lines),
        "--format",
        "json",
    ]);
    let of = |file: &Path| counts(&json(&["corpus", "inspect", text(file), "--format", "json"]));
    let (before, after) = (of(&bench.corpus), of(&weka));
    for name in [
        "traces",
        "subagents",
        "requests",
        "prompt tokens",
        "blocks already seen in their trace",
    ] {
        assert_eq!(before[name], after[name], "{name}");
    }
    assert_eq!(of(&lines)["requests"], before["requests"]);
    assert_eq!(of(&binding)["prompt tokens"], before["prompt tokens"]);
}

#[test]
fn wrong_traces_are_told_and_end_with_1() {
    for (file, expected) in [
        ("trace/invalid/missing-column.csv", "header: input_tokens"),
        ("trace/invalid/digest.binding.yaml", "workload.trace.sha256"),
        (
            "trace/invalid/blocks-missing-row.binding.yaml",
            "workload.trace.token_blocks: request 5",
        ),
        ("mooncake/bad-negative-gap.jsonl", "line 2: timestamp"),
    ] {
        let file = fixture(file);
        let output = turnmill(&["corpus", "inspect", text(&file)]);
        assert_eq!(output.status.code(), Some(1), "{}", out(&output));
        assert!(err(&output).contains(expected), "{}", err(&output));
        let folder = testkit::tempdir().unwrap();
        let target = folder.path().join("out.jsonl");
        let output = turnmill(&["convert", text(&file), "--to", "weka", "--out", text(&target)]);
        assert_eq!(output.status.code(), Some(1), "{}", err(&output));
        assert!(err(&output).contains(expected), "{}", err(&output));
        assert!(!target.exists(), "nothing is written of a wrong trace");
    }
}

#[test]
fn units_and_the_first_instant_are_told() {
    let told = out(&turnmill(&[
        "corpus",
        "inspect",
        text(&fixture("trace/valid/v2-milliseconds.binding.yaml")),
    ]));
    for line in [
        "time unit",
        "first arrival, taken as 0 (s)",
        "span of arrivals (s)",
    ] {
        assert!(told.contains(line), "{told}");
    }
    let found = json(&[
        "corpus",
        "inspect",
        text(&fixture("trace/valid/v2-milliseconds.binding.yaml")),
        "--format",
        "json",
    ]);
    assert_eq!(found["facts"]["time unit"], "ms");
    assert_eq!(found["facts"]["span of arrivals (s)"], "0.25");
}
