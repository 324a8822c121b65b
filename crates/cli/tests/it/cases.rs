//! Faults that broke other clients, by their numbers in `cases/faults.md`, through the command line.

use crate::support::{Bench, err, out, text, turnmill};
use serde_json::{Value, json};
use sim::faults::{Fault, FaultKind};
use sim::{Config, Server};
use std::process::Output;

struct Ran {
    output: Output,
    summary: Value,
    bodies: Vec<Value>,
}

impl Ran {
    fn new(faults: Vec<Fault>, bench: &Bench, more: &[&str]) -> Self {
        let mut config = Config {
            faults,
            ..Config::paced(1_000_000)
        };
        config.log.keep_bodies = true;
        let server = Server::start(config).unwrap();
        let (url, folder) = (server.url(), bench.out());
        let mut arguments = bench.arguments("run", &["--url", &url, "--out", text(&folder)]);
        arguments.extend_from_slice(more);
        let output = turnmill(&arguments);
        let summary = std::fs::read(folder.join("summary.json"))
            .map_or(Value::Null, |bytes| serde_json::from_slice(&bytes).unwrap());
        let bodies = server
            .log()
            .into_iter()
            .filter_map(|request| serde_json::from_slice(request.body.as_deref()?).ok());
        Self {
            output,
            summary,
            bodies: bodies.collect(),
        }
    }

    fn code(&self) -> Option<i32> {
        self.output.status.code()
    }

    fn reasons(&self) -> String {
        self.summary["validity"]["reasons"].to_string()
    }
}

fn refuse(status: u16, message: &str) -> FaultKind {
    FaultKind::Refuse {
        status,
        message: message.into(),
        retry_after_s: None,
    }
}

fn demo() -> Bench {
    Bench::demo(&["concurrency: 4", "benchmark_duration_s: 4", "grace_period_s: 2"])
}

const BURST: &[&str] = &["--burst-phase-starts"];

#[test]
fn case_25_a_warm_up_overflow_is_counted_and_the_run_goes_on() {
    let too_long = "This model's maximum context length is 100 tokens.";
    let ran = Ran::new(vec![Fault::only(refuse(400, too_long), 1)], &demo(), BURST);
    assert_eq!(ran.code(), Some(0), "{}", err(&ran.output));
    assert_eq!(ran.summary["warmup"]["counts"]["overflow"], 1);
    assert!(ran.summary["profiling"]["counts"]["ok"].as_u64().unwrap() > 0);
    assert!(
        out(&ran.output).contains("maximum context length"),
        "{}",
        out(&ran.output)
    );
    assert!(!ran.reasons().contains("context_overflow"), "{}", ran.reasons());
}

/// One trace whose only request comes 56,000 s after the instant at which its lane starts.
fn late_lane() -> Bench {
    let request = |at_s: f64| json!({"t": at_s, "type": "s", "model": "m", "in": 64, "out": 4, "hash_ids": [1], "api_time": 1.0});
    let trace = json!({"id": "late", "models": ["m"], "block_size": 64, "hash_id_scope": "local",
        "requests": [request(0.0), request(56_001.0)]});
    Bench::new(
        format!("{trace}\n").as_bytes(),
        &[
            "concurrency: 1",
            "benchmark_duration_s: 3",
            "grace_period_s: 1",
            "system_idle_gap_cap_s: 100000",
            "trajectory_start: {min_ratio: 0.00001, max_ratio: 0.00001}",
        ],
    )
}

#[test]
fn case_32_a_lane_that_will_not_start_is_named_before() {
    let bench = late_lane();
    let ran = Ran::new(Vec::new(), &bench, &[]);
    let said = err(&ran.output);
    assert!(
        said.contains("1 of 1 lanes may not start inside the window"),
        "{said}"
    );
    assert_eq!(ran.summary["profiling"]["counts"]["started"], 0, "{said}");

    let bench = late_lane();
    let ran = Ran::new(Vec::new(), &bench, BURST);
    assert!(
        !err(&ran.output).contains("may not start"),
        "{}",
        err(&ran.output)
    );
    assert_eq!(
        ran.summary["profiling"]["counts"]["ok"],
        1,
        "{}",
        err(&ran.output)
    );
}

#[test]
fn case_44_a_server_that_knows_no_ignore_eos_ends_the_run_with_its_words() {
    let unknown = "unknown field ignore_eos";
    let options = [
        "--burst-phase-starts",
        "--on-primer-failure",
        "continue",
        "--failed-request-threshold",
        "0.2",
    ];
    let ran = Ran::new(vec![Fault::always(refuse(400, unknown))], &demo(), &options);
    assert_eq!(ran.code(), Some(3), "{}", err(&ran.output));
    assert!(err(&ran.output).contains(unknown), "{}", err(&ran.output));
    let first = ran.summary["profiling"]["first_error"].as_str().unwrap();
    assert!(first.contains(unknown), "{first}");
    assert_eq!(ran.summary["end"]["stop"], "abort");
}

#[test]
fn case_45_exactly_one_key_limits_the_output() {
    for (options, sent, other) in [
        (&[][..], "max_completion_tokens", "max_tokens"),
        (
            &["--output-limit-key", "max_tokens"],
            "max_tokens",
            "max_completion_tokens",
        ),
    ] {
        let mut more = BURST.to_vec();
        more.extend_from_slice(options);
        let ran = Ran::new(Vec::new(), &demo(), &more);
        assert!(!ran.bodies.is_empty());
        assert!(
            ran.bodies
                .iter()
                .all(|body| body[sent].is_u64() && body.get(other).is_none())
        );
    }
}

#[test]
fn case_46_answers_cut_short_make_the_run_invalid() {
    let short = FaultKind::EarlyFinish { tokens: 1 };
    let ran = Ran::new(vec![Fault::always(short)], &demo(), BURST);
    assert_eq!(ran.code(), Some(0), "{}", err(&ran.output));
    assert!(
        ran.summary["profiling"]["early_finish"]["share"]
            .as_f64()
            .unwrap()
            > 0.5
    );
    assert!(ran.reasons().contains("outputs_cut_short"), "{}", ran.reasons());
}

#[test]
fn case_49_a_request_that_is_never_answered_is_cancelled_by_grace() {
    let ran = Ran::new(vec![Fault::only(FaultKind::Silence, 12)], &demo(), BURST);
    assert_eq!(ran.code(), Some(0), "{}", err(&ran.output));
    let counts = &ran.summary["profiling"]["counts"];
    assert_eq!(counts["cancelled"], 1, "{counts}");
    assert_eq!(counts["cancel_causes"], json!({"grace": 1}));
    assert_eq!(counts["unrecorded"], 0);
}
