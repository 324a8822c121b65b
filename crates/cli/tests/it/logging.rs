//! `TURNMILL_LOG`: what it shows, and what it never does.

use crate::support::{Bench, command, err, text};
use sim::{Config, Server};

/// A key and a header's value that no other text holds.
const KEY: &str = "sk-4f1d8e7ab0c2";
const HEADER_VALUE: &str = "tenant-9c2e71";

/// Standard error of a short run with a key and a header, and the bodies that the server got.
fn run(level: Option<&str>) -> (String, Vec<Vec<u8>>) {
    let mut config = Config::paced(1_000_000);
    config.log.keep_bodies = true;
    let server = Server::start(config).unwrap();
    let bench = Bench::demo(&["concurrency: 2", "benchmark_duration_s: 2", "grace_period_s: 0"]);
    let (url, folder) = (server.url(), bench.out());
    let header = format!("X-Tenant: {HEADER_VALUE}");
    let more = ["--url", &url, "--out", text(&folder), "--header", &header];
    let mut command = command(&bench.arguments("run", &more));
    command.env("TURNMILL_API_KEY", KEY);
    if let Some(level) = level {
        command.env("TURNMILL_LOG", level);
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let bodies = server.log().into_iter().filter(|seen| seen.method == "POST");
    let bodies = bodies.map(|seen| seen.body.unwrap().to_vec()).collect();
    (err(&output), bodies)
}

#[test]
fn events_say_what_happens_and_hold_no_secret() {
    for level in ["debug", "trace"] {
        let (said, bodies) = run(Some(level));
        for event in [
            "connection opened",
            "request begins",
            "request ended",
            "PhaseStart",
        ] {
            assert!(said.contains(event), "{level}: no `{event}` in {said}");
        }
        for secret in [KEY, HEADER_VALUE, "Bearer", "uthorization"] {
            assert!(!said.contains(secret), "{level}: `{secret}` in {said}");
        }
        assert!(!bodies.is_empty());
        for body in &bodies {
            let body = std::str::from_utf8(body).unwrap();
            // A body is prompt text for the most part, in its middle surely.
            let middle = body.chars().skip(body.chars().count() / 2);
            let prompt: String = middle.take(30).collect();
            assert!(
                !said.contains(&prompt),
                "{level}: prompt text `{prompt}` in {said}"
            );
        }
    }
}

#[test]
fn without_the_variable_no_step_is_logged() {
    for level in [None, Some(""), Some("off")] {
        let (said, _) = run(level);
        assert!(
            !said.contains("DEBUG") && !said.contains("request ended"),
            "{level:?}: {said}"
        );
    }
}

#[test]
fn a_warning_is_seen_unless_it_is_turned_off() {
    let folder = testkit::tempdir().unwrap();
    for (level, seen) in [
        (None, true),
        (Some("warn"), true),
        (Some("off"), false),
        (Some("error"), false),
    ] {
        let mut command = command(&["corpus", "fetch", "semianalysis_cc_traces_weka_062126_256k"]);
        // A folder is no file that a token could stand in; nobody listens on the port.
        command
            .env_remove("HF_TOKEN")
            .env("HF_HOME", folder.path())
            .env("HF_TOKEN_PATH", folder.path());
        command.env("HF_ENDPOINT", "http://127.0.0.1:9");
        if let Some(level) = level {
            command.env("TURNMILL_LOG", level);
        }
        let said = err(&command.output().unwrap());
        assert_eq!(
            said.contains("the hub token cannot be read"),
            seen,
            "{level:?}: {said}"
        );
    }
}

#[test]
fn what_is_no_level_is_refused() {
    let output = command(&["schema"])
        .env("TURNMILL_LOG", "verbose")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        err(&output).contains("one of off, error, warn"),
        "{}",
        err(&output)
    );
}
