//! `plan`, `simulate` and `corpus dump` against aiperf's own plans, logs and reconstructions, through the command line.

use crate::support::{Bench, json, out, text, turnmill};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

fn vector(krate: &str, name: &str) -> Value {
    let folder: PathBuf = testkit::checkout().join("crates").join(krate).join("tests/data");
    testkit::json(&folder.join(name))
}

/// The named hand-written traces as a corpus.
fn corpus(names: &Value) -> Vec<u8> {
    let inputs = vector("replay", "inputs.json");
    let mut lines = Vec::new();
    for name in names.as_array().unwrap() {
        let trace = inputs["weka_traces"]
            .as_array()
            .unwrap()
            .iter()
            .find(|trace| trace["id"] == *name)
            .unwrap();
        lines.extend(serde_json::to_vec(trace).unwrap());
        lines.push(b'\n');
    }
    lines
}

fn bench(case: &Value) -> Bench {
    let number = |key: &str| case[key].to_string();
    let duration = case["duration_s"].as_f64().unwrap_or(900.0);
    let grace = case["grace_s"].as_f64().unwrap_or(30.0);
    let mut keys = vec![
        format!("concurrency: {}", number("concurrency")),
        format!("random_seed: {}", number("seed")),
        format!("benchmark_duration_s: {duration}"),
        format!("grace_period_s: {grace}"),
        format!(
            "trajectory_start: {{min_ratio: {}, max_ratio: {}}}",
            number("min_ratio"),
            number("max_ratio")
        ),
    ];
    let flag = |name: &str| case["extra_flags"][name].as_f64();
    if let Some(seconds) = flag("agentic_cache_warmup_duration") {
        keys.push(format!("warmup: {{mode: cache_pressure, duration_s: {seconds}}}"));
    }
    if let Some(requests) = flag("warmup_requests_per_lane") {
        keys.push(format!(
            "warmup: {{mode: cache_pressure, requests_per_lane: {requests}}}"
        ));
    }
    if let Some(seconds) = flag("trace_idle_gap_cap_seconds") {
        keys.push(format!("trace_idle_gap_cap_s: {seconds}"));
    }
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    Bench::new(&corpus(&case["traces"]), &keys)
}

#[test]
fn plan_prints_aiperf_s_trajectories() {
    for case in vector("replay", "trajectories.json")["vectors"]
        .as_array()
        .unwrap()
    {
        let bench = bench(case);
        let sampling = case["sampling"].as_str().unwrap();
        let plan = json(&bench.arguments("plan", &["--sampling", sampling, "--format", "json"]));
        assert_eq!(plan, *case);
    }
}

fn simulated(name: &str, options: &[&str]) -> (Value, Value) {
    let case = vector("replay", &format!("dispatch_{name}.json"));
    let bench = bench(&case);
    let id = case["benchmark_id"].as_str().unwrap();
    let mut more = vec!["--format", "json", "--benchmark-id", id];
    more.extend_from_slice(options);
    (json(&bench.arguments("simulate", &more)), case)
}

/// Events by instant, without regard to the order at one instant.
fn by_instant(events: &Value) -> BTreeMap<String, Vec<String>> {
    let mut instants: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in events.as_array().unwrap() {
        instants
            .entry(format!("{:.6}", event["t"].as_f64().unwrap()))
            .or_default()
            .push(event.to_string());
    }
    for events in instants.values_mut() {
        events.sort();
    }
    instants
}

fn check(name: &str, options: &[&str]) {
    let (ours, theirs) = simulated(name, options);
    assert_eq!(
        by_instant(&ours["events"]),
        by_instant(&theirs["events"]),
        "{name}"
    );
}

#[test]
fn simulate_prints_aiperf_s_event_logs() {
    check("c4_seed42", &[]);
    check("c8_seed42", &[]);
    check("c5_seed42_five_traces", &[]);
    check("c4_seed42_ratio25_75", &[]);
    check("c4_seed42_burst", &["--burst-phase-starts"]);
    check("request_cap10", &["--request-cap", "10"]);
    check("c4_seed42_cachepressure20", &["--warm-s", "0.7"]);
    check("grace_cancel", &["--warm-s", "0.7", "--service", "47"]);
    check(
        "barrier_slow_child",
        &["--service", "2", "--service-for", "*::fa:*=20"],
    );
    check(
        "errors_continue",
        &["--fail", "*:0=500 boom", "--fail", "*:1=500 boom"],
    );
    check(
        "overflow_wedge",
        &["--fail", "trace_d::fa:000:1=400 maximum context"],
    );
    check(
        "root_overflow_recycles",
        &["--fail", "trace_c:1=400 prompt is too long"],
    );
}

#[test]
fn simulate_prints_the_fork_s_event_logs() {
    check("agentx1012_c4_seed42", &["--dialect", "agentx-1.0"]);
    // The grace period is a timer among the others, so it shows in the order at one instant.
    check(
        "agentx1012_c4_seed42_inferencex_flags",
        &["--warm-s", "0.7", "--warmup-grace-s", "1800"],
    );
}

#[test]
fn keys_of_the_fork_choose_its_rules() {
    let warmup = |log: &Value| -> Vec<String> {
        let of_warmup = |event: &&Value| event["ev"] == "send" && event["phase"] == "warmup";
        let events = log["events"].as_array().unwrap().iter().filter(of_warmup);
        let mut sent: Vec<String> = events
            .map(|event| {
                format!(
                    "{} {} {} {}",
                    event["t"], event["lane"], event["conversation"], event["turn"]
                )
            })
            .collect();
        sent.sort();
        sent
    };
    let (ours, theirs) = simulated("agentx1012_c4_seed42_inferencex_flags", &["--warm-s", "0.7"]);
    assert_eq!(ours["dialect"], "agentx-1.0");
    assert_eq!(
        warmup(&ours).len(),
        warmup(&theirs).len(),
        "primers and ten requests a lane"
    );
    let (ours, theirs) = simulated("agentx1012_c4_seed42", &["--dialect", "agentx-1.0"]);
    assert_eq!(warmup(&ours), warmup(&theirs));
    let (stock, _) = simulated("agentx1012_c4_seed42", &[]);
    assert_eq!(stock["dialect"], "aiperf-0.12.0");
    assert_ne!(
        warmup(&stock),
        warmup(&theirs),
        "primer leads are capped in the fork alone"
    );
}

#[test]
fn corpus_dump_prints_aiperf_s_reconstruction() {
    let vectors = vector("corpus", "minitraces.json");
    let folder = testkit::tempdir().unwrap();
    let file = folder.path().join("traces.jsonl");
    let mut compared = 0;
    for case in vectors["cases"].as_array().unwrap() {
        let lines: Vec<String> = case["traces"]
            .as_array()
            .unwrap()
            .iter()
            .map(Value::to_string)
            .collect();
        std::fs::write(&file, lines.join("\n")).unwrap();
        let models: Vec<&str> = case["models"]
            .as_array()
            .unwrap()
            .iter()
            .map(|model| model.as_str().unwrap())
            .collect();
        let models = models.join(",");
        let cap = case["options"]["trace_idle_gap_cap_seconds"]
            .as_f64()
            .map(|cap| cap.to_string());
        let mut arguments = vec!["corpus", "dump", text(&file), "--together", "--models", &models];
        if let Some(cap) = &cap {
            arguments.extend(["--trace-idle-gap-cap-seconds", cap]);
        }
        let output = turnmill(&arguments);
        if case["expect"].is_array() {
            let expected: String = case["expect"]
                .as_array()
                .unwrap()
                .iter()
                .map(|line| format!("{}\n", line.as_str().unwrap()))
                .collect();
            assert_eq!(out(&output), expected, "{}", case["name"]);
            compared += 1;
        } else {
            let message = crate::support::err(&output);
            let id = case["traces"][0]["id"].as_str().unwrap();
            assert_eq!(output.status.code(), Some(2), "{}", case["name"]);
            assert!(message.contains(id), "{}: {message}", case["name"]);
        }
    }
    assert!(compared > 20);
}

#[test]
fn digests_stand_for_dumps() {
    let vectors = vector("corpus", "minitraces.json");
    let trace = &vectors["cases"][0]["traces"][0];
    let folder = testkit::tempdir().unwrap();
    // One JSON trace over several lines.
    let file = folder.path().join("trace.json");
    std::fs::write(&file, format!("{trace:#}")).unwrap();
    let dump = turnmill(&["corpus", "dump", text(&file)]);
    let digest = turnmill(&["corpus", "dump", "--digests", text(&file)]);
    let expected = format!(
        "{} {}\n",
        trace["id"].as_str().unwrap(),
        crate::support::sha256(&dump.stdout)
    );
    assert_eq!(out(&digest), expected);
}
