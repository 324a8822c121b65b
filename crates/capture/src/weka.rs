//! Session trees in the Weka format (`aiperf-corpus` §1.1): a trace a line, subagents inside their parent.
//!
//! The format has one level of subagents, so what a subagent starts becomes another subagent of the root, as aiperf 0.12.0
//! has it (§4.5 there). Requests that failed are left out: the format has no word for them. Block ids count from 1 in each
//! trace, full blocks only.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

use crate::blocks::BLOCK_TOKENS;
use crate::rows::JournalLine;

const US_PER_S: f64 = 1e6;

/// One trace for each session tree, in order of their starts. `lines` are in order of arrival.
pub(crate) fn trees(lines: &[JournalLine]) -> Vec<Value> {
    let mut sessions: BTreeMap<&str, Vec<&JournalLine>> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.is_ok) {
        sessions.entry(&line.session_id).or_default().push(line);
    }
    for requests in sessions.values_mut() {
        requests.sort_by_key(|line| (line.arrival_us, line.request_id));
    }
    let mut trees: BTreeMap<(u64, u64, &str), Vec<&str>> = BTreeMap::new();
    for name in sessions.keys() {
        let root = root(name, &sessions);
        let first = sessions[root][0];
        let children = trees
            .entry((first.arrival_us, first.request_id, root))
            .or_default();
        if root != *name {
            children.push(name);
        }
    }
    trees
        .iter()
        .map(|((start_us, _, root), children)| tree(*start_us, root, children, &sessions))
        .collect()
}

/// The session that `name` is a subagent of, over all levels; itself where there is none that started before it.
fn root<'a>(name: &'a str, sessions: &BTreeMap<&'a str, Vec<&'a JournalLine>>) -> &'a str {
    let start = |name: &str| {
        sessions[name]
            .first()
            .map(|line| (line.arrival_us, line.request_id))
    };
    let mut root = name;
    // As many steps as there are sessions suffice, should names ever go in a circle.
    for _ in 0..sessions.len() {
        let parent = sessions[root]
            .iter()
            .find_map(|line| line.parent_session_id.as_deref());
        match parent.filter(|parent| sessions.contains_key(parent) && start(parent) < start(root)) {
            Some(parent) => root = parent,
            None => break,
        }
    }
    root
}

fn tree(start_us: u64, root: &str, children: &[&str], sessions: &BTreeMap<&str, Vec<&JournalLine>>) -> Value {
    let mut numbers = Numbers::default();
    // Blocks are numbered in order of time over the whole tree.
    let mut all: Vec<_> = std::iter::once(&root)
        .chain(children)
        .flat_map(|name| &sessions[name])
        .collect();
    all.sort_by_key(|line| (line.arrival_us, line.request_id));
    for line in &all {
        numbers.of(line);
    }
    let mut entries: Vec<(f64, bool, Value)> = sessions[root]
        .iter()
        .map(|line| {
            (
                seconds(line, start_us),
                false,
                request(line, start_us, &mut numbers),
            )
        })
        .collect();
    for child in children {
        let first = sessions[child][0];
        entries.push((
            seconds(first, start_us),
            true,
            subagent(child, &sessions[child], start_us, &mut numbers),
        ));
    }
    entries.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    let first = sessions[root][0];
    json!({
        "id": id(root),
        "models": models(&sessions[root]),
        "block_size": BLOCK_TOKENS,
        "tool_tokens": first.tool_tokens,
        "system_tokens": first.system_tokens,
        "hash_id_scope": "local",
        "requests": entries.into_iter().map(|(_, _, entry)| entry).collect::<Vec<_>>(),
    })
}

fn subagent(name: &str, lines: &[&JournalLine], start_us: u64, numbers: &mut Numbers) -> Value {
    let first = lines[0];
    let end_us = lines
        .iter()
        .map(|line| line.arrival_us + line.api_us.unwrap_or(0))
        .max()
        .unwrap_or(0);
    json!({
        "type": "subagent",
        "t": seconds(first, start_us),
        "agent_id": id(name),
        "subagent_type": "captured",
        "status": "completed",
        "duration_ms": end_us.saturating_sub(first.arrival_us).div_ceil(1_000),
        "total_tokens": lines.iter().map(|line| line.tokens + line.output_tokens).sum::<u64>(),
        "tool_use_count": lines.iter().filter(|line| line.stop == "tool_use").count(),
        "tool_tokens": first.tool_tokens,
        "system_tokens": first.system_tokens,
        "models": models(lines),
        "requests": lines.iter().map(|line| request(line, start_us, numbers)).collect::<Vec<_>>(),
    })
}

fn request(line: &JournalLine, start_us: u64, numbers: &mut Numbers) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| out.insert(key.to_owned(), value);
    put("t", json!(seconds(line, start_us)));
    put("type", json!(if line.streamed { "s" } else { "n" }));
    put("model", json!(line.model));
    put("in", json!(line.tokens));
    put("out", json!(line.output_tokens));
    put("hash_ids", json!(numbers.of(line)));
    put("input_types", json!(line.input_types));
    put("output_types", json!(line.output_types));
    put("stop", json!(line.stop));
    let in_seconds = |us: Option<u64>| json!(us.map(|us| us as f64 / US_PER_S));
    put("api_time", in_seconds(line.api_us));
    put("think_time", in_seconds(line.think_us));
    if line.streamed {
        put("ttft", in_seconds(line.ttft_us));
    }
    Value::Object(out)
}

/// Block numbers of one trace.
#[derive(Default)]
struct Numbers(HashMap<u64, u64>);

impl Numbers {
    fn of(&mut self, line: &JournalLine) -> Vec<u64> {
        let full = (line.tokens / BLOCK_TOKENS) as usize;
        let ids = line.ids.iter().take(full);
        ids.map(|id| {
            let next = self.0.len() as u64 + 1;
            *self.0.entry(*id).or_insert(next)
        })
        .collect()
    }
}

fn seconds(line: &JournalLine, start_us: u64) -> f64 {
    line.arrival_us.saturating_sub(start_us) as f64 / US_PER_S
}

fn models(lines: &[&JournalLine]) -> Vec<String> {
    let mut models: Vec<String> = Vec::new();
    for line in lines {
        if !models.contains(&line.model) {
            models.push(line.model.clone());
        }
    }
    models
}

/// A name without the sign that separates the parts of aiperf's conversation ids.
fn id(name: &str) -> String {
    name.replace("::", "__")
}
