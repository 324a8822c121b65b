//! Every key of aiperf's example files is in ours, with its unit and its figures, or `docs/reference/aiperf-artifacts.md` says why not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::convert::folder_of;
use crate::runs::{artifacts, lines, mixed_artifacts};

/// What a file holds, each by its dotted path: for a metric `unit=…` and its figures, for another key what kind of value it is.
type Keys = BTreeMap<String, BTreeSet<String>>;

fn document() -> String {
    std::fs::read_to_string(testkit::checkout().join("docs/reference/aiperf-artifacts.md")).unwrap()
}

/// The first column of the table of keys that are not there.
fn exceptions() -> BTreeSet<String> {
    let document = document();
    let table = document.split("## Keys that are not there").nth(1).unwrap();
    let table = table.split("\n## ").next().unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split('`').next().unwrap().to_owned())
        .collect()
}

fn collect(path: &str, value: &Value, keys: &mut Keys) {
    let mut note = |what: String| {
        keys.entry(path.to_owned()).or_default().insert(what);
    };
    match value {
        Value::Object(object) if object.contains_key("unit") => {
            note(format!("unit={}", object["unit"].as_str().unwrap()));
            object.keys().for_each(|figure| note(figure.clone()));
            let value = object.get("value");
            if let Some(value) = value {
                note(kind(value).to_owned());
            }
        }
        Value::Object(object) => {
            for (key, value) in object {
                let below = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                collect(&below, value, keys);
            }
        }
        // An empty list says nothing of what it would hold.
        Value::Array(items) if items.is_empty() => {}
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for item in items {
                collect(path, item, keys);
            }
        }
        other => note(kind(other).to_owned()),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

/// Metrics of the warm-up are those of the run.
fn keys_of_document(document: &Value, keys: &mut Keys) {
    for (key, value) in document.as_object().unwrap() {
        let path = if key == "warmup_metrics" { "" } else { key };
        collect(path, value, keys);
    }
}

fn keys_of_rows(rows: &[Value], keys: &mut Keys) {
    for row in rows {
        collect("row", row, keys);
    }
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/aiperf-artifacts")
}

fn theirs() -> Keys {
    let mut keys = Keys::new();
    let at = |name: &str| examples().join(name);
    for name in [
        "agentx-run/profile_export_aiperf.json",
        "chat-run/profile_export_aiperf.json",
        "error-run/profile_export_aiperf.trimmed.json",
        "agentx-run-with-errors/profile_export_aiperf.trimmed.json",
    ] {
        keys_of_document(&testkit::json(&at(name)), &mut keys);
    }
    for name in ["agentx-run", "chat-run", "error-run"] {
        keys_of_rows(&lines(&at(name).join("profile_export.jsonl")), &mut keys);
    }
    for run in ["a_c4_realvllm", "a_c4_r3", "b_c8_r1"] {
        if let Some(run) = testkit::shared(&format!("oracle/captures/aiperf_outputs/{run}")) {
            keys_of_document(&testkit::json(&run.join("profile_export_aiperf.json")), &mut keys);
            keys_of_rows(&lines(&run.join("profile_export.jsonl.gz")), &mut keys);
        }
    }
    keys
}

fn ours() -> Keys {
    let mut keys = Keys::new();
    let mixed = mixed_artifacts();
    keys_of_document(&mixed.json, &mut keys);
    keys_of_rows(&mixed.rows, &mut keys);
    keys
}

#[test]
fn every_key_is_there_or_documented() {
    let (theirs, ours, exceptions) = (theirs(), ours(), exceptions());
    let excepted = |path: &str| {
        exceptions.iter().any(|except| {
            path == except
                || path
                    .strip_prefix(except.as_str())
                    .is_some_and(|rest| rest.starts_with('.'))
        })
    };
    assert!(theirs.len() > 200, "{} keys in the examples", theirs.len());
    let mut missing = Vec::new();
    for (path, notes) in theirs.iter().filter(|(path, _)| !excepted(path)) {
        match ours.get(path) {
            None => missing.push(path.clone()),
            Some(found) => {
                let lacking: Vec<_> = notes.difference(found).collect();
                assert!(
                    lacking.is_empty(),
                    "{path}: {lacking:?} of {notes:?} not in {found:?}"
                );
            }
        }
    }
    assert_eq!(
        missing,
        Vec::<String>::new(),
        "neither written nor in the document"
    );
    for except in &exceptions {
        assert!(
            !ours.contains_key(except),
            "{except} is documented as absent and is there"
        );
    }
}

#[test]
fn rows_of_the_csv() {
    let theirs = std::fs::read_to_string(examples().join("chat-run/profile_export_aiperf.csv")).unwrap();
    let ours = mixed_artifacts().csv;
    let names = |text: &str| -> BTreeSet<String> {
        text.lines()
            .map(|line| line.split(',').next().unwrap().to_owned())
            .collect()
    };
    let absent: Vec<_> = names(&theirs).difference(&names(&ours)).cloned().collect();
    let documented = [
        "HTTP Chunks Received",
        "HTTP Chunks Sent",
        "HTTP Receiving (ms)",
        "HTTP Waiting (TTFB) (ms)",
    ];
    assert_eq!(absent, documented);
    let heads = |text: &str| -> Vec<String> {
        text.lines()
            .filter(|line| line.starts_with("Metric,"))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(heads(&theirs), heads(&ours));
    assert!(
        ours.contains("\n\nMetric,Value\n"),
        "a blank line between the sections"
    );
    assert!(
        ours.contains("\nAdjusted Time to First Token (ms),,"),
        "infinite figures are blank: {ours}"
    );
}

/// The whole run's warm-up, which the examples show in part.
#[test]
fn warmup_has_the_tags_of_aiperf() {
    let Some(run) = testkit::shared("oracle/captures/aiperf_outputs/a_c4_realvllm") else {
        return;
    };
    let place = testkit::tempdir().unwrap();
    let theirs = folder_of(&run, place.path());
    let ours = artifacts(place.path()).json;
    let exceptions = exceptions();
    for tag in theirs["warmup_metrics"].as_object().unwrap().keys() {
        // The rows do not say which blocks a request had.
        let untold = tag == "theoretical_prefix_cache_hit" || exceptions.contains(tag);
        assert!(untold || ours["warmup_metrics"].get(tag).is_some(), "{tag}");
    }
}

#[test]
fn the_document_holds_the_table_of_metrics() {
    let table = exports::aiperf::catalogue::markdown();
    assert!(
        document().contains(&table),
        "docs/reference/aiperf-artifacts.md must hold this table:\n\n{table}"
    );
}
