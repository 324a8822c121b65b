//! Runs that end otherwise than planned leave files from which a report is made.

use crate::support::{Bench, command, err, out, text, turnmill};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use sim::faults::{Fault, FaultKind};
use sim::{Config, Server};
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::time::Duration;

/// Longest time that a test waits for something to happen.
const PATIENCE: Duration = Duration::from_secs(30);

struct Running {
    child: Child,
    bench: Bench,
    _server: Server,
}

impl Running {
    /// A run that has recorded a few requests of its window.
    fn new(faults: Vec<Fault>) -> Self {
        let server = Server::start(Config {
            faults,
            ..Config::paced(2_000_000)
        })
        .unwrap();
        let bench = Bench::demo(&["concurrency: 6", "benchmark_duration_s: 60", "grace_period_s: 20"]);
        let (url, folder) = (server.url(), bench.out());
        let child = command(&bench.arguments(
            "run",
            &["--url", &url, "--out", text(&folder), "--burst-phase-starts"],
        ))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
        wait_for(|| lines(&folder.join("requests.jsonl")) > 15);
        Self {
            child,
            bench,
            _server: server,
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn end(self) -> (Output, Bench) {
        (self.child.wait_with_output().unwrap(), self.bench)
    }
}

fn lines(file: &Path) -> usize {
    std::fs::read_to_string(file).map_or(0, |text| text.lines().count())
}

fn wait_for(condition: impl Fn() -> bool) {
    let mut left = PATIENCE;
    while !condition() {
        let step = Duration::from_millis(20);
        left = left
            .checked_sub(step)
            .expect("it happens within the test's patience");
        std::thread::sleep(step);
    }
}

fn reported(bench: &Bench) -> Value {
    let folder = bench.out();
    let output = turnmill(&["report", text(&folder), "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn counts_add_up(summary: &Value) {
    let count = |key: &str| summary["profiling"]["counts"][key].as_u64().unwrap();
    assert_eq!(
        count("started"),
        count("ok") + count("failed") + count("overflow") + count("cancelled"),
        "{summary:#}"
    );
    assert!(count("ok") > 0);
}

#[test]
fn one_interrupt_drains_and_writes() {
    let run = Running::new(Vec::new());
    run.signal(Signal::INT);
    let (output, bench) = run.end();
    assert_eq!(output.status.code(), Some(130), "{}", err(&output));
    assert!(err(&output).contains("stopping"), "{}", err(&output));
    assert!(out(&output).contains("TTFT"), "the report is printed");
    let summary = reported(&bench);
    counts_add_up(&summary);
    assert_eq!(summary["end"]["stop"], "interrupt");
    assert_eq!(
        summary["profiling"]["counts"]["cancelled"], 0,
        "what was in flight has finished"
    );
    assert_eq!(summary["validity"]["submission_valid"], false);
}

#[test]
fn two_interrupts_cancel() {
    let run = Running::new(vec![Fault::every(FaultKind::Silence, 10)]);
    run.signal(Signal::INT);
    std::thread::sleep(Duration::from_millis(300));
    run.signal(Signal::INT);
    let (output, bench) = run.end();
    assert_eq!(output.status.code(), Some(130), "{}", err(&output));
    let summary = reported(&bench);
    counts_add_up(&summary);
    assert!(summary["profiling"]["counts"]["cancelled"].as_u64().unwrap() > 0);
}

#[test]
fn a_killed_run_is_reported_up_to_then() {
    let run = Running::new(Vec::new());
    run.signal(Signal::KILL);
    let (output, bench) = run.end();
    assert_eq!(output.status.code(), None);
    let summary = reported(&bench);
    assert!(summary["profiling"]["counts"]["ok"].as_u64().unwrap() > 0);
    assert_eq!(summary["end"]["stop"], Value::Null, "it never said why it ended");
    let folder = bench.out();
    let shown = out(&turnmill(&["report", text(&folder)]));
    assert!(shown.contains("killed"), "{shown}");
}

#[test]
fn a_failing_primer_ends_the_run_with_its_text() {
    let faults = vec![Fault::always(FaultKind::Refuse {
        status: 500,
        message: "no graphics card".into(),
        retry_after_s: None,
    })];
    let server = Server::start(Config {
        faults,
        ..Config::instant()
    })
    .unwrap();
    let bench = Bench::demo(&["concurrency: 2", "benchmark_duration_s: 5", "grace_period_s: 1"]);
    let (url, folder) = (server.url(), bench.out());
    let output = turnmill(&bench.arguments("run", &["--url", &url, "--out", text(&folder)]));
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    assert!(err(&output).contains("no graphics card"), "{}", err(&output));
    let summary: Value =
        serde_json::from_slice(&std::fs::read(folder.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary["end"]["stop"], "abort");
}

#[test]
fn errors_in_the_window_are_counted_with_the_first_one_s_text() {
    let faults = vec![Fault::every(
        FaultKind::Refuse {
            status: 429,
            message: "slow down".into(),
            retry_after_s: None,
        },
        5,
    )];
    let server = Server::start(Config {
        faults,
        ..Config::paced(1_000_000)
    })
    .unwrap();
    let bench = Bench::demo(&["concurrency: 4", "benchmark_duration_s: 4", "grace_period_s: 2"]);
    let (url, folder) = (server.url(), bench.out());
    let arguments = bench.arguments(
        "run",
        &[
            "--url",
            &url,
            "--out",
            text(&folder),
            "--burst-phase-starts",
            "--on-primer-failure",
            "continue",
        ],
    );
    let output = turnmill(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains("refused 429"), "{}", out(&output));
    let summary = reported(&bench);
    counts_add_up(&summary);
    assert!(summary["profiling"]["counts"]["failed"].as_u64().unwrap() > 0);
}
