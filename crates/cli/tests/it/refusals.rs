//! What is wrong is said in one message with the right exit code, before anything is sent.

use crate::support::{Bench, err, out, sha256, text, turnmill};
use sim::{Config, Server};
use std::process::Output;

const LANES: &[&str] = &["concurrency: 2", "benchmark_duration_s: 5", "grace_period_s: 1"];

/// Exit code `code`, all of `words` on standard error, nothing on standard output, no backtrace.
fn refused(output: &Output, code: i32, words: &[&str]) {
    let message = err(output);
    assert_eq!(output.status.code(), Some(code), "{message}");
    for word in words {
        assert!(message.contains(word), "no {word:?} in: {message}");
    }
    assert_eq!(out(output), "");
    assert!(
        !message.contains("panicked") && !message.contains("backtrace"),
        "{message}"
    );
    assert_eq!(message.matches("error:").count(), 1, "one message: {message}");
}

fn plan(bench: &Bench) -> Output {
    turnmill(&bench.arguments("plan", &["--max-model-len", "131072"]))
}

/// The demo corpus with its second row changed.
fn damaged(change: impl Fn(&str) -> String) -> Bench {
    let corpus = String::from_utf8(corpus::synth::demo()).unwrap();
    let rows: Vec<String> = corpus
        .lines()
        .enumerate()
        .map(|(index, row)| if index == 1 { change(row) } else { row.to_string() })
        .collect();
    Bench::new((rows.join("\n") + "\n").as_bytes(), LANES)
}

#[test]
fn a_key_of_the_fork_under_the_stock_dialect_names_both() {
    let bench = Bench::demo(&["concurrency: 2", "trace_idle_gap_cap_s: 300"]);
    let stock = ["--max-model-len", "131072", "--dialect", "aiperf-0.12.0"];
    refused(
        &turnmill(&bench.arguments("plan", &stock)),
        2,
        &[
            "--dialect aiperf-0.12.0",
            "workload.replay.trace_idle_gap_cap_s",
            "agentx-1.0",
        ],
    );
}

#[test]
fn a_wrong_digest_shows_both() {
    let bench = Bench::demo(LANES);
    let stated = "0".repeat(64);
    std::fs::write(&bench.scenario, Bench::document(&stated, LANES)).unwrap();
    refused(
        &plan(&bench),
        2,
        &[&stated, &sha256(&corpus::synth::demo()), text(&bench.corpus)],
    );
}

#[test]
fn bad_rows_are_named_by_line_and_field() {
    refused(
        &plan(&damaged(|row| row[..row.len() / 2].to_string())),
        2,
        &["corpus.jsonl:2:"],
    );
    refused(
        &plan(&damaged(|_| "no json".to_string())),
        2,
        &["corpus.jsonl:2:"],
    );
    refused(
        &plan(&damaged(|row| row.replace("demo-01", "demo-00"))),
        2,
        &["corpus.jsonl:2:", "demo-00", "line 1"],
    );
    refused(
        &plan(&damaged(|row| row.replacen("\"id\"", "\"colour\":1,\"id\"", 1))),
        2,
        &["corpus.jsonl:2:", "colour"],
    );
}

#[test]
fn a_corpus_that_is_not_there_is_refused() {
    let bench = Bench::demo(LANES);
    std::fs::remove_file(&bench.corpus).unwrap();
    refused(&plan(&bench), 2, &[text(&bench.corpus)]);
}

#[test]
fn a_short_window_needs_the_override() {
    let bench = Bench::demo(LANES);
    let output = turnmill(&["plan", text(&bench.scenario), "--corpus", text(&bench.corpus)]);
    refused(
        &output,
        1,
        &[
            "benchmark_duration_s",
            "900",
            "--override-locks",
            "scenario.yaml:14",
        ],
    );
}

#[test]
fn all_problems_of_a_document_come_at_once() {
    let bench = Bench::demo(&["concurency: 2", "streeming: true", "random_seed: high"]);
    let output = turnmill(&["plan", text(&bench.scenario)]);
    let message = err(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    for word in [
        "concurency",
        "concurrency",
        "streeming",
        "random_seed",
        "scenario.yaml:13",
    ] {
        assert!(message.contains(word), "no {word:?} in: {message}");
    }
}

#[test]
fn a_context_limit_that_nobody_states_is_refused() {
    let bench = Bench::demo(&["concurrency: 2", "max_context_length: max_model_len"]);
    let output = turnmill(&bench.arguments("plan", &[]));
    refused(
        &output,
        2,
        &["workload.replay.max_context_length", "--max-model-len"],
    );
    let output = turnmill(&bench.arguments("plan", &["--max-model-len", "100"]));
    refused(&output, 2, &["none of 24 traces is left", "28815"]);
}

#[test]
fn a_server_that_is_down_is_refused() {
    let bench = Bench::demo(LANES);
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let url = format!("http://127.0.0.1:{port}");
    let folder = bench.out();
    let output = turnmill(&bench.arguments("run", &["--url", &url, "--out", text(&folder)]));
    let message = err(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains(&url), "{message}");
    assert!(!folder.exists(), "a refused run leaves nothing");
}

#[test]
fn a_model_that_is_not_served_is_refused() {
    let server = Server::start(Config::instant()).unwrap();
    let bench = Bench::demo(LANES);
    let output = turnmill(&bench.arguments(
        "run",
        &[
            "--url",
            &server.url(),
            "--model",
            "other",
            "--out",
            text(&bench.out()),
        ],
    ));
    let message = err(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains("`other` is not served; served: sim"),
        "{message}"
    );
    assert!(
        server.log().iter().all(|seen| seen.method == "GET"),
        "nothing was sent"
    );
}

#[test]
fn a_used_folder_is_refused() {
    let server = Server::start(Config::instant()).unwrap();
    let bench = Bench::demo(LANES);
    std::fs::create_dir_all(bench.out()).unwrap();
    std::fs::write(bench.out().join("requests.jsonl"), "").unwrap();
    let output = turnmill(&bench.arguments("run", &["--url", &server.url(), "--out", text(&bench.out())]));
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("is not empty"), "{}", err(&output));
}

#[test]
fn wrong_usage_ends_with_2_and_help_with_0() {
    assert_eq!(turnmill(&["run"]).status.code(), Some(2));
    assert_eq!(turnmill(&["no-such-command"]).status.code(), Some(2));
    let help = turnmill(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(out(&help).contains("Examples:"));
    let script = turnmill(&["completions", "bash"]);
    assert!(out(&script).contains("_turnmill"));
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_its_cause_said_once() {
    let folder = testkit::tempdir().unwrap();
    let absent = folder.path().join("absent.csv");
    for path in [text(&absent), text(folder.path())] {
        let output = turnmill(&["corpus", "inspect", path]);
        assert_eq!(output.status.code(), Some(2));
        let said = err(&output);
        assert!(said.contains(path), "{said}");
        assert_eq!(said.matches("(os error").count(), 1, "{said}");
    }
}
