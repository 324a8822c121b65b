//! Every trace fixture, its problems and its numbers, as `index.json` states them.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;
use trace::Severity;
use trace::blocks::BlockStore;
use trace::csv::{CHUNK_COLUMNS, chunk_lines, chunk_times_name};
use trace::goodput::Goodput;
use trace::pace::{Pace, Schedule};
use trace::recording::{LoadOptions, Recording};
use trace::verify::{verify, verify_with};

use crate::support::{data, places, reference, targets};

#[derive(Deserialize)]
struct Index {
    valid: Vec<Valid>,
    invalid: Vec<Invalid>,
}

#[derive(Deserialize)]
struct Valid {
    binding: String,
    rows: u64,
    #[serde(default)]
    sessions: BTreeMap<String, usize>,
    #[serde(default)]
    open_loop_order: Vec<u64>,
    #[serde(default)]
    derived: Vec<Derived>,
    goodput: Option<Good>,
    #[serde(default)]
    prefix_blocks_in_arrival_order: Vec<Shared>,
    #[serde(default)]
    closed_loop_think_us: BTreeMap<String, Vec<i64>>,
}

#[derive(Deserialize)]
struct Derived {
    request_id: u64,
    status: String,
    ttft_ms: Option<f64>,
    e2e_ms: Option<f64>,
    mean_itl_ms: Option<f64>,
    client_queue_ms: Option<f64>,
}

#[derive(Deserialize)]
struct Good {
    per_class: BTreeMap<String, Class>,
    total: Class,
}

#[derive(Deserialize)]
struct Class {
    count: u64,
    good: u64,
    slo_attainment: Option<f64>,
}

#[derive(Deserialize)]
struct Shared {
    request_id: u64,
    full_blocks: u64,
    leading_blocks_seen_before: usize,
}

#[derive(Deserialize)]
struct Invalid {
    binding: String,
    at: Vec<String>,
    #[serde(default)]
    severity: Option<String>,
}

fn index() -> Index {
    testkit::json(&data("trace/index.json"))
}

#[test]
fn valid_traces_are_read() {
    let index = index();
    assert_eq!(index.valid.len(), 5);
    for valid in &index.valid {
        let name = &valid.binding;
        let reference = reference(&data("trace").join(name));
        let verified = verify(&reference).unwrap();
        assert_eq!(places(&verified.problems, Severity::Error), [""; 0], "{name}");
        assert_eq!(verified.rows, valid.rows, "{name}");
        let warnings = places(&verified.problems, Severity::Warning);
        if name.contains("extra-column") {
            assert_eq!(warnings, ["header: future_column"], "{name}");
        } else {
            assert_eq!(warnings, [""; 0], "{name}");
        }
    }
}

#[test]
fn invalid_traces_are_refused_where_they_are_wrong() {
    let index = index();
    assert_eq!(index.invalid.len(), 17);
    for invalid in &index.invalid {
        let name = &invalid.binding;
        let reference = reference(&data("trace").join(name));
        let verified = verify(&reference).unwrap();
        let (told, other) = match invalid.severity.as_deref() {
            Some("warning") => (Severity::Warning, Severity::Error),
            _ => (Severity::Error, Severity::Warning),
        };
        assert_eq!(places(&verified.problems, told), invalid.at, "{name}");
        assert_eq!(places(&verified.problems, other), [""; 0], "{name}");
        for problem in verified.problems.list() {
            assert!(
                !problem.found.is_empty() && !problem.expected.is_empty(),
                "{name}: {problem}"
            );
        }
        let loaded = Recording::load(&reference, LoadOptions::default());
        assert_eq!(
            loaded.is_err(),
            told == Severity::Error,
            "{name}: only what is right is loaded"
        );
    }
}

#[test]
fn latencies_are_derived_from_the_stamps() {
    for valid in index().valid.iter().filter(|valid| !valid.derived.is_empty()) {
        let reference = reference(&data("trace").join(&valid.binding));
        let mut checked = 0;
        verify_with(&reference, |row| {
            let derived = valid
                .derived
                .iter()
                .find(|derived| derived.request_id == row.request_id)
                .unwrap();
            let ms = |us: i64| us as f64 / 1e3;
            assert_eq!(row.status, derived.status);
            assert_eq!(
                row.ttft_us().map(ms),
                derived.ttft_ms,
                "request {}",
                row.request_id
            );
            assert_eq!(row.e2e_us().map(ms), derived.e2e_ms, "request {}", row.request_id);
            assert_eq!(
                row.mean_itl_us().map(|us| us / 1e3),
                derived.mean_itl_ms,
                "request {}",
                row.request_id
            );
            if let Some(queue_ms) = derived.client_queue_ms {
                assert_eq!(
                    ms(row.queue_us(1_767_225_600_000_000)),
                    queue_ms,
                    "request {}",
                    row.request_id
                );
            }
            assert_eq!(row.has_latency(), derived.status == "ok");
            checked += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!(checked, valid.derived.len());
    }
}

#[test]
fn order_sessions_and_think_times() {
    let options = LoadOptions {
        include_failed: true,
        ..LoadOptions::default()
    };
    for valid in index()
        .valid
        .iter()
        .filter(|valid| !valid.open_loop_order.is_empty())
    {
        let recording = Recording::load(&reference(&data("trace").join(&valid.binding)), options).unwrap();
        let order: Vec<u64> = recording
            .requests
            .iter()
            .map(|request| request.request_id)
            .collect();
        assert_eq!(order, valid.open_loop_order);
        assert_eq!(recording.sessions.len(), valid.sessions.len());
        for session in &recording.sessions {
            let name = recording.names.text(session.name);
            assert_eq!(session.rounds.len(), valid.sessions[name]);
            assert_eq!(
                recording.think_times_us(session),
                valid.closed_loop_think_us[name],
                "session {name}"
            );
        }
        let schedule = Schedule::of(&recording, Pace::default());
        assert_eq!(schedule.due_ns[0], 0);
        assert!(schedule.due_ns.is_sorted());
    }
}

#[test]
fn sharing_is_what_the_sidecar_says() {
    for valid in &index().valid {
        let reference = reference(&data("trace").join(&valid.binding));
        let Some((sidecar, _)) = &reference.token_blocks else {
            continue;
        };
        let store = BlockStore::open(sidecar).unwrap();
        let mut seen = HashSet::new();
        for shared in &valid.prefix_blocks_in_arrival_order {
            let ids = store.ids(shared.request_id).unwrap().unwrap();
            let full = &ids[..shared.full_blocks as usize];
            let leading = full.iter().take_while(|id| seen.contains(*id)).count();
            assert_eq!(
                leading, shared.leading_blocks_seen_before,
                "request {}",
                shared.request_id
            );
            seen.extend(full.iter().copied());
        }
        assert!(store.ids(99).unwrap().is_none());
    }
}

#[test]
fn milliseconds_are_the_same_instants() {
    let load = |name: &str| {
        Recording::load(
            &reference(&data("trace/valid").join(name)),
            LoadOptions::default(),
        )
        .unwrap()
    };
    let (us, ms) = (
        load("v2-minimal.binding.yaml"),
        load("v2-milliseconds.binding.yaml"),
    );
    let at = |recording: &Recording| {
        recording
            .requests
            .iter()
            .map(|request| request.at_us)
            .collect::<Vec<_>>()
    };
    assert_eq!(at(&us), [0, 250_000]);
    assert_eq!(at(&ms), at(&us));
}

#[test]
fn goodput_is_counted_by_class() {
    let mut checked = 0;
    for valid in &index().valid {
        let Some(expected) = &valid.goodput else {
            continue;
        };
        let path = data("trace").join(&valid.binding);
        let mut goodput = Goodput::new(targets(&path));
        verify_with(&reference(&path), |row| {
            goodput.row(row);
            Ok(())
        })
        .unwrap();
        let found: BTreeMap<_, _> = goodput.classes().collect();
        assert_eq!(found.len(), expected.per_class.len());
        for (class, expected) in &expected.per_class {
            let attained = found[class.as_str()];
            assert_eq!(
                (attained.count, attained.good),
                (expected.count, expected.good),
                "{class}"
            );
            assert_eq!(attained.share(), expected.slo_attainment, "{class}");
        }
        let total = goodput.total();
        assert_eq!(
            (total.count, total.good),
            (expected.total.count, expected.total.good)
        );
        checked += 1;
    }
    assert_eq!(checked, 1);
}

#[test]
fn chunk_times_have_the_form_of_the_fixture_s() {
    let reference = reference(&data("trace/valid/agentic-mini.binding.yaml"));
    let name = reference.data.file_name().unwrap().to_str().unwrap();
    let file = reference.data.with_file_name(chunk_times_name(name));
    let text = std::fs::read_to_string(file).unwrap();
    let mut stamps = BTreeMap::<u64, Vec<i64>>::new();
    for line in text.lines().skip(1) {
        let mut cells = line.split(',').map(|cell| cell.parse::<i64>().unwrap());
        let mut cell = || cells.next().unwrap();
        let request = stamps.entry(cell().cast_unsigned()).or_default();
        assert_eq!(cell(), i64::try_from(request.len()).unwrap());
        request.push(cell());
    }
    let mut again = CHUNK_COLUMNS.to_owned();
    for (id, stamps) in &stamps {
        chunk_lines(&mut again, *id, stamps.iter().copied());
    }
    assert_eq!(again, text);
    let mut compared = 0;
    verify_with(&reference, |row| {
        if let Some(stamps) = stamps.get(&row.request_id) {
            compared += 1;
            assert_eq!(
                (row.num_chunks, row.first_chunk_us, row.last_chunk_us),
                (stamps.len() as u64, stamps[0], stamps[stamps.len() - 1])
            );
        }
        Ok(())
    })
    .unwrap();
    assert!(compared > 0 && compared == stamps.len());
}
