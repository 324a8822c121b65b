//! All option sets of `scenario_matrix.json` (aiperf 0.12.0, recorded), typed as a person would type them.

use super::*;
use crate::args::profile::ProfileDialect;
use clap::Parser;
use serde_json::{Value, json};

const MATRIX: &str = include_str!("../../tests/data/scenario_matrix.json");

#[derive(Parser)]
struct Typed {
    #[command(flatten)]
    args: ProfileArgs,
}

fn typed(words: &[&str]) -> ProfileArgs {
    Typed::try_parse_from(["profile"].iter().chain(words))
        .unwrap_or_else(|error| panic!("{words:?}: {error}"))
        .args
}

/// The command line of an option set, whose names are those of the flags with other hyphens.
fn command_line(options: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut words = Vec::new();
    for (name, value) in options.as_object().unwrap() {
        let flag = format!("--{}", name.replace('_', "-"));
        match value {
            Value::Bool(true) => words.push(flag),
            Value::Bool(false) => words.push(format!("{flag}=false")),
            Value::Array(items) => {
                words.push(flag);
                words.push(items.iter().map(text).collect::<Vec<_>>().join(","));
            }
            value => words.extend([flag, text(value)]),
        }
    }
    words
}

fn seconds(value: f64) -> Value {
    if value.is_infinite() {
        json!("inf")
    } else {
        json!(value)
    }
}

/// Our result in the words of the matrix.
fn described(args: &ProfileArgs) -> Value {
    let resolved = match resolve(args) {
        Ok(resolved) => resolved,
        Err(problems) => return refusal(&problems),
    };
    let valid = resolved.broken_locks.is_empty();
    let ignore_eos = resolved
        .extra
        .iter()
        .find(|(name, _)| name == "ignore_eos")
        .map_or(json!(true), |(_, value)| {
            serde_json::from_str(value.get()).unwrap()
        });
    json!({
        "result": "accepted",
        "submission_valid": valid,
        "invalid_reasons": if valid { json!([]) } else { json!(["unsafe_override"]) },
        "violated_flags": resolved.broken_locks.iter().map(|lock| lock.flag).collect::<Vec<_>>(),
        "profiling": {
            "duration_s": resolved.duration_s,
            "request_cap": resolved.request_cap,
            "session_cap": resolved.session_cap,
            "grace_s": seconds(resolved.grace_s),
            "concurrency": resolved.concurrency,
            "timing_mode": match resolved.timing { Timing::AgenticReplay => "agentic_replay", Timing::Other => "other" },
            "min_ratio": resolved.start_ratios.0,
            "max_ratio": resolved.start_ratios.1,
            "system_idle_gap_cap_s": resolved.system_idle_gap_cap_s,
            "burst": resolved.burst_phase_starts,
        },
        "warmup": {
            "grace_s": seconds(resolved.warmup.grace_s),
            "cache_pressure_s": resolved.warmup.cache_pressure_s,
            "concurrency": resolved.concurrency,
        },
        "streaming": resolved.streaming,
        "ignore_eos": ignore_eos,
        "cache_bust": resolved.cache_bust,
        "sampling": format!("{:?}", resolved.sampling).to_lowercase(),
        "seed_autofilled": resolved.seed.is_none(),
    })
}

fn refusal(problems: &[Problem]) -> Value {
    if problems.iter().any(|problem| problem.kind == Kind::Config) {
        return json!({"result": "rejected_at_config"});
    }
    json!({
        "result": "rejected_by_lock",
        "bypassable_with_unsafe_override": problems.iter().all(|problem| problem.kind == Kind::Lock),
        "violated_flags": problems.iter().map(|problem| problem.flag).collect::<Vec<_>>(),
    })
}

/// What the matrix says, but for the two traps: without a duration aiperf caps the run at ten requests where nothing else
/// bounds it, and gives no grace. There the seed's values stand.
fn expected(case: &Value) -> Value {
    let mut case = case.clone();
    let options = case["options"].clone();
    let given = |name: &str| !options[name].is_null();
    if case["result"] == "accepted" && !given("benchmark_duration") {
        assert_eq!(case["profiling"]["grace_s"], Value::Null, "{case}");
        case["profiling"]["grace_s"] = json!(30.0);
        if !given("request_count") && !given("conversation_num") {
            assert_eq!(case["profiling"]["request_cap"], 10, "{case}");
            case["profiling"]["request_cap"] = Value::Null;
        }
    }
    for key in ["name", "options", "error_type"] {
        case.as_object_mut().unwrap().remove(key);
    }
    case
}

#[test]
fn every_option_set_resolves_as_aiperf_resolves_it() {
    let matrix: Value = serde_json::from_str(MATRIX).unwrap();
    let cases = matrix["vectors"].as_array().unwrap();
    assert_eq!(cases.len(), 42);
    for case in cases {
        let mut words = command_line(&case["options"]);
        words.extend(["--dialect".to_owned(), "aiperf-0.12.0".to_owned()]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let args = typed(&words);
        assert_eq!(described(&args), expected(case), "{}: {words:?}", case["name"]);
    }
}

#[test]
fn the_traps_are_noted() {
    let notes = |more: &[&str]| {
        let base = [
            "--scenario",
            SCENARIO,
            "--public-dataset",
            "semianalysis_cc_traces_weka_062126",
        ];
        resolve(&typed(&[&base[..], more].concat()))
            .unwrap()
            .notes
            .join("\n")
    };
    let neither = notes(&[]);
    assert!(
        neither.contains("ten requests") && neither.contains("1800 s"),
        "{neither}"
    );
    let capped = notes(&["--request-count", "100"]);
    assert!(
        capped.contains("no grace") && !capped.contains("ten requests"),
        "{capped}"
    );
    assert!(!notes(&["--benchmark-duration", "900"]).contains("--benchmark-duration"));
}

/// The command of `InferenceX` (its library script, state of 2026-08-22) with the program name changed.
const INFERENCEX: &str = "--scenario inferencex-agentx-mvp --url http://localhost:8888 --endpoint /v1/chat/completions \
    --endpoint-type chat --streaming --model deepseek-v4 --tokenizer deepseek-ai/DeepSeek-V4 --concurrency 64 \
    --benchmark-duration 3600 --stats-interval 30 --random-seed 42 --failed-request-threshold 0.10 \
    --trajectory-start-min-ratio 0.25 --trajectory-start-max-ratio 0.75 --warmup-requests-per-lane 10 \
    --trace-idle-gap-cap-seconds 300 --warmup-grace-period 1800 --use-server-token-count \
    --extra-inputs chat_template_kwargs:x --use-dynamo-conv-aware-routing --dynamo-session-timeout-seconds 600 \
    --no-gpu-telemetry --tokenizer-trust-remote-code --max-context-length 1000000 --num-dataset-entries 393 \
    --slice-duration 1.0 --server-metrics http://a:9090/metrics http://b:9090/metrics \
    --output-artifact-dir result/aiperf_artifacts --public-dataset semianalysis_cc_traces_weka_062126";

#[test]
fn the_command_of_inferencex_resolves_and_selects_the_fork() {
    let words: Vec<&str> = INFERENCEX.split_whitespace().collect();
    let args = typed(&words);
    let resolved = resolve(&args).unwrap();
    assert_eq!(resolved.dialect, ProfileDialect::Agentx10);
    assert!(resolved.broken_locks.is_empty());
    assert_eq!(unsupported(&args, &resolved), []);
    assert_eq!(resolved.concurrency, 64);
    assert_eq!((resolved.duration_s, resolved.grace_s), (3600.0, 30.0));
    assert_eq!(resolved.warmup.requests_per_lane, Some(10));
    assert!((resolved.warmup.grace_s - 1800.0).abs() < f64::EPSILON);
    assert_eq!(resolved.trace_idle_gap_cap_s, Some(300.0));
    assert_eq!(resolved.start_ratios, (0.25, 0.75));
    assert_eq!((resolved.entries, resolved.seed), (Some(393), Some(42)));
    assert_eq!(args.output.server_metrics.len(), 2);
    let notes = resolved.notes.join("\n");
    for flag in [
        "--warmup-requests-per-lane",
        "--use-dynamo-conv-aware-routing",
        "--no-gpu-telemetry",
        "--tokenizer-trust-remote-code",
        "--stats-interval",
    ] {
        assert!(notes.contains(flag), "{flag}: {notes}");
    }
}

/// The command that aiperf 0.12.0's own captures were made with, and what some of them add.
const ORACLE: &str = "--scenario inferencex-agentx-mvp --url http://127.0.0.1:8911 --endpoint /v1/chat/completions --endpoint-type chat \
    --streaming --model qwen2-tok --tokenizer tokenizer --concurrency 4 --benchmark-duration 30 --random-seed 42 \
    --failed-request-threshold 0.10 --trajectory-start-min-ratio 0.25 --trajectory-start-max-ratio 0.75 --use-server-token-count \
    --no-gpu-telemetry --tokenizer-trust-remote-code --num-dataset-entries 393 --slice-duration 1.0 \
    --output-artifact-dir artifacts --unsafe-override --ui none --benchmark-grace-period 5 --max-context-length 8192";

#[test]
fn the_commands_of_the_captures_resolve() {
    let local = ["--input-file", "corpus_a", "--custom-dataset-type", "weka_trace"];
    let public = ["--public-dataset", "semianalysis_cc_traces_weka_062126_256k"];
    let stock = ProfileDialect::Aiperf0120;
    let cases: &[(&[&str], &[&str], ProfileDialect, f64)] = &[
        (&local, &[], stock, f64::INFINITY),
        (&public, &[], stock, f64::INFINITY),
        (&local, &["--burst-phase-starts"], stock, f64::INFINITY),
        (&local, &["--agentic-cache-warmup-duration", "8"], stock, 8.0),
        (
            &local,
            &["--trace-idle-gap-cap-seconds", "5"],
            ProfileDialect::Agentx10,
            f64::INFINITY,
        ),
    ];
    for (corpus, more, dialect, warmup_grace_s) in cases {
        let words: Vec<&str> = ORACLE
            .split_whitespace()
            .chain(corpus.iter().chain(*more).copied())
            .collect();
        let args = typed(&words);
        let resolved = resolve(&args).unwrap();
        let locks: Vec<&str> = resolved.broken_locks.iter().map(|lock| lock.flag).collect();
        let mut expected = vec!["--benchmark-duration"];
        if *corpus == local {
            expected.insert(0, "--custom-dataset-type / --input-file");
        }
        assert_eq!(locks, expected, "{words:?}");
        assert_eq!((resolved.dialect, resolved.grace_s), (*dialect, 5.0), "{words:?}");
        assert_eq!(
            resolved.warmup.grace_s.to_bits(),
            warmup_grace_s.to_bits(),
            "{words:?}"
        );
        assert_eq!(unsupported(&args, &resolved), [], "{words:?}");
    }
}

#[test]
fn conflicts_come_all_together_in_the_order_of_the_rules() {
    let args = typed(&[
        "--scenario",
        SCENARIO,
        "--public-dataset",
        "sharegpt",
        "--streaming=false",
        "--benchmark-duration",
        "60",
        "--cache-bust",
        "none",
        "--request-rate",
        "5",
        "--extra-inputs",
        "ignore_eos:0",
        "--system-idle-gap-cap-seconds",
        "5",
    ]);
    let flags: Vec<&str> = resolve(&args)
        .unwrap_err()
        .iter()
        .map(|problem| problem.flag)
        .collect();
    assert_eq!(
        flags,
        [
            "--request-rate / --user-centric-rate / --fixed-schedule",
            "--streaming",
            "extra_inputs.ignore_eos",
            "--input-file (loader)",
            "--cache-bust",
            "--benchmark-duration",
            "--system-idle-gap-cap-seconds",
        ]
    );
}

#[test]
fn a_named_dialect_refuses_flags_of_the_other() {
    let base = [
        "--scenario",
        SCENARIO,
        "--public-dataset",
        "semianalysis_cc_traces_weka_062126",
        "--dialect",
        "aiperf-0.12.0",
    ];
    let problem = |more: &[&str]| {
        resolve(&typed(&[&base[..], more].concat()))
            .unwrap_err()
            .remove(0)
    };
    let lanes = problem(&["--warmup-requests-per-lane", "10"]);
    assert_eq!(lanes.kind, Kind::Config);
    assert!(
        lanes.message.contains("agentx-1.0") && lanes.message.contains("aiperf-0.12.0"),
        "{lanes}"
    );
    assert_eq!(problem(&["--trace-idle-gap-cap-seconds", "300"]).kind, Kind::Lock);
}

#[test]
fn refused_flags_say_why_and_no_override_helps() {
    let args = typed(&[
        "--scenario",
        SCENARIO,
        "--public-dataset",
        "semianalysis_cc_traces_weka_062126",
        "--unsafe-override",
        "--isl",
        "100",
        "--wandb-project",
        "p",
        "-f",
        "x.yaml",
    ]);
    let problems = resolve(&args).unwrap_err();
    let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
    for words in [
        "--prompt-input-tokens-mean: prompts",
        "--wandb-project: results",
        "--config: a configuration",
    ] {
        assert!(
            shown.iter().any(|line| line.starts_with(words)),
            "{words}: {shown:?}"
        );
    }
    assert_eq!(problems.len(), 3);
}

#[test]
fn the_document_is_a_valid_scenario() {
    let sha256 = "e39cd2ff3eba21d4a3664be51da743ac3d2149a1933898cafc7bfeac8147eeef";
    let check = |more: &[&str]| {
        let base = [
            "--scenario",
            SCENARIO,
            "--public-dataset",
            "semianalysis_cc_traces_weka_062126_256k",
            "--concurrency",
            "3",
        ];
        let resolved = resolve(&typed(&[&base[..], more].concat())).unwrap();
        let pin = corpus::pin::by_loader("semianalysis_cc_traces_weka_062126_256k").unwrap();
        let corpus = document::CorpusFile {
            loader: &pin.loader,
            repository: &pin.repository,
            revision: pin.revision.as_deref().unwrap(),
            file: &pin.file,
            sha256,
            local: false,
        };
        let text = document::yaml(&resolved, u64::from(u32::MAX), true, &corpus);
        let (document, problems) = spec::read_bytes(text.as_bytes(), Some(spec::Kind::Scenario));
        assert!(document.is_some(), "{text}\n{problems:?}");
        problems
            .iter()
            .map(|problem| problem.path.clone())
            .collect::<Vec<_>>()
    };
    assert!(check(&["--benchmark-duration", "900", "--max-context-length", "131072"]).is_empty());
    assert!(check(&["--benchmark-duration", "900", "--benchmark-grace-period", "inf"]).is_empty());
    assert!(check(&["--agentic-cache-warmup-duration", "120"]).is_empty());
    assert!(
        check(&[
            "--warmup-requests-per-lane",
            "10",
            "--trace-idle-gap-cap-seconds",
            "300"
        ])
        .is_empty()
    );
    let broken = [
        "--benchmark-duration",
        "60",
        "--system-idle-gap-cap-seconds",
        "5",
        "--extra-inputs",
        "ignore_eos:false",
        "--unsafe-override",
    ];
    assert_eq!(
        check(&broken).len(),
        3,
        "each broken lock that can be run is a broken lock of the document too"
    );
}
