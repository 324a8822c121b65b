//! Runs that end otherwise than planned leave files from which a report is made.

use crate::support::{Bench, command, err, out, sha256, text, turnmill};
use record::folder::RunReader;
use record::request::{Phase, RequestRecord};
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

/// The trace that the binding in `folder` names, verified: its rows.
fn verified(folder: &Path) -> u64 {
    let binding = std::fs::read(folder.join("trace.binding.yaml")).unwrap();
    let (document, problems) = spec::read_bytes(&binding, None);
    assert!(problems.is_empty(), "{problems:?}");
    let Some(spec::Document::Scenario(spec::Scenario {
        workload: Some(spec::Workload::Trace(trace)),
        ..
    })) = document
    else {
        panic!("the binding names a trace");
    };
    let stated = trace::verify::Reference {
        data: folder.join(&trace.data),
        sha256: trace.sha256.clone(),
        rows: trace.rows,
        trace_version: trace.header.trace_version,
        time_unit: trace::TimeUnit::Microsecond,
        token_blocks: trace
            .token_blocks
            .map(|blocks| (folder.join(blocks.path), blocks.sha256)),
    };
    assert!(stated.sha256.is_some() && stated.token_blocks.is_none());
    let verified = trace::verify::verify(&stated).unwrap();
    assert!(verified.problems.is_ok(), "{:?}", verified.problems);
    assert_eq!(stated.rows, Some(verified.rows));
    verified.rows
}

#[test]
fn a_killed_run_still_has_its_trace() {
    let run = Running::new(Vec::new());
    let folder = run.bench.out();
    // Into the measurement, so that there are rows.
    let measured = || {
        let records = std::fs::read_to_string(folder.join("requests.jsonl")).unwrap();
        records
            .lines()
            .filter(|row| row.contains("\"profiling\""))
            .count()
    };
    wait_for(|| measured() > 10);
    run.signal(Signal::KILL);
    let (_, bench) = run.end();
    assert!(!folder.join("trace.csv").exists());

    let output = turnmill(&["report", text(&folder)]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let said = err(&output);
    assert!(
        said.contains("trace.csv made from the records") && said.contains("no block sidecar"),
        "{said}"
    );
    assert_eq!(verified(&folder), measured() as u64);
    let header = std::fs::read_to_string(folder.join("trace.header.yaml")).unwrap();
    let warmup = lines(&folder.join("trace.warmup.csv")) - 1;
    assert!(warmup > 0 && header.contains(&format!("warm_up_requests: {warmup}\n")));
    let scenario = std::fs::read(&bench.scenario).unwrap();
    let spec = format!("{} sha256:{}", text(&bench.scenario), sha256(&scenario));
    assert!(header.contains(&spec), "{header}");
    let planned = records(&folder).map(|record| record.isl_planned).sum::<u64>();
    assert_eq!(prompt_tokens(&folder), planned);

    // As a machine that lost power leaves it: the last row cut short. The trace has the others.
    let whole = std::fs::read(folder.join("requests.jsonl")).unwrap();
    let n_before = measured();
    std::fs::write(folder.join("requests.jsonl"), &whole[..whole.len() - 40]).unwrap();
    let output = turnmill(&["report", text(&folder)]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(verified(&folder), n_before as u64 - 1);
}

fn records(folder: &Path) -> impl Iterator<Item = RequestRecord> {
    let entries = RunReader::open(folder).unwrap();
    let records = entries.map(|entry| entry.unwrap().record);
    records.filter(|record| record.phase == Phase::Profiling)
}

fn prompt_tokens(folder: &Path) -> u64 {
    let data = trace::verify::Reference::of_data(&folder.join("trace.csv"));
    let mut sum = 0;
    trace::verify::verify_with(&data, |row| {
        sum += u64::from(row.input_tokens);
        Ok(())
    })
    .unwrap();
    sum
}

#[test]
fn a_run_that_ended_keeps_its_own_trace() {
    let server = Server::start(Config::paced(1_000_000)).unwrap();
    let bench = Bench::demo(&["concurrency: 2", "benchmark_duration_s: 1", "grace_period_s: 1"]);
    let (url, folder) = (server.url(), bench.out());
    turnmill(&bench.arguments("run", &["--url", &url, "--out", text(&folder)]));
    let binding = |folder: &Path| std::fs::read_to_string(folder.join("trace.binding.yaml")).unwrap();
    let own = binding(&folder);
    assert!(own.contains("token_blocks"), "{own}");
    let output = turnmill(&["report", text(&folder)]);
    assert!(!err(&output).contains("trace.csv"), "{}", err(&output));
    assert_eq!(binding(&folder), own);
    // Made again it is the same trace, but for what only the corpus tells.
    std::fs::remove_file(folder.join("trace.binding.yaml")).unwrap();
    turnmill(&["report", text(&folder)]);
    let again = binding(&folder);
    assert!(own.starts_with(&again), "{own}{again}");
    assert!(!folder.join("token_blocks.jsonl").exists());
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
