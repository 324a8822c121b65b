//! The five hand-written traces as aiperf's loader handed them to its timing, read without our corpus crate.

use replay::{Dialect, OnPrimerFailure, Sampling, Settings, Warmup};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use tree::{
    Branch, Conversation, HeadRole, PromptStep, Source, SourceKind, TheoreticalCache, Trace, Turn, TurnRef,
};

pub(crate) fn vector(name: &str) -> Value {
    testkit::json(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/data")
            .join(name),
    )
}

pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

pub(crate) fn number(value: &Value) -> f64 {
    match value {
        Value::String(text) => text.parse().unwrap(),
        other => other.as_f64().unwrap_or_else(|| panic!("{other} is no number")),
    }
}

/// The named traces, in that order.
pub(crate) fn traces(ids: &Value) -> Arc<[Arc<Trace>]> {
    let all = vector("inputs.json");
    list(ids)
        .iter()
        .map(|id| Arc::new(trace(&all, text(id))))
        .collect()
}

fn trace(all: &Value, id: &str) -> Trace {
    let members: Vec<&Value> = list(&all["conversations"])
        .iter()
        .filter(|one| text(&one["conversation_id"]) == id || one["parent"].as_str() == Some(id))
        .collect();
    let index = |name: &str| {
        members
            .iter()
            .position(|one| one["conversation_id"] == name)
            .unwrap()
    };
    Trace {
        id: id.into(),
        conversations: members.iter().map(|one| conversation(one, &index)).collect(),
        block_ids: Vec::new(),
        peak_tokens: 0,
    }
}

fn conversation(one: &Value, index: &dyn Fn(&str) -> usize) -> Conversation {
    let branches = list(&one["branches"]);
    let branch = |id: &Value| {
        branches
            .iter()
            .position(|branch| branch["branch_id"] == *id)
            .unwrap()
    };
    Conversation {
        id: text(&one["conversation_id"]).into(),
        parent: one["parent"].as_str().map(index),
        depth: one["agent_depth"].as_u64().unwrap() as u32,
        replay_scope: text(&one["replay_scope_id"]).into(),
        turns: list(&one["turns"])
            .iter()
            .map(|turn| Turn {
                timestamp_ms: turn["timestamp_ms"].as_f64(),
                delay_ms: turn["delay_ms"].as_f64(),
                api_time_ms: turn["api_time_ms"].as_f64(),
                spawns: list(&turn["branch_ids"]).iter().map(branch).collect(),
                joins: list(&turn["join_branches"]).iter().map(branch).collect(),
                predecessors: list(&turn["replay_predecessors"])
                    .iter()
                    .map(|before| TurnRef {
                        conversation: index(text(&before[0])),
                        turn: before[1].as_u64().unwrap() as usize,
                    })
                    .collect(),
                ..blank()
            })
            .collect(),
        branches: branches
            .iter()
            .map(|branch| Branch {
                id: text(&branch["branch_id"]).into(),
                children: list(&branch["children"])
                    .iter()
                    .map(|child| index(text(child)))
                    .collect(),
                background: branch["is_background"].as_bool().unwrap(),
                start_ms: branch["start_timestamp_ms"].as_f64(),
            })
            .collect(),
    }
}

/// A turn with nothing in it; timing does not look at prompts.
pub(crate) fn blank() -> Turn {
    Turn {
        timestamp_ms: None,
        delay_ms: None,
        api_time_ms: None,
        model: 0,
        max_tokens: 1,
        input_tokens: 0,
        input_kind: None,
        source: Source {
            outer: 0,
            inner: None,
            kind: SourceKind::WekaMain,
        },
        cache: TheoreticalCache::default(),
        spawns: Vec::new(),
        joins: Vec::new(),
        predecessors: Vec::new(),
        prompt: PromptStep {
            keep_blocks: 0,
            new_blocks: Box::default(),
            head_blocks: 0,
            head_role: HeadRole::Assistant,
            tail_tokens: 0,
        },
    }
}

/// The settings that a vector states; `sampling` stands in plans only.
pub(crate) fn settings(vector: &Value) -> Settings {
    let flags = &vector["extra_flags"];
    let grace_s = vector["grace_s"].as_f64().unwrap_or(30.0);
    let warmup = match (
        flags["agentic_cache_warmup_duration"].as_f64(),
        flags["warmup_requests_per_lane"].as_u64(),
    ) {
        (Some(seconds), _) => Warmup::PressureFor(seconds),
        (_, Some(requests)) => Warmup::PressureRequests(requests),
        _ => Warmup::Primers,
    };
    let name = vector["name"].as_str().unwrap_or_default();
    Settings {
        dialect: if name.contains("agentx") {
            Dialect::Agentx10
        } else {
            Dialect::Aiperf0120
        },
        concurrency: vector["concurrency"].as_u64().unwrap() as u32,
        seed: vector["seed"].as_u64().unwrap(),
        benchmark_id: vector["benchmark_id"].as_str().unwrap_or("bench").to_string(),
        min_ratio: number(&vector["min_ratio"]),
        max_ratio: number(&vector["max_ratio"]),
        sampling: match vector["sampling"].as_str() {
            Some("shuffle") => Sampling::Shuffle,
            Some("random") => Sampling::Random,
            _ => Sampling::Sequential,
        },
        duration_s: vector["duration_s"].as_f64().unwrap_or(900.0),
        grace_s,
        system_idle_gap_cap_s: vector["system_idle_gap_cap_s"].as_f64().unwrap_or(10.0),
        trace_idle_gap_cap_s: flags["trace_idle_gap_cap_seconds"].as_f64(),
        warmup,
        warmup_grace_s: flags["warmup_grace_period"]
            .as_f64()
            .unwrap_or_else(|| warmup.default_grace_s(grace_s)),
        burst_phase_starts: flags["burst_phase_starts"].as_bool().unwrap_or(false),
        request_cap: flags["request_count"].as_u64(),
        on_primer_failure: OnPrimerFailure::Abort,
    }
}
