//! The bundled corpus against the rules of its format, written here a second time (`aiperf-corpus` §1.1, §1.2).

use std::collections::HashSet;

use corpus::synth::{DEMO_SHA256, Synth, demo};
use serde::Deserialize;
use sha2::{Digest, Sha256};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    models: Vec<String>,
    block_size: u32,
    tool_tokens: usize,
    system_tokens: usize,
    hash_id_scope: String,
    requests: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Entry {
    #[serde(rename = "n")]
    Normal(Call),
    #[serde(rename = "s")]
    Streaming(Call),
    #[serde(rename = "subagent")]
    Subagent(Subagent),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    t: f64,
    model: String,
    r#in: usize,
    out: usize,
    hash_ids: Vec<usize>,
    input_types: Vec<String>,
    output_types: Vec<String>,
    stop: String,
    api_time: f64,
    ttft: Option<f64>,
    think_time: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Subagent {
    t: f64,
    agent_id: String,
    #[serde(rename = "subagent_type")]
    kind: String,
    duration_ms: Option<u64>,
    total_tokens: Option<u64>,
    tool_use_count: Option<u64>,
    status: String,
    requests: Vec<Entry>,
    models: Vec<String>,
    tool_tokens: usize,
    system_tokens: usize,
}

impl Entry {
    fn start(&self) -> f64 {
        match self {
            Self::Normal(call) | Self::Streaming(call) => call.t,
            Self::Subagent(agent) => agent.t,
        }
    }

    fn call(&self) -> Option<&Call> {
        match self {
            Self::Normal(call) | Self::Streaming(call) => Some(call),
            Self::Subagent(_) => None,
        }
    }
}

fn rows(text: &[u8]) -> Vec<Row> {
    let lines = text.strip_suffix(b"\n").unwrap().split(|byte| *byte == b'\n');
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// What holds for the calls of one layer, in the order of the row; `prefix` tokens are declared.
fn check_calls(row: &Row, calls: &[&Entry], models: &[String], prefix: usize) {
    for entry in calls {
        let call = entry.call().expect("agents hold calls only");
        assert_eq!(call.hash_ids.len(), call.r#in / 64, "{} at {}", row.id, call.t);
        assert!(
            (2_000..=30_000).contains(&call.r#in) && (20..=400).contains(&call.out),
            "{} at {}",
            row.id,
            call.t
        );
        assert!(models.contains(&call.model));
        let first_token = call.ttft.unwrap_or(0.0);
        assert_eq!(
            call.ttft.is_some(),
            matches!(entry, Entry::Streaming(_)),
            "{} at {}",
            row.id,
            call.t
        );
        assert!(first_token < call.api_time && (0.0..20.0).contains(&call.think_time));
        let ends_turn = call.stop == "end_turn";
        assert!(ends_turn || call.stop == "tool_use", "{}", call.stop);
        assert_eq!(
            call.output_types.iter().any(|kind| kind == "tool_use"),
            !ends_turn
        );
        assert!(matches!(call.input_types[0].as_str(), "text" | "tool_result"));
    }
    assert!(
        calls[0].call().unwrap().hash_ids.len() >= prefix.div_ceil(64),
        "{}: prefix",
        row.id
    );
    assert!(
        calls.windows(2).all(|pair| pair[0].start() <= pair[1].start()),
        "{}: order",
        row.id
    );
}

fn check_subagent(row: &Row, agent: &Subagent) {
    let calls: Vec<&Entry> = agent.requests.iter().collect();
    check_calls(
        row,
        &calls,
        &agent.models,
        agent.tool_tokens + agent.system_tokens,
    );
    assert!(
        calls.len() >= 2 && calls[0].start() > agent.t,
        "{}: inner times are absolute",
        row.id
    );
    for pair in calls.windows(2) {
        let (before, after) = (pair[0].call().unwrap(), pair[1].call().unwrap());
        assert!(
            after.hash_ids.starts_with(&before.hash_ids),
            "{}: an agent's prompt grows",
            row.id
        );
    }
    assert_eq!(agent.duration_ms.is_some(), agent.total_tokens.is_some());
    assert_eq!(agent.duration_ms.is_some(), agent.tool_use_count.is_some());
    assert!(["Explore", "general-purpose", "Plan"].contains(&agent.kind.as_str()));
}

#[test]
fn the_committed_corpus_is_what_the_generator_gives() {
    let made = demo();
    let committed = testkit::bytes(&testkit::checkout().join("corpora/demo.jsonl"));
    assert!(
        made == committed,
        "write it anew: cargo run -p corpus --example demo_corpus > corpora/demo.jsonl"
    );
    assert_eq!(hex(&Sha256::digest(&made)), DEMO_SHA256);
}

fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap();
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

#[test]
fn every_row_keeps_the_rules_of_the_format() {
    let rows = rows(&demo());
    let ids: HashSet<_> = rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!((rows.len(), ids.len()), (24, 24));
    for row in &rows {
        assert_eq!((row.block_size, row.hash_id_scope.as_str()), (64, "local"));
        assert!(row.requests[0].start().abs() < f64::EPSILON, "{}", row.id);
        let calls: Vec<&Entry> = row
            .requests
            .iter()
            .filter(|entry| entry.call().is_some())
            .collect();
        check_calls(row, &calls, &row.models, row.tool_tokens + row.system_tokens);
        assert!(
            row.requests[0].call().is_some(),
            "{}: an agent needs a turn that starts it",
            row.id
        );
        assert!(
            row.requests
                .windows(2)
                .all(|pair| pair[0].start() <= pair[1].start()),
            "{}: order",
            row.id
        );
        let mut agents = HashSet::new();
        for entry in &row.requests {
            if let Entry::Subagent(agent) = entry {
                check_subagent(row, agent);
                assert!(
                    agents.insert(agent.agent_id.as_str()),
                    "{}: {}",
                    row.id,
                    agent.agent_id
                );
            }
        }
    }
}

#[test]
fn the_bundled_corpus_holds_every_shape() {
    let rows = rows(&demo());
    let entries = || rows.iter().flat_map(|row| &row.requests);
    let agents = || {
        entries().filter_map(|entry| match entry {
            Entry::Subagent(agent) => Some(agent),
            _ => None,
        })
    };
    let calls = entries().filter(|entry| entry.call().is_some()).count();
    let inner: usize = agents().map(|agent| agent.requests.len()).sum();
    assert_eq!((calls, agents().count(), inner), (359, 77, 391));
    assert_eq!(
        agents().filter(|agent| agent.status == "async_launched").count(),
        6
    );
    assert_eq!(agents().filter(|agent| agent.duration_ms.is_none()).count(), 25);
    let side_models = entries()
        .filter_map(Entry::call)
        .filter(|call| call.model == "demo-small")
        .count();
    assert_eq!(side_models, 5, "short calls to another model");
    let shrinks = |row: &&Row| {
        let own: Vec<_> = row.requests.iter().filter_map(Entry::call).collect();
        own.windows(2).any(|pair| {
            let (before, after) = (&pair[0].hash_ids, &pair[1].hash_ids);
            after.len() < before.len() && after[0] == before[0]
        })
    };
    assert!(
        rows.iter().filter(shrinks).count() >= 4,
        "compactions and flattened agents"
    );
}

#[test]
fn other_sizes_follow_their_bounds_and_begin_alike() {
    let few = Synth {
        traces: 3,
        ..Synth::DEMO
    }
    .jsonl();
    assert!(
        demo().starts_with(&few),
        "more traces leave the first ones as they are"
    );
    assert_ne!(
        Synth {
            seed: 43,
            traces: 3,
            ..Synth::DEMO
        }
        .jsonl(),
        few
    );
    let small = Synth {
        traces: 48,
        turns: (6, 40),
        prompt_tokens_max: 8_192,
        ..Synth::DEMO
    }
    .jsonl();
    for row in rows(&small) {
        let longest = row
            .requests
            .iter()
            .filter_map(Entry::call)
            .map(|call| call.r#in + call.out)
            .max();
        assert!(longest.unwrap() <= 8_192, "{}", row.id);
    }
}
