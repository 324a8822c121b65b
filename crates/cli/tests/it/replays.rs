//! Trace files replayed against the simulated server: what it saw is what the file says, at the times that the mode says.

use crate::support::{err, json, text, turnmill};
use record::folder::RunReader;
use record::request::{Outcome, RequestRecord};
use serde_json::Value;
use sim::faults::{Fault, FaultKind};
use sim::tokens::Template;
use sim::{Config, Server};
use std::path::{Path, PathBuf};

pub(crate) fn fixture(relative: &str) -> PathBuf {
    testkit::checkout().join("crates/trace/tests/data").join(relative)
}

pub(crate) const MINI: &str = "trace/valid/agentic-mini.binding.yaml";

/// A token a byte, no template, blocks of 16: those of the fixture.
pub(crate) fn server() -> Server {
    server_with(Vec::new())
}

fn server_with(faults: Vec<Fault>) -> Server {
    let mut config = Config::paced(1_000_000);
    config.template = Template::bare(1);
    config.engine.block_size = 16;
    config.log.keep_bodies = true;
    config.faults = faults;
    Server::start(config).unwrap()
}

/// Writes a data CSV with a binding that states no digest; gives the binding.
pub(crate) fn bound(folder: &Path, csv: &str) -> PathBuf {
    let document = folder.join("t.yaml");
    let binding =
        "workload:\n  trace:\n    data: t.csv\n    header: {trace_version: 3, time_unit: us, mode: real}\n";
    std::fs::write(folder.join("t.csv"), csv).unwrap();
    std::fs::write(&document, binding).unwrap();
    document
}

struct Run {
    /// In order of sending.
    records: Vec<RequestRecord>,
    header: Value,
    summary: Value,
    said: String,
    folder: testkit::TempDir,
}

fn run(document: &Path, server: &Server, more: &[&str]) -> Run {
    let folder = testkit::tempdir().unwrap();
    let (url, target) = (server.url(), folder.path().join("out"));
    let mut arguments = vec!["run", text(document), "--url", &url, "--out", text(&target)];
    arguments.extend_from_slice(more);
    let output = turnmill(&arguments);
    assert_eq!(output.status.code(), Some(0), "{more:?}: {}", err(&output));
    let file = |name: &str| serde_json::from_slice(&std::fs::read(target.join(name)).unwrap()).unwrap();
    let entries = RunReader::open(&target).unwrap();
    let mut records: Vec<_> = entries.map(|entry| entry.unwrap().record).collect();
    records.sort_by_key(|record| record.sequence);
    Run {
        records,
        header: file("run.json"),
        summary: file("summary.json"),
        said: err(&output),
        folder,
    }
}

impl Run {
    fn names(&self) -> Vec<(&str, u32)> {
        let name = |record: &'_ RequestRecord| record.turn_index;
        self.records
            .iter()
            .map(|record| (record.conversation_id.as_str(), name(record)))
            .collect()
    }

    fn of(&self, conversation: &str, turn: u32) -> &RequestRecord {
        let mut all = self.records.iter();
        all.find(|record| record.conversation_id == conversation && record.turn_index == turn)
            .unwrap_or_else(|| panic!("{conversation} {turn} was not sent"))
    }

    /// When a request was due, in ms after the first.
    fn due_ms(&self, conversation: &str, turn: u32) -> u64 {
        let first = self
            .records
            .iter()
            .map(|record| record.stamps.due_ns)
            .min()
            .unwrap();
        (self.of(conversation, turn).stamps.due_ns - first).div_euclid(1_000_000)
    }
}

/// The fixture's order of arrival, its failed row left out.
const ORDER: [(&str, u32); 5] = [("sA", 0), ("sB", 0), ("request-2", 0), ("sA", 1), ("sB", 1)];

#[test]
fn open_sends_what_the_file_says_when_it_says() {
    let server = server();
    let run = run(&fixture(MINI), &server, &[]);
    assert_eq!(run.names(), ORDER);
    let due = ORDER.map(|(name, turn)| run.due_ms(name, turn));
    assert_eq!(due, [0, 50, 100, 900, 1290], "arrivals of the file");
    // Exactly as many tokens as recorded, and cached blocks exactly as the file's sharing has them.
    let seen = |record: &RequestRecord| {
        let usage = record.usage;
        (
            record.isl_planned,
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.cached_tokens,
        )
    };
    let seen: Vec<_> = run.records.iter().map(seen).collect();
    let expected = [
        (100, Some(100), Some(8), Some(0)),
        (104, Some(104), Some(16), Some(4 * 16)),
        (200, Some(200), Some(4), Some(0)),
        (148, Some(148), Some(1), Some(6 * 16)),
        (124, Some(124), Some(3), Some(6 * 16)),
    ];
    assert_eq!(seen, expected);
    // A cache that forgets nothing would have had them, too: whole blocks alone.
    let theoretical = run
        .records
        .iter()
        .map(|record| (record.theoretical_hit_blocks, record.theoretical_total_blocks));
    assert_eq!(
        theoretical.collect::<Vec<_>>(),
        [(0, 6), (4, 6), (0, 12), (6, 9), (6, 7)]
    );
    let asked: Vec<Value> = server
        .log()
        .iter()
        .filter(|seen| seen.path == "/v1/completions")
        .map(|seen| serde_json::from_slice(seen.body.as_ref().unwrap()).unwrap())
        .collect();
    assert_eq!(asked.len(), 5);
    for body in &asked {
        assert!(
            body["prompt"].as_array().unwrap().iter().all(Value::is_u64),
            "{body}"
        );
        assert_eq!(
            (&body["ignore_eos"], body.get("priority")),
            (&Value::Bool(true), None)
        );
        assert!(body["max_tokens"].is_u64() && body.get("max_completion_tokens").is_none());
    }
    assert_eq!(run.header["loop"], "open");
    assert_eq!(run.header["trace"]["skipped_failed"], 1);
    assert!(run.said.contains("1 rows that failed"), "{}", run.said);
    let goodput = &run.summary["profiling"]["goodput"];
    assert_eq!(goodput["critical"]["counted"], 3, "{goodput}");
    assert_eq!(
        goodput["batch"]["counted"], 1,
        "the other row of the class had failed: {goodput}"
    );
}

#[test]
fn a_replay_is_a_trace_again() {
    let survey = |binding: &Path| {
        let found = json(&["corpus", "survey", text(binding), "--format", "json"]);
        assert_eq!(found["ok"], true, "{found}");
        found["counts"].clone()
    };
    for (document, more) in [
        (MINI, [].as_slice()),
        ("trace/valid/v2-minimal.binding.yaml", &[]),
        (MINI, &["--endpoint", "chat"]),
    ] {
        let first = run(
            &fixture(document),
            &server(),
            &[more, &["--speedup", "50"]].concat(),
        );
        let binding = first.folder.path().join("out/trace.binding.yaml");
        let second = run(&binding, &server(), &["--speedup", "0.1"]);
        assert_eq!(first.names(), second.names(), "{document}");
        let (one, two) = (
            survey(&binding),
            survey(&second.folder.path().join("out/trace.binding.yaml")),
        );
        for count in [
            "rows",
            "sessions",
            "prompt tokens",
            "output tokens",
            "whole blocks",
            "leading blocks seen before",
        ] {
            assert!(one[count].is_u64());
            assert_eq!(one[count], two[count], "{document}: {count}");
        }
    }
    // Classes, groups and targets are handed on.
    let first = run(
        &fixture(MINI),
        &server(),
        &["--speedup", "50", "--goodput", "batch:ttft_ms=3"],
    );
    let file = |name: &str| std::fs::read_to_string(first.folder.path().join("out").join(name)).unwrap();
    assert!(
        file("trace.csv").contains(",critical,0,sA,0,sys,64,true,36,8,36,"),
        "{}",
        file("trace.csv")
    );
    assert!(
        file("trace.header.yaml").contains("ttft_ms: 3"),
        "{}",
        file("trace.header.yaml")
    );
}

#[test]
fn a_second_replay_is_the_same_to_the_byte() {
    let bodies = |more: &[&str]| {
        let server = server();
        run(&fixture(MINI), &server, more);
        let log = server.log();
        let bodies = log.iter().filter_map(|seen| seen.body.clone());
        let mut bodies: Vec<_> = bodies.filter(|body| !body.is_empty()).collect();
        bodies.sort();
        bodies
    };
    let first = bodies(&["--speedup", "50"]);
    assert_eq!(first, bodies(&["--speedup", "50"]));
    assert_ne!(first, bodies(&["--speedup", "50", "--seed", "7"]));
}

#[test]
fn closed_keeps_so_many_in_flight() {
    let run = run(
        &fixture(MINI),
        &server(),
        &["--mode", "closed", "--concurrency", "1"],
    );
    assert_eq!(run.names(), ORDER);
    for pair in run.records.windows(2) {
        assert!(pair[1].stamps.start_ns >= pair[0].stamps.stream_end_ns.unwrap());
        assert!(
            pair[1].stamps.due_ns >= pair[0].stamps.stream_end_ns.unwrap(),
            "no lateness of the client's"
        );
    }
    assert_eq!(
        (&run.header["loop"], &run.header["concurrency"]),
        (&"closed".into(), &1.into())
    );
}

#[test]
fn sessions_think_after_the_answer() {
    let run = run(&fixture(MINI), &server(), &["--mode", "sessions"]);
    for (session, think_ms) in [("sA", 500), ("sB", 200)] {
        let (before, after) = (run.of(session, 0), run.of(session, 1));
        let waited = after.stamps.due_ns - before.stamps.stream_end_ns.unwrap();
        // From when the loop hears of the end, a little later than the stamp.
        assert!(
            (think_ms..think_ms + 50).contains(&(waited / 1_000_000)),
            "{session}: {waited} ns"
        );
        assert_eq!(before.session_id, after.session_id);
    }
    assert_ne!(run.of("sA", 0).session_id, run.of("sB", 0).session_id);
}

#[test]
fn a_session_ends_with_a_failed_round_and_the_rest_is_counted() {
    let fault = Fault::always(FaultKind::Refuse {
        status: 503,
        message: "overloaded".to_owned(),
        retry_after_s: None,
    });
    let run = run(
        &fixture(MINI),
        &server_with(vec![fault]),
        &["--mode", "sessions", "--speedup", "20"],
    );
    assert_eq!(run.names(), [("sA", 0), ("sB", 0), ("request-2", 0)]);
    assert!(run.records.iter().all(|record| record.outcome == Outcome::Failed));
    assert_eq!(run.summary["not_sent"], 2);
}

#[test]
fn a_cap_holds_back_and_says_so() {
    let run = run(
        &fixture(MINI),
        &server(),
        &["--speedup", "1000", "--max-in-flight", "1"],
    );
    assert!(
        run.records[1..].iter().all(|record| record.held_ns > 0),
        "all but the first wait"
    );
    assert_eq!(run.summary["profiling"]["held"]["requests"], 4);
}

#[test]
fn over_chat_the_template_comes_on_top() {
    let mut config = Config::paced(1_000_000);
    config.template = Template::default();
    config.log.keep_bodies = true;
    let server = Server::start(config).unwrap();
    let run = run(
        &fixture(MINI),
        &server,
        &["--endpoint", "chat", "--speedup", "50"],
    );
    for record in &run.records {
        assert_eq!(
            record.usage.prompt_tokens,
            Some(record.isl_planned + 8),
            "3 + 2 around the message, 3 before the answer"
        );
    }
    let log = server.log();
    let chat = log
        .iter()
        .find(|seen| seen.path == "/v1/chat/completions")
        .unwrap();
    let body: Value = serde_json::from_slice(chat.body.as_ref().unwrap()).unwrap();
    assert_eq!(body["messages"][0]["role"], "user");
    assert!(body["max_completion_tokens"].is_u64());
}

#[test]
fn hints_go_out_only_when_asked_for() {
    let server = server();
    run(&fixture(MINI), &server, &["--send-slo-hints", "--speedup", "50"]);
    let log = server.log();
    let first = log.iter().find(|seen| seen.path == "/v1/completions").unwrap();
    let header = |name: &str| {
        first
            .headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    };
    assert_eq!(header("x-gateway-inference-objective"), Some("critical"));
    assert_eq!(
        header("x-gateway-inference-fairness-id"),
        None,
        "the fixture has no tenants"
    );
    let priorities: Vec<Value> = log
        .iter()
        .filter(|seen| seen.path == "/v1/completions")
        .map(|seen| serde_json::from_slice::<Value>(seen.body.as_ref().unwrap()).unwrap()["priority"].clone())
        .collect();
    assert_eq!(priorities, [0, 1, 5, 0, 0].map(Value::from));
}

#[test]
fn a_deadline_of_a_row_is_its_request_s() {
    // The fixture's rows have none; one is given 80 ms.
    let folder = testkit::tempdir().unwrap();
    let csv = std::fs::read_to_string(fixture("trace/valid/v2-minimal.csv")).unwrap();
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let at = header.iter().position(|name| *name == "deadline_us").unwrap();
    let tokens = header.iter().position(|name| *name == "output_tokens").unwrap();
    let row = |line: &str| {
        let mut cells: Vec<&str> = line.split(',').collect();
        if cells[0] == "0" {
            cells[at] = "80000";
            cells[tokens] = "5000";
        }
        cells.join(",")
    };
    let csv: Vec<String> = csv
        .lines()
        .enumerate()
        .map(|(n, line)| if n == 0 { line.to_owned() } else { row(line) })
        .collect();
    let document = bound(folder.path(), &(csv.join("\n") + "\n"));
    let run = run(&document, &server(), &[]);
    let first = &run.records[0];
    assert_eq!(
        (first.outcome, first.failure_kind),
        (Outcome::Failed, Some(record::request::FailureKind::TimedOut))
    );
    assert_eq!(run.records[1].outcome, Outcome::Ok);
}

#[test]
fn a_sweeper_trace_runs_at_its_pace_or_at_its_cap() {
    let folder = testkit::tempdir().unwrap();
    std::fs::copy(
        fixture("mooncake/mooncake-sessions.jsonl"),
        folder.path().join("m.jsonl"),
    )
    .unwrap();
    let document = folder.path().join("sweeper.yaml");
    let lines = std::fs::read_to_string(folder.path().join("m.jsonl")).unwrap();
    let rows: Vec<Value> = lines
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let write = |load: &str| {
        std::fs::write(
            &document,
            format!("workload:\n  trace_path: m.jsonl\n  trace_format: mooncake\n  {load}\n"),
        )
        .unwrap();
    };
    write("arrival_speedup_ratio: 20");
    let open = run(&document, &server(), &[]);
    assert_eq!(open.records.len(), rows.len());
    let planned: u64 = open.records.iter().map(|record| record.isl_planned).sum();
    let stated: u64 = rows.iter().map(|row| row["input_length"].as_u64().unwrap()).sum();
    assert_eq!(planned, stated);
    assert_eq!(
        (&open.header["loop"], &open.header["trace"]["speedup"]),
        (&"sessions".into(), &20.0.into())
    );
    // Delays are not divided here; shorter ones make a shorter test.
    let shorter = lines.replace("5000", "500").replace("1200", "120");
    std::fs::write(folder.path().join("m.jsonl"), shorter).unwrap();
    write("replay_concurrency: 1");
    let capped = run(&document, &server(), &[]);
    // One session after the other: no two requests overlap.
    for pair in capped.records.windows(2) {
        assert!(pair[1].stamps.start_ns >= pair[0].stamps.stream_end_ns.unwrap());
    }
}
