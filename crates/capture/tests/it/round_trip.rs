//! A corpus replayed through a capture, and what it left replayed through another: the same session trees.
//!
//! The replaying client here is a small one: it sends a trace's requests in recorded order, one after the other, each prompt made
//! of its blocks. What a block says depends on its id, its trace and nothing else.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use sim::tokens::Template;
use sim::{Config, Server};

use crate::recorded::assert_valid;
use crate::rig::{Rig, chat, lines};

const BLOCK: usize = 64;

/// A request of a trace, and the session that it is of.
struct Turn {
    session: String,
    parent: Option<String>,
    at: f64,
    tokens: usize,
    output: u64,
    ids: Vec<u64>,
}

fn turns(trace: &Value) -> Vec<Turn> {
    let root = trace["id"].as_str().unwrap().to_owned();
    let turn = |entry: &Value, session: &str, parent: Option<&str>, from: f64| Turn {
        session: session.to_owned(),
        parent: parent.map(str::to_owned),
        at: from + entry["t"].as_f64().unwrap(),
        tokens: entry["in"].as_u64().unwrap() as usize,
        output: entry["out"].as_u64().unwrap().clamp(1, 20),
        ids: entry["hash_ids"]
            .as_array()
            .unwrap()
            .iter()
            .map(|id| id.as_u64().unwrap())
            .collect(),
    };
    let mut out = Vec::new();
    for entry in trace["requests"].as_array().unwrap() {
        if entry["type"] != "subagent" {
            out.push(turn(entry, &root, None, 0.0));
            continue;
        }
        let session = format!("{root}/{}", entry["agent_id"].as_str().unwrap());
        let start = entry["t"].as_f64().unwrap();
        for inner in entry["requests"].as_array().unwrap() {
            // Older recordings count from the start of the subagent.
            let from = if inner["t"].as_f64().unwrap() + 1e-6 < start {
                start
            } else {
                0.0
            };
            out.push(turn(inner, &session, Some(&root), from));
        }
    }
    out.sort_by(|one, other| one.at.total_cmp(&other.at));
    out
}

/// Text of a block: letters that say whose it is.
fn block(trace: &str, id: u64) -> String {
    let mut text = format!("{trace} {id} ");
    while text.len() < BLOCK {
        let word = id.wrapping_mul(2_654_435_761) ^ text.len() as u64;
        text.push_str(&word.to_string());
        text.push(' ');
    }
    text.truncate(BLOCK);
    text
}

/// Sends every trace of `traces` through a capture before `server` and gives back the Weka traces it wrote.
fn replay(server: &Server, traces: &[Value]) -> Vec<Value> {
    let mut rig = Rig::with(&server.url(), |options| {
        options.session_header = Some("x-session".to_owned());
        options.parent_header = Some("x-parent".to_owned());
    });
    for trace in traces {
        let id = trace["id"].as_str().unwrap();
        for turn in turns(trace) {
            let mut text: String = turn.ids.iter().map(|one| block(id, *one)).collect();
            text += &"t".repeat(turn.tokens.saturating_sub(text.len()));
            let parent = turn
                .parent
                .map(|parent| format!("X-Parent: {parent}\r\n"))
                .unwrap_or_default();
            let body = json!({"model": "sim", "messages": [{"role": "user", "content": text}], "max_tokens": turn.output,
                "ignore_eos": true, "stream": true, "stream_options": {"include_usage": true}});
            let answer = chat(
                rig.addr(),
                &format!("X-Session: {}\r\n{parent}", turn.session),
                &body,
            );
            assert!(answer.contains("data: [DONE]"), "{answer}");
        }
    }
    let finished = rig.stop();
    assert_valid(&finished[0]);
    lines(&finished[0].paths.weka())
}

/// Session names, request counts, lengths; and the block lists numbered by first appearance.
fn shape(trace: &Value) -> Vec<(usize, usize, u64, Vec<usize>)> {
    let mut seen = Vec::new();
    let mut sessions = Vec::new();
    let place = |list: &mut Vec<u64>, id: u64| {
        list.iter().position(|known| *known == id).unwrap_or_else(|| {
            list.push(id);
            list.len() - 1
        })
    };
    let mut names: Vec<String> = Vec::new();
    for turn in turns(trace) {
        let session = names
            .iter()
            .position(|known| *known == turn.session)
            .unwrap_or_else(|| {
                names.push(turn.session.clone());
                names.len() - 1
            });
        let full = turn.tokens / BLOCK;
        let ids = turn
            .ids
            .iter()
            .take(full)
            .map(|id| place(&mut seen, *id))
            .collect();
        sessions.push((session, turn.tokens, turn.output, ids));
    }
    sessions
}

fn check(name: &str, corpus: &Path, traces_max: usize) {
    let text = std::fs::read_to_string(corpus).unwrap();
    let corpus: Vec<Value> = text
        .lines()
        .take(traces_max)
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut config = Config::instant();
    config.template = Template::bare(1);
    let server = Server::start(config).unwrap();
    let first = replay(&server, &corpus);
    let second = replay(&server, &first);
    assert_eq!(
        (first.len(), second.len()),
        (corpus.len(), corpus.len()),
        "{name}: traces"
    );
    for ((original, first), second) in corpus.iter().zip(&first).zip(&second) {
        let (original, first, second) = (shape(original), shape(first), shape(second));
        let lengths = |shape: &[(usize, usize, u64, Vec<usize>)]| {
            shape
                .iter()
                .map(|(session, tokens, output, _)| (*session, *tokens, *output))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            lengths(&first),
            lengths(&original),
            "{name}: sessions, turns, lengths"
        );
        assert_eq!(
            lengths(&second),
            lengths(&original),
            "{name}: sessions, turns, lengths of the second capture"
        );
        // A proxy does not see where tokens end: what two prompts share is exact to within a block.
        for (one, other) in [(&original, &first), (&first, &second)] {
            for (earlier, later) in pairs(one.len()) {
                let shared = |shape: &[(usize, usize, u64, Vec<usize>)]| {
                    shape[earlier]
                        .3
                        .iter()
                        .zip(&shape[later].3)
                        .take_while(|(a, b)| a == b)
                        .count()
                };
                let (expected, found) = (shared(one), shared(other));
                assert!(
                    expected.abs_diff(found) <= 1,
                    "{name}: turns {earlier}, {later} share {found} blocks, not {expected}"
                );
            }
        }
    }
}

/// Each turn with the one before it and the first.
fn pairs(n: usize) -> BTreeSet<(usize, usize)> {
    (1..n)
        .flat_map(|later| [(0, later), (later - 1, later)])
        .collect()
}

#[test]
fn the_bundled_corpus_comes_back() {
    check("demo", &testkit::checkout().join("corpora/demo.jsonl"), 4);
}
