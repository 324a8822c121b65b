//! `input_config`: the run's choices under aiperf's keys (`metrics-and-exports` §3.2). What we have no such choice of is left out.

use record::header::RunHeader;
use serde_json::{Map, Value, json};

use super::{Bound, Options};

/// `input_config` of both `profile_export_aiperf.json` and `server_metrics_export.json`.
pub(crate) fn of(header: &RunHeader, options: &Options) -> Value {
    let replay = |path: &str| {
        let found = header
            .scenario
            .pointer(&format!("/document/workload/replay/{path}"));
        found.filter(|value| !value.is_null()).cloned()
    };
    let (base, path) = split(header.server.url.as_str());
    let slos = slos(&options.bounds_of(header));
    object([
        ("models", Some(json!({"items": [{"name": header.server.model}]}))),
        (
            "endpoint",
            Some(json!({
                "urls": [base],
                "type": header.endpoint_type(),
                "path": path,
                "streaming": true,
                "use_server_token_count": true,
            })),
        ),
        ("datasets", Some(json!([dataset(header, &replay)]))),
        ("phases", Some(json!([profiling(header, &replay)]))),
        ("artifacts", options.dir.as_ref().map(|dir| json!({"dir": dir}))),
        ("slos", slos),
        (
            "tokenizer",
            options.tokenizer.as_ref().map(|name| json!({"name": name})),
        ),
        ("gpu_telemetry", Some(json!({"enabled": false}))),
        ("network_latency", Some(json!({"enabled": false}))),
        ("runtime", Some(json!({"ui": "none", "workers": 1}))),
        ("scenario", header.validity.scenario.clone().map(Value::from)),
        (
            "unsafe_override",
            (!header.validity.override_locks.is_empty()).then_some(Value::Bool(true)),
        ),
    ])
}

type Choice<'a> = &'a dyn Fn(&str) -> Option<Value>;

fn dataset(header: &RunHeader, replay: Choice<'_>) -> Value {
    object([
        ("name", Some("main".into())),
        ("type", Some("file".into())),
        (
            "path",
            replay("corpus/source/file")
                .or_else(|| header.trace.as_ref().map(|trace| trace.file.clone().into())),
        ),
        ("format", replay("corpus/format").map(|_| "weka_trace".into())),
        ("entries", header.selection.map(|selection| selection.kept.into())),
        ("random_seed", Some(header.seed.into())),
        ("max_context_length", header.server.max_model_len.map(Value::from)),
    ])
}

fn profiling(header: &RunHeader, replay: Choice<'_>) -> Value {
    // A limit that is not there is `inf`, which aiperf leaves out.
    let limit = |name: &str| header.limits.get(name).filter(|value| value.is_number()).cloned();
    object([
        ("name", Some("profiling".into())),
        ("kind", Some("profiling".into())),
        ("type", header.held_concurrency().map(|_| "concurrency".into())),
        ("duration", limit("duration_s")),
        ("concurrency", header.held_concurrency().map(Value::from)),
        ("grace_period", limit("grace_s")),
        (
            "timing_mode",
            header.trace.is_none().then(|| "agentic_replay".into()),
        ),
        ("failed_request_threshold", limit("failed_request_threshold")),
        ("trajectory_start_min_ratio", replay("trajectory_start/min_ratio")),
        ("trajectory_start_max_ratio", replay("trajectory_start/max_ratio")),
        ("system_idle_gap_cap_seconds", limit("system_idle_gap_cap_s")),
    ])
}

/// What makes a request good.
fn slos(bounds: &[Bound]) -> Option<Value> {
    let stated = bounds.iter().map(Bound::stated);
    let stated: Map<_, _> = stated
        .map(|(tag, value)| (tag.to_owned(), value.into()))
        .collect();
    (!stated.is_empty()).then_some(Value::Object(stated))
}

fn object<const N: usize>(entries: [(&str, Option<Value>); N]) -> Value {
    let there = entries
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(there.collect::<Map<_, _>>())
}

/// Base and path of the URL that was asked.
fn split(url: &str) -> (&str, &str) {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..].find('/').map_or(url.len(), |at| host + at);
    url.split_at(end)
}
