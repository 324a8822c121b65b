//! A recording into Weka traces, a JSON object a line.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};

use serde::Serialize;
use trace::TraceError;
use trace::blocks::Reblocked;
use trace::convert::{Losses, PromptBlocks};
use trace::recording::{Name, Recording, Request};
use tree::BLOCK_TOKENS;

/// Written for a request without a model.
const MODEL_UNKNOWN: &str = "unknown";

#[derive(Serialize)]
struct WriteRow<'a> {
    id: &'a str,
    models: Vec<&'a str>,
    block_size: u32,
    hash_id_scope: &'static str,
    requests: Vec<WriteEntry<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WriteEntry<'a> {
    Request(WriteRequest<'a>),
    Subagent(WriteSubagent<'a>),
}

#[derive(Serialize)]
struct WriteRequest<'a> {
    t: f64,
    #[serde(rename = "type")]
    kind: &'static str,
    model: &'a str,
    #[serde(rename = "in")]
    input: u64,
    #[serde(rename = "out")]
    output: u32,
    hash_ids: Vec<u64>,
    api_time: Option<f64>,
    think_time: Option<f64>,
}

#[derive(Serialize)]
struct WriteSubagent<'a> {
    t: f64,
    #[serde(rename = "type")]
    kind: &'static str,
    agent_id: &'a str,
    subagent_type: &'static str,
    status: &'static str,
    requests: Vec<WriteRequest<'a>>,
    models: Vec<&'a str>,
}

/// Writes a recording as Weka traces. Sessions whose names are those of conversations of one trace (`T`, `T::fa:000`,
/// `T::sa:A`; `aiperf-corpus` §4.1) become one trace again; any other session is a trace of its own, and so is a single
/// request. Says what Weka traces cannot hold.
pub fn to_weka(recording: &Recording, mut output: impl Write) -> Result<Losses, TraceError> {
    let failed = |source: io::Error| TraceError::file("write", "the Weka traces".as_ref(), source);
    let mut losses = losses(recording);
    let mut guessed = recording
        .blocks
        .is_none()
        .then(|| PromptBlocks::new(recording, u64::from(BLOCK_TOKENS), 0));
    let mut owners = Owners::default();
    for (number, tree) in trees(recording).iter().enumerate() {
        owners.tree = number;
        let start_us = tree
            .requests()
            .map(|at| recording.requests[at].at_us)
            .min()
            .unwrap_or(0);
        let mut making = Making {
            recording,
            start_us,
            ids: Reblocked::new(
                recording
                    .blocks
                    .as_ref()
                    .map_or(u64::from(BLOCK_TOKENS), |store| store.header().block_size),
                u64::from(BLOCK_TOKENS),
                1,
            ),
            guessed: guessed.as_mut(),
            owners: &mut owners,
        };
        let row = making.row(tree)?;
        serde_json::to_writer(&mut output, &row)
            .map_err(io::Error::from)
            .and_then(|()| output.write_all(b"\n"))
            .map_err(failed)?;
        losses.add(
            "spawn times of subagents; that of the first request stands for it",
            tree.subagents.len() as u64,
        );
    }
    losses.add("blocks that another trace had too", owners.shared);
    output.flush().map_err(failed)?;
    Ok(losses)
}

/// Which tree used a block of the sidecar first.
#[derive(Default)]
struct Owners {
    tree: usize,
    first: HashMap<u64, usize>,
    shared: u64,
}

impl Owners {
    fn note(&mut self, ids: &[u64]) {
        for id in ids {
            let first = *self.first.entry(*id).or_insert(self.tree);
            self.shared += u64::from(first != self.tree);
        }
    }
}

/// What becomes one trace: positions of requests.
#[derive(Default)]
struct Tree {
    id: String,
    top: Vec<usize>,
    subagents: BTreeMap<String, Vec<usize>>,
}

impl Tree {
    fn requests(&self) -> impl Iterator<Item = usize> {
        self.top.iter().chain(self.subagents.values().flatten()).copied()
    }
}

/// The trees in order of their first request.
fn trees(recording: &Recording) -> Vec<Tree> {
    let names: BTreeSet<&str> = recording
        .sessions
        .iter()
        .map(|session| recording.names.text(session.name))
        .collect();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    let mut trees: Vec<Tree> = Vec::new();
    for (position, request) in recording.requests.iter().enumerate() {
        let session = recording.names.text(request.session);
        if request.session == Name::default() {
            trees.push(Tree {
                id: format!("request-{}", request.request_id),
                top: vec![position],
                ..Tree::default()
            });
            continue;
        }
        let root = session
            .split("::")
            .next()
            .filter(|root| names.contains(root))
            .unwrap_or(session);
        let tree = *known.entry(root).or_insert_with(|| {
            trees.push(Tree {
                id: root.to_owned(),
                ..Tree::default()
            });
            trees.len() - 1
        });
        match session[root.len()..].strip_prefix("::sa:").map(agent) {
            Some(agent) => trees[tree]
                .subagents
                .entry(agent.to_owned())
                .or_default()
                .push(position),
            None => trees[tree].top.push(position),
        }
    }
    trees
}

/// The agent of a subagent's conversation, or of a chain that was found inside it.
fn agent(rest: &str) -> &str {
    let chain = [":aux:", ":fa:", ":wg:"]
        .iter()
        .filter_map(|mark| rest.rfind(mark))
        .max();
    &rest[..chain.unwrap_or(rest.len())]
}

struct Making<'r, 'g> {
    recording: &'r Recording,
    start_us: i64,
    ids: Reblocked,
    guessed: Option<&'g mut PromptBlocks<'r>>,
    owners: &'g mut Owners,
}

impl<'r> Making<'r, '_> {
    fn row<'t>(&mut self, tree: &'t Tree) -> Result<WriteRow<'t>, TraceError>
    where
        'r: 't,
    {
        let mut entries = Vec::new();
        for at in &tree.top {
            let request = &self.recording.requests[*at];
            entries.push((request.at_us, WriteEntry::Request(self.request(request)?)));
        }
        for (agent_id, requests) in &tree.subagents {
            let first_us = self.recording.requests[requests[0]].at_us; // in order of start
            let inner = requests
                .iter()
                .map(|at| self.request(&self.recording.requests[*at]));
            let inner: Vec<_> = inner.collect::<Result<_, _>>()?;
            let subagent = WriteSubagent {
                t: self.seconds(first_us),
                kind: "subagent",
                agent_id,
                subagent_type: MODEL_UNKNOWN,
                status: "completed",
                models: models(&inner),
                requests: inner,
            };
            entries.push((first_us, WriteEntry::Subagent(subagent)));
        }
        // Stable: a request stands before the subagents that start with it.
        entries.sort_by_key(|(at_us, _)| *at_us);
        let entries: Vec<_> = entries.into_iter().map(|(_, entry)| entry).collect();
        let top = entries.iter().filter_map(|entry| match entry {
            WriteEntry::Request(request) => Some(request.model),
            WriteEntry::Subagent(_) => None,
        });
        Ok(WriteRow {
            id: &tree.id,
            models: top.collect::<BTreeSet<_>>().into_iter().collect(),
            block_size: BLOCK_TOKENS,
            hash_id_scope: "local",
            requests: entries,
        })
    }

    fn request(&mut self, request: &Request) -> Result<WriteRequest<'r>, TraceError> {
        let mut hash_ids = match (&mut self.guessed, &self.recording.blocks) {
            (Some(guessed), _) => guessed.ids(request)?,
            (None, Some(store)) => {
                let ids = store.ids(request.request_id)?.unwrap_or_default();
                self.owners.note(&ids);
                self.ids.ids(&ids, request.prompt_tokens())
            }
            (None, None) => Vec::new(),
        };
        // Weka rows have ids for whole blocks only.
        hash_ids.truncate((request.prompt_tokens() / u64::from(BLOCK_TOKENS)) as usize);
        let seconds = |us: i64| (us > 0).then(|| us as f64 / 1e6);
        Ok(WriteRequest {
            t: self.seconds(request.at_us),
            kind: "n",
            model: match self.recording.names.text(request.model) {
                "" => MODEL_UNKNOWN,
                model => model,
            },
            input: request.prompt_tokens(),
            output: request.output_tokens,
            hash_ids,
            api_time: seconds(request.service_us),
            think_time: seconds(request.think_time_us),
        })
    }

    fn seconds(&self, at_us: i64) -> f64 {
        (at_us - self.start_us) as f64 / 1e6
    }
}

fn models<'a>(requests: &[WriteRequest<'a>]) -> Vec<&'a str> {
    requests
        .iter()
        .map(|request| request.model)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}

fn losses(recording: &Recording) -> Losses {
    let count = |lost: &dyn Fn(&Request) -> bool| {
        recording.requests.iter().filter(|request| lost(request)).count() as u64
    };
    let named = |name: Name| name != Name::default();
    let mut losses = Losses::default();
    losses.add("rows that failed", recording.skipped.failed);
    losses.add("rows without prompt tokens", recording.skipped.empty);
    losses.add(
        "classes and tenants",
        count(&|request| named(request.slo_class) || named(request.tenant)),
    );
    losses.add(
        "deadlines, targets and priorities",
        count(&|request| request.deadline_us + request.slo_target_us > 0 || request.vllm_priority > 0),
    );
    let size = recording.blocks.as_ref().map(|store| store.header().block_size);
    if size.is_some_and(|size| size % u64::from(BLOCK_TOKENS) != 0) {
        losses.add(
            "prompts whose sharing ends at the start of a new block",
            recording.requests.len() as u64,
        );
    }
    if recording.blocks.is_none() {
        losses.add(
            "prefix groups, held as blocks of equal ids",
            count(&|request| named(request.prefix_group)),
        );
        let rounds: usize = recording
            .sessions
            .iter()
            .map(|session| session.rounds.len() - 1)
            .sum();
        losses.add(
            "rounds without a sidecar, taken to begin as the round before them",
            rounds as u64,
        );
    }
    losses
}
