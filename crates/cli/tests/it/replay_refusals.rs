//! Trace files that are not replayed, and options that contradict: refused before anything is sent.

use crate::replays::{MINI, bound, fixture, server};
use crate::support::{err, json, out, text, turnmill};
use std::path::Path;

fn refused(document: &Path, more: &[&str], code: i32, words: &[&str]) {
    let server = server();
    let folder = testkit::tempdir().unwrap();
    let (url, target) = (server.url(), folder.path().join("out"));
    let mut arguments = vec!["run", text(document), "--url", &url, "--out", text(&target)];
    arguments.extend_from_slice(more);
    let output = turnmill(&arguments);
    let said = err(&output);
    assert_eq!(output.status.code(), Some(code), "{more:?}: {said}");
    assert_eq!(out(&output), "");
    for word in words {
        assert!(said.contains(word), "{more:?}: {word:?} is not in {said}");
    }
    let generated = server.log().iter().filter(|seen| seen.method == "POST").count();
    assert_eq!(generated, 0, "nothing was sent");
}

#[test]
fn what_is_wrong_with_a_file_is_said_before_anything_is_sent() {
    refused(
        &fixture("trace/invalid/digest.binding.yaml"),
        &[],
        2,
        &["workload.trace.sha256"],
    );
    refused(
        &fixture("trace/invalid/row-count.binding.yaml"),
        &[],
        2,
        &["workload.trace.rows"],
    );
    refused(
        &fixture("trace/invalid/not-a-number.binding.yaml"),
        &[],
        2,
        &["row 2: arrival_time_us"],
    );
    refused(
        &fixture("trace/invalid/blocks-digest.binding.yaml"),
        &[],
        2,
        &["workload.trace.token_blocks.sha256"],
    );
    refused(
        &fixture("trace/invalid/blocks-short-list.binding.yaml"),
        &[],
        2,
        &["request 0"],
    );
}

#[test]
fn options_that_contradict_are_refused_together() {
    let mini = fixture(MINI);
    refused(&mini, &["--mode", "closed"], 2, &["--concurrency N"]);
    refused(
        &mini,
        &[
            "--concurrency",
            "3",
            "--dialect",
            "agentx-1.0",
            "--context",
            "accumulate",
            "--think-time",
            "1",
        ],
        2,
        &[
            "--dialect is for session trees",
            "--concurrency has no effect",
            "--context has no effect",
            "--think-time has no effect",
        ],
    );
    refused(&mini, &["--trace-block-size", "16"], 2, &["for Mooncake files"]);
}

#[test]
fn options_of_the_other_kind_are_refused() {
    let bench = crate::support::Bench::demo(&["concurrency: 2"]);
    let server = server();
    let (url, folder) = (server.url(), bench.out());
    let arguments = bench.arguments(
        "run",
        &[
            "--url",
            &url,
            "--out",
            text(&folder),
            "--mode",
            "open",
            "--speedup",
            "2",
        ],
    );
    let output = turnmill(&arguments);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("--mode, --speedup"), "{}", err(&output));
    for command in ["plan", "simulate"] {
        let output = turnmill(&[command, text(&fixture(MINI))]);
        assert_eq!(output.status.code(), Some(2));
        assert!(err(&output).contains("no lanes"), "{}", err(&output));
    }
}

#[test]
fn instants_that_cannot_be_meant_are_refused() {
    let mini = fixture(MINI);
    refused(
        &mini,
        &["--speedup", "1e-300"],
        2,
        &["days after the first", "--speedup"],
    );
    let twice = "http://127.0.0.1:9/metrics";
    refused(
        &mini,
        &["--server-metrics", twice, "--server-metrics", twice],
        2,
        &["named twice"],
    );
    // Nothing of it was ever sent, so that no send is recorded.
    let folder = testkit::tempdir().unwrap();
    let (url, csv) = ("mooncake/mooncake-basic.jsonl", folder.path().join("made/m.csv"));
    let made = json(&[
        "convert",
        text(&fixture(url)),
        "--to",
        "csv",
        "--out",
        text(&csv),
        "--format",
        "json",
    ]);
    let written = made["written"].as_array().unwrap();
    assert!(
        written
            .iter()
            .all(|file| Path::new(file.as_str().unwrap()).exists())
            && written.len() == 4
    );
    let data = std::fs::read_to_string(fixture("trace/valid/agentic-mini.csv")).unwrap();
    let unsent = data.replace(",1767225600000150,1767225600120150,1767225600400150,", ",0,0,0,");
    assert_ne!(unsent, data);
    let document = bound(folder.path(), &unsent);
    refused(&document, &["--from-send"], 2, &["1 rows have no send_time_us"]);
}

#[test]
fn a_prompt_that_no_server_takes_is_refused() {
    let folder = testkit::tempdir().unwrap();
    let data = std::fs::read_to_string(fixture("trace/valid/agentic-mini.csv")).unwrap();
    let huge = data.replace(",true,200,4,200,", ",true,4000000000,4,200,");
    assert_ne!(huge, data);
    let document = bound(folder.path(), &huge);
    refused(
        &document,
        &[],
        2,
        &["request 2 has a prompt of 4000000000 tokens, and 0 more"],
    );
}
