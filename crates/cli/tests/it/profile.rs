//! aiperf's command line, typed whole: what is refused, what is noted, and what a run sends.

use crate::support::{command, err, out, text};
use serde_json::Value;
use sim::faults::{Fault, FaultKind};
use sim::{Config, Server};
use std::path::Path;
use std::process::Output;

const SCENARIO: &[&str] = &["--scenario", "inferencex-agentx-mvp"];
const PUBLIC: &[&str] = &["--public-dataset", "semianalysis_cc_traces_weka_062126_256k"];

/// `turnmill profile` with the scenario named and `more`, on a machine without aiperf's variables.
fn profile(more: &[&[&str]]) -> Output {
    let mut words = vec!["profile"];
    words.extend_from_slice(SCENARIO);
    words.extend(more.concat());
    command(&words)
        .env_remove("AIPERF_DATASET_WEKA_TOOL_SHAPED_MESSAGES")
        .env_remove("AIPERF_DATASET_WEKA_SPLIT_FLATTENED_AGENTS")
        .output()
        .unwrap()
}

/// Exit code 2, all of `words` on standard error, nothing on standard output, no folder made.
fn refused(more: &[&[&str]], words: &[&str]) {
    let folder = testkit::tempdir().unwrap();
    let artifacts = folder.path().join("artifacts");
    let there = ["--artifact-dir", text(&artifacts)];
    let output = profile(&[&[&there[..]], more].concat());
    let message = err(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    for word in words {
        assert!(message.contains(word), "no {word:?} in: {message}");
    }
    assert_eq!(out(&output), "");
    assert_eq!(
        message.lines().filter(|line| line.starts_with("error:")).count(),
        1,
        "one message: {message}"
    );
    assert!(!artifacts.exists(), "nothing is left behind");
}

#[test]
fn every_broken_lock_is_named_in_one_message() {
    refused(
        &[
            PUBLIC,
            &[
                "--benchmark-duration",
                "60",
                "--cache-bust",
                "none",
                "--streaming=false",
            ],
        ],
        &[
            "--benchmark-duration: must be at least 900 s, found 60",
            "--cache-bust",
            "--streaming",
            "--unsafe-override",
        ],
    );
}

#[test]
fn flags_that_cannot_be_had_are_refused_with_the_reason() {
    refused(
        &[PUBLIC, &["--synthetic-input-tokens-mean", "100"]],
        &["--prompt-input-tokens-mean", "recorded traces"],
    );
    refused(
        &[PUBLIC, &["--request-cancellation-rate", "10"]],
        &["--request-cancellation-rate", "grace period"],
    );
    refused(
        &[PUBLIC, &["--endpoint-type", "completions"]],
        &["--endpoint-type", "completions"],
    );
    refused(&[PUBLIC, &["--concurrency", "4,8"]], &["--concurrency", "sweep"]);
    refused(
        &[PUBLIC, &["--concurrency", "4,8", "--unsafe-override"]],
        &["--concurrency", "list"],
    );
    refused(
        &[PUBLIC, &["--num-conversations", "5"]],
        &["--conversation-num", "--request-count"],
    );
    refused(&[&["--unsafe-override"]], &["--input-file (loader)", "no corpus"]);
    refused(
        &[PUBLIC, &["--benchmark-grace-period", "10"]],
        &["--benchmark-grace-period", "needs --benchmark-duration"],
    );
    refused(
        &[PUBLIC, &["--trajectory-start-min-ratio", "0.9"]],
        &["--trajectory-start-min-ratio", "0.75"],
    );
    refused(&[PUBLIC, &["--random-seed", "-1"]], &["--random-seed", "-1"]);
}

#[test]
fn unknown_flags_and_scenarios_are_wrong_usage() {
    refused(&[PUBLIC, &["--no-such-flag", "1"]], &["--no-such-flag"]);
    let output = command(&["profile", "--scenario", "agentx"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("inferencex-agentx-mvp"), "{}", err(&output));
    let output = command(&["profile"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("turnmill run"), "{}", err(&output));
}

#[test]
fn a_named_dialect_against_a_flag_of_the_other_names_both() {
    refused(
        &[
            PUBLIC,
            &["--dialect", "aiperf-0.12.0", "--warmup-requests-per-lane", "10"],
        ],
        &["--warmup-requests-per-lane", "aiperf-0.12.0", "agentx-1.0"],
    );
}

#[test]
fn a_server_that_is_down_refuses_the_run() {
    refused(
        &[
            PUBLIC,
            &[
                "--url",
                "http://127.0.0.1:9",
                "--benchmark-duration",
                "900",
                "--random-seed",
                "1",
            ],
        ],
        &["127.0.0.1:9"],
    );
}

#[test]
fn a_run_that_cannot_be_prepared_leaves_nothing() {
    let server = Server::start(config()).unwrap();
    let folder = testkit::tempdir().unwrap();
    let artifacts = folder.path().join("artifacts");
    let (output, bodies) = trial(&server, &artifacts, &["--max-context-length", "1"]);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    assert!(err(&output).contains("error:"), "{}", err(&output));
    assert!(bodies.is_empty() && !artifacts.join("turnmill").exists());
}

#[test]
fn help_has_groups_and_examples() {
    let output = command(&["profile", "--help"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let help = out(&output);
    for words in [
        "Endpoint:",
        "Scenario and corpus:",
        "Load:",
        "Warm-up:",
        "Output:",
        "Turnmill's own:",
        "Examples:",
    ] {
        assert!(help.contains(words), "no {words:?} in {help}");
    }
}

/// The demo corpus as a folder with a trace a file, the names in the order of the rows.
fn folder_of_traces(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    let corpus = String::from_utf8(corpus::synth::demo()).unwrap();
    for (number, row) in corpus.lines().enumerate() {
        let trace: Value = serde_json::from_str(row).unwrap();
        let pretty = serde_json::to_string_pretty(&trace).unwrap();
        std::fs::write(folder.join(format!("{number:04}.json")), pretty).unwrap();
    }
}

fn config() -> Config {
    let mut config = Config::paced(1_000_000);
    config.log.keep_bodies = true;
    config
}

/// A short trial on a folder of traces, the server's bodies of it, and what was said.
fn trial(server: &Server, artifacts: &Path, more: &[&str]) -> (Output, Vec<Value>) {
    let traces = artifacts.parent().unwrap().join("traces");
    folder_of_traces(&traces);
    let url = server.url();
    let output = profile(&[
        &[
            "--url",
            &url,
            "--input-file",
            text(&traces),
            "--custom-dataset-type",
            "weka_trace",
        ],
        &[
            "--artifact-dir",
            text(artifacts),
            "--tokenizer",
            "builtin",
            "--unsafe-override",
        ],
        &[
            "--concurrency",
            "4",
            "--benchmark-duration",
            "3",
            "--benchmark-grace-period",
            "2",
            "--random-seed",
            "42",
        ],
        more,
    ]);
    let bodies = server
        .log()
        .into_iter()
        .filter_map(|seen| serde_json::from_slice(&seen.body?).ok())
        .collect();
    (output, bodies)
}

#[test]
fn a_trial_sends_aiperfs_body_and_is_stamped() {
    let server = Server::start(config()).unwrap();
    let folder = testkit::tempdir().unwrap();
    let artifacts = folder.path().join("artifacts");
    let flags = [
        "--extra-inputs",
        "ignore_eos:true,temperature:0.5",
        "--use-legacy-max-tokens",
        "--warmup-request-count",
        "0",
        "--ui",
        "none",
        "--burst-phase-starts",
        "--request-count",
        "12",
        "--goodput",
        "time_to_first_token:1000000",
        "--profile-export-prefix",
        "mine",
    ];
    let (output, bodies) = trial(&server, &artifacts, &flags);
    let said = err(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    for words in [
        "warning: --custom-dataset-type / --input-file",
        "warning: --benchmark-duration",
        "note: --warmup-request-count has no effect",
        "sent all the same",
        "note: --ui-type has no effect",
        "note: --use-server-token-count is not given",
    ] {
        assert!(said.contains(words), "no {words:?} in: {said}");
    }
    assert!(bodies.len() >= 12, "{}", bodies.len());
    for body in &bodies {
        let keys: Vec<&String> = body.as_object().unwrap().keys().collect();
        assert!(!keys.contains(&&"stream_options".to_owned()), "{keys:?}");
        assert_eq!(body["ignore_eos"], true);
        assert_eq!(body["temperature"], 0.5);
        assert!(body["max_tokens"].is_u64() && body["max_completion_tokens"].is_null());
    }
    let run = artifacts.join("turnmill");
    let summary: Value = serde_json::from_slice(&std::fs::read(run.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary["validity"]["submission_valid"], false, "{summary}");
    let scenario = run.join("inputs/scenario.yaml");
    assert!(
        std::fs::read_to_string(scenario)
            .unwrap()
            .contains("concurrency: 4")
    );
    assert_eq!(summary["profiling"]["counts"]["started"], 12);
    let exported: Value =
        serde_json::from_slice(&std::fs::read(artifacts.join("mine.json")).unwrap()).unwrap();
    let ok = &summary["profiling"]["counts"]["ok"];
    assert_eq!(exported["good_request_count"]["avg"].as_f64(), ok.as_f64());
    assert!(artifacts.join("mine.jsonl").exists() && artifacts.join("mine.csv").exists());
    let export = std::fs::read(artifacts.join("mine_server_metrics.json")).unwrap();
    let export: Value = serde_json::from_slice(&export).unwrap();
    assert_eq!(export["schema_version"], "1.1");
    let output = &export["metrics"]["vllm:generation_tokens"]["series"][0]["stats"]["total"];
    assert_eq!(output, &summary["server_metrics"]["generation_tokens"]);
}

#[test]
fn token_counts_are_asked_for_with_the_flag_and_validity_can_be_required() {
    let server = Server::start(config()).unwrap();
    let folder = testkit::tempdir().unwrap();
    let artifacts = folder.path().join("artifacts");
    let flags = [
        "--use-server-token-count",
        "--require-valid",
        "--request-count",
        "4",
        "--burst-phase-starts",
    ];
    let (output, bodies) = trial(&server, &artifacts, &flags);
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert!(!bodies.is_empty());
    for body in &bodies {
        assert_eq!(body["stream_options"]["include_usage"], true);
        assert_eq!(body["ignore_eos"], true);
        assert!(body["max_completion_tokens"].is_u64());
    }
    // A second run into the same artifact folder leaves the first alone.
    let (output, _) = trial(
        &server,
        &artifacts,
        &["--request-count", "4", "--burst-phase-starts"],
    );
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let runs = std::fs::read_dir(&artifacts)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().join("run.json").exists())
        .count();
    assert_eq!(runs, 2);
}

#[test]
fn a_share_of_failed_requests_above_the_threshold_ends_the_run_with_the_first_failure() {
    let refuse = FaultKind::Refuse {
        status: 500,
        message: "boom".into(),
        retry_after_s: None,
    };
    for (threshold, code) in [("0.10", 3), ("1", 0)] {
        let server = Server::start(Config {
            faults: vec![Fault {
                kind: refuse.clone(),
                among: 10..=u64::MAX,
                every: 2,
            }],
            ..config()
        })
        .unwrap();
        let folder = testkit::tempdir().unwrap();
        let artifacts = folder.path().join("artifacts");
        let flags = [
            "--failed-request-threshold",
            threshold,
            "--request-count",
            "16",
            "--burst-phase-starts",
        ];
        let (output, _) = trial(&server, &artifacts, &flags);
        let said = err(&output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        let told = said.contains("more than the failed-request threshold allows; the first failure: ");
        assert_eq!(told, code == 3, "{said}");
    }
}
