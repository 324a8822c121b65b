//! Parts of the corpus side, each against its own vectors.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use corpus::draws::Draws;
use corpus::formats::weka;
use corpus::reconstruct::predecessors::{Interval, Stream, infer};
use corpus::select::{Selection, SelectionReport, peak};
use corpus::{Corpus, LoadOptions};
use serde::Deserialize;
use serde_json::Value;
use tree::Trace;

fn data(name: &str) -> Value {
    testkit::json(&Path::new("tests/data").join(name))
}

/// Writes rows as a corpus file and loads it.
fn load(rows: &[Value], options: &LoadOptions) -> Corpus {
    let folder = testkit::tempdir().unwrap();
    let path = folder.path().join("corpus.jsonl");
    let lines: Vec<String> = rows.iter().map(ToString::to_string).collect();
    fs::write(&path, lines.join("\n")).unwrap();
    Corpus::load(&path, None, options, None).unwrap()
}

#[test]
fn block_starts_and_tails() {
    let file = data("blocks.json");
    let starts = file["block_starts"].as_array().unwrap();
    assert!(!starts.is_empty());
    for vector in starts {
        let draws = Draws::new(42, vector["corpus_size"].as_u64().unwrap());
        let (trace, id) = (
            vector["trace_id"].as_str().unwrap(),
            vector["hash_id"].as_i64().unwrap(),
        );
        assert_eq!(
            draws.block_seed(trace, id).to_string(),
            vector["reseed"].as_str().unwrap(),
            "{vector}"
        );
        assert_eq!(
            draws.block_start(trace, id),
            vector["start"].as_u64().unwrap(),
            "{vector}"
        );
    }
    let tails = file["partial_tails"].as_array().unwrap();
    assert!(!tails.is_empty());
    for vector in tails {
        let draws = Draws::new(42, vector["corpus_size"].as_u64().unwrap());
        let label = vector["seed"].as_str().unwrap();
        let (conversation, turn) = label
            .strip_suffix(":partial_tail")
            .unwrap()
            .rsplit_once(":turn_")
            .unwrap();
        let tokens = u32::try_from(vector["n"].as_u64().unwrap()).unwrap();
        let start = draws.tail_start(conversation, turn.parse().unwrap(), tokens);
        assert_eq!(start, vector["offset"].as_u64().unwrap(), "{vector}");
    }
}

#[test]
fn peaks() {
    let cases = data("minitraces.json");
    let cases = cases["cases"].as_array().unwrap();
    for vector in data("selection.json")["peaks"].as_array().unwrap() {
        let mut traces = cases.iter().flat_map(|case| case["traces"].as_array().unwrap());
        let trace = traces.find(|trace| trace["id"] == vector["id"]).unwrap();
        let row = weka::parse(trace.to_string().as_bytes()).unwrap();
        assert_eq!(peak(&row, None), vector["peak"].as_u64().unwrap(), "{vector}");
        assert_eq!(
            peak(&row, Some(50)),
            vector["peak_max_osl_50"].as_u64().unwrap(),
            "{vector}"
        );
    }
}

/// A row of one request, from a name like `t990_10`: its prompt and answer tokens.
fn row_of_name(name: &str) -> Value {
    let (input, output) = name.strip_prefix('t').unwrap().split_once('_').unwrap();
    let (input, output): (u64, u64) = (input.parse().unwrap(), output.parse().unwrap());
    let ids: Vec<u64> = (0..input / 64).collect();
    serde_json::json!({
        "id": name, "models": ["A"], "block_size": 64, "hash_id_scope": "local",
        "requests": [{"t": 0, "type": "n", "model": "A", "in": input, "out": output, "hash_ids": ids}],
    })
}

#[test]
fn selections() {
    let file = data("selection.json");
    let rows: Vec<Value> = file["pool"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row_of_name(row["id"].as_str().unwrap()))
        .collect();
    for vector in file["selections"].as_array().unwrap() {
        for workers in [1, 3] {
            let options = LoadOptions {
                selection: Selection {
                    max_context_length: vector["max_context_length"].as_u64(),
                    entries: vector["num_dataset_entries"]
                        .as_u64()
                        .map(|entries| entries as usize),
                },
                workers: std::num::NonZeroUsize::new(workers),
                ..Default::default()
            };
            let corpus = load(&rows, &options);
            let kept: Vec<&str> = corpus.traces.iter().map(|trace| &*trace.id).collect();
            assert_eq!(serde_json::json!(kept), vector["kept"], "{vector}");
            let number = |key: &str| vector[key].as_u64().unwrap();
            let expected = SelectionReport {
                scanned: number("scanned") as usize,
                kept: kept.len(),
                dropped: number("rejected") as usize,
                largest: number("largest"),
            };
            assert_eq!(corpus.selection, expected, "{vector}");
        }
    }
}

#[derive(Deserialize)]
struct RecordedTurn {
    stream: String,
    turn: usize,
    start_ms: Option<f64>,
    api_time_ms: Option<f64>,
}

#[derive(Deserialize)]
struct Waiting {
    stream: String,
    turn: usize,
    wait_for: Vec<(String, usize)>,
}

#[test]
fn recorded_predecessors() {
    let file = data("predecessors.json");
    let vectors = file["vectors"].as_array().unwrap();
    assert_eq!(vectors.len(), 20);
    for vector in vectors {
        let name = &vector["name"];
        let turns: Vec<RecordedTurn> = serde_json::from_value(vector["intervals"].clone()).unwrap();
        let mut streams: BTreeMap<&str, Vec<Option<Interval>>> = BTreeMap::new();
        for turn in &turns {
            let stream = streams.entry(&turn.stream).or_default();
            assert_eq!(turn.turn, stream.len(), "{name}: turns come in order");
            stream.push(Interval::recorded(turn.start_ms, turn.api_time_ms));
        }
        let streams: Vec<Stream<'_>> = streams
            .into_iter()
            .enumerate()
            .map(|(conversation, (id, turns))| Stream {
                id,
                conversation,
                turns,
            })
            .collect();
        let found = infer(&streams);
        let expected: Vec<Waiting> = serde_json::from_value(vector["predecessors"].clone()).unwrap();
        assert_eq!(expected.len(), turns.len(), "{name}");
        for waiting in expected {
            let stream = streams
                .iter()
                .position(|stream| stream.id == waiting.stream)
                .unwrap();
            let found: Vec<(String, usize)> = found[stream][waiting.turn]
                .iter()
                .map(|earlier| (streams[earlier.conversation].id.to_owned(), earlier.turn))
                .collect();
            assert_eq!(
                found, waiting.wait_for,
                "{name}: {} turn {}",
                waiting.stream, waiting.turn
            );
        }
    }
}

/// The fields of `inputs.json` for one conversation.
fn described(trace: &Trace, index: usize) -> Value {
    let own = &trace.conversations[index];
    let branch_ids =
        |branches: &[usize]| -> Vec<&str> { branches.iter().map(|at| &*own.branches[*at].id).collect() };
    let id = |at: usize| &*trace.conversations[at].id;
    let turns = own.turns.iter().map(|turn| {
        let predecessors: Vec<_> = turn
            .predecessors
            .iter()
            .map(|at| (id(at.conversation), at.turn))
            .collect();
        serde_json::json!({
            "timestamp_ms": turn.timestamp_ms,
            "delay_ms": turn.delay_ms,
            "api_time_ms": turn.api_time_ms,
            "branch_ids": branch_ids(&turn.spawns),
            "join_branches": branch_ids(&turn.joins),
            "replay_predecessors": predecessors,
        })
    });
    let branches = own.branches.iter().map(|branch| {
        serde_json::json!({
            "branch_id": &*branch.id,
            "children": branch.children.iter().map(|at| id(*at)).collect::<Vec<_>>(),
            "mode": "spawn",
            "is_background": branch.background,
            "start_timestamp_ms": branch.start_ms,
            "dispatch_timing": "post",
        })
    });
    serde_json::json!({
        "conversation_id": &*own.id,
        "is_root": own.parent.is_none(),
        "agent_depth": own.depth,
        "parent": own.parent.map(id),
        "replay_scope_id": &*own.replay_scope,
        "turns": turns.collect::<Vec<_>>(),
        "branches": branches.collect::<Vec<_>>(),
    })
}

#[test]
fn conversations_of_the_replay_inputs() {
    let file = data("inputs.json");
    let corpus = load(file["weka_traces"].as_array().unwrap(), &LoadOptions::default());
    let roots = corpus.traces.iter().map(|trace| described(trace, 0));
    let children = corpus
        .traces
        .iter()
        .flat_map(|trace| (1..trace.conversations.len()).map(|index| described(trace, index)));
    let found: Vec<Value> = roots.chain(children).collect();
    let expected = file["conversations"].as_array().unwrap();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found, expected);
    }
}
