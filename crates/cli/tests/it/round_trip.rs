//! A corpus replayed through a capture, and what the capture wrote replayed again: the same sessions, turns and lengths, and the
//! simulated server's prefix cache finds the same share, through the data CSV with its sidecar and through the Weka file.

use crate::support::{Bench, command, err, json, text, turnmill};
use record::folder::RunReader;
use record::request::{Outcome, RequestRecord};
use rustix::process::{Pid, Signal, kill_process};
use sim::{Config, Server};
use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// Largest difference of two hit rates that are called equal.
const ALIKE: f64 = 0.01;
/// Smallest difference of two that are not.
const DIFFERENT: f64 = 0.1;

fn server() -> Server {
    Server::start(Config::paced(200_000)).unwrap()
}

/// A capture before a server.
struct Capture {
    child: Child,
    url: String,
    folder: PathBuf,
}

impl Capture {
    fn start(server: &Server, folder: PathBuf) -> Self {
        let arguments = [
            "capture",
            "--listen",
            "127.0.0.1:0",
            "--upstream",
            &server.url(),
            "--out",
            text(&folder),
            "--session-header",
            "X-Correlation-ID",
        ];
        let mut child = command(&arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut url)
            .unwrap();
        Self {
            child,
            url: url.trim().to_owned(),
            folder,
        }
    }

    /// Ends it; its binding and its Weka file.
    fn end(mut self) -> (PathBuf, PathBuf) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        assert!(self.child.wait().unwrap().success());
        let file = |name: &str| self.folder.join(format!("trace-0001.{name}"));
        (file("binding.yaml"), file("weka.jsonl"))
    }
}

fn run(arguments: &[&str], url: &str, out: &Path) -> Vec<RequestRecord> {
    let arguments = [&["run"], arguments, &["--url", url, "--out", text(out)]].concat();
    let output = turnmill(&arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", err(&output));
    let records: Vec<_> = RunReader::open(out)
        .unwrap()
        .map(|entry| entry.unwrap().record)
        .collect();
    assert!(
        records.iter().all(|record| record.outcome == Outcome::Ok),
        "{arguments:?}"
    );
    records
}

/// Share of prompt tokens that the server had in its prefix cache.
fn hit_rate(records: &[RequestRecord]) -> f64 {
    let sum =
        |of: fn(&RequestRecord) -> Option<u64>| records.iter().map(|record| of(record).unwrap()).sum::<u64>();
    sum(|record| record.usage.cached_tokens) as f64 / sum(|record| record.usage.prompt_tokens) as f64
}

/// Prompt tokens as the server counted them and output tokens of each session's turns, in order.
fn sessions(records: &[RequestRecord]) -> Vec<Vec<(u64, u64)>> {
    let mut sessions: HashMap<&str, Vec<(u64, u64, u64)>> = HashMap::new();
    for record in records {
        let usage = &record.usage;
        let turn = (
            record.stamps.start_ns,
            usage.prompt_tokens.unwrap(),
            usage.completion_tokens.unwrap(),
        );
        sessions.entry(&record.session_id).or_default().push(turn);
    }
    let ordered = |mut turns: Vec<(u64, u64, u64)>| {
        turns.sort_unstable();
        turns
            .into_iter()
            .map(|(_, prompt, output)| (prompt, output))
            .collect()
    };
    let mut sessions: Vec<_> = sessions.into_values().map(ordered).collect();
    sessions.sort();
    sessions
}

/// Whole blocks of a trace's prompts, and how many of them began a prompt before.
fn sharing(binding: &Path) -> (u64, u64) {
    let found = json(&["corpus", "survey", text(binding), "--format", "json"]);
    assert_eq!(found["ok"], true, "{found}");
    let count = |name: &str| found["counts"][name].as_u64().unwrap();
    (count("whole blocks"), count("leading blocks seen before"))
}

/// The corpus of the demo replayed through a capture.
fn recorded(folder: &Path) -> (Vec<RequestRecord>, PathBuf, PathBuf) {
    let bench = Bench::demo(&["concurrency: 4", "benchmark_duration_s: 5", "grace_period_s: 20"]);
    let server = server();
    let capture = Capture::start(&server, folder.join("capture"));
    let arguments = bench.arguments("run", &[]);
    let records = run(&arguments[1..], &capture.url, &folder.join("first"));
    let (binding, weka) = capture.end();
    (records, binding, weka)
}

#[test]
fn through_the_csv_and_its_sidecar() {
    let folder = testkit::tempdir().unwrap();
    let (first, binding, _) = recorded(folder.path());
    let closed = [text(&binding), "--mode", "closed", "--concurrency", "1"];
    let server_again = server();
    let capture = Capture::start(&server_again, folder.path().join("again"));
    let second = run(&closed, &capture.url, &folder.path().join("second"));
    let (again, _) = capture.end();
    assert_eq!(sessions(&first), sessions(&second));
    let (one, two) = (hit_rate(&first), hit_rate(&second));
    assert!(one > 0.3 && (one - two).abs() < ALIKE, "{one} and {two}");
    // The second capture saw token ids, which it need not estimate: the same blocks as the first, from which they were made.
    assert_eq!(sharing(&binding), sharing(&again));

    // Without the sidecar, and without a guess in its place, nothing is shared.
    let plain = folder.path().join("capture/plain.yaml");
    let yaml = std::fs::read_to_string(&binding).unwrap();
    std::fs::write(&plain, yaml.split("    token_blocks:").next().unwrap()).unwrap();
    let alone = [
        "--mode",
        "closed",
        "--concurrency",
        "1",
        "--context",
        "independent",
    ];
    let third = run(
        &[&[text(&plain)], &alone[..]].concat(),
        &server().url(),
        &folder.path().join("third"),
    );
    assert!(
        one - hit_rate(&third) > DIFFERENT,
        "{one} and {}",
        hit_rate(&third)
    );
}

#[test]
fn through_the_weka_file() {
    let folder = testkit::tempdir().unwrap();
    let (first, _, weka) = recorded(folder.path());
    let corpus = std::fs::read(&weka).unwrap();
    let trees = corpus
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .count();
    let lanes = format!("concurrency: {trees}");
    // Every captured tree from its beginning, in a window of twice their length; trees that are done start again meanwhile.
    let bench = Bench::new(
        &corpus,
        &[
            &lanes,
            "benchmark_duration_s: 12",
            "grace_period_s: 20",
            "trajectory_start: {min_ratio: 0, max_ratio: 0}",
        ],
    );
    let arguments = bench.arguments("run", &[]);
    let all = run(&arguments[1..], &server().url(), &folder.path().join("second"));
    let once: Vec<_> = all.into_iter().filter(|record| record.tree_pass == 0).collect();
    assert_eq!(once.len(), first.len(), "every captured request once");
    // A marker of its own stands before each tree, so only numbers of turns and of output tokens are equal to the token.
    let shape = |records: &[RequestRecord]| {
        let output = |turns: Vec<(u64, u64)>| turns.into_iter().map(|(_, output)| output).collect::<Vec<_>>();
        let mut shape: Vec<_> = sessions(records).into_iter().map(output).collect();
        shape.sort();
        shape
    };
    assert_eq!(shape(&first), shape(&once));
    let (one, two) = (hit_rate(&first), hit_rate(&once));
    assert!((one - two).abs() < ALIKE, "{one} and {two}");
}
