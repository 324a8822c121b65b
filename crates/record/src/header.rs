//! `run.json`: what a run was, written whole before its first request.
//!
//! Everything that makes two runs comparable stands here: what was to be sent (digests), under which rules (dialect,
//! limits, options), to whom, from where. Credentials never do: a URL is stripped when it becomes a [`ServerUrl`].

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{RecordError, append};

/// Version of `run.json` that is written; versions up to it are read.
pub const HEADER_VERSION: u32 = 1;

/// `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// Version of this file: [`HEADER_VERSION`].
    pub schema_version: u32,
    /// Version of the program that ran.
    pub turnmill_version: String,
    /// Names this run; part of every cache-bust marker.
    pub benchmark_id: String,
    /// Which harness's behaviour was followed (`aiperf-0.12.0`, `agentx-1.0`); empty in runs of a trace file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dialect: String,
    /// `closed`: a lane's next start depends on the end before it. Runs of a trace file are `closed`, `open` or `sessions`
    /// (`trace-csv` §5.1).
    #[serde(rename = "loop")]
    pub loop_kind: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// Lanes, that is live session trees; in a closed run of a trace file requests in flight; 0 where neither is held.
    pub concurrency: u32,
    /// Wall time of the monotonic anchor: stamp 0 of every record. RFC 3339, UTC.
    #[serde(with = "rfc3339")]
    pub wall_start: Timestamp,
    /// The server.
    pub server: ServerFacts,
    /// The machine that sent.
    pub host: Host,
    /// Digests of all inputs.
    pub digests: Digests,
    /// What the corpus gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// The trace file that was replayed; `None` in runs of session trees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceFacts>,
    /// What decides later whether the run is valid for submission.
    pub validity: ValidityInputs,
    /// Latency targets by class, for goodput.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub slo: BTreeMap<String, Slo>,
    /// Limits in force, by name with the unit at its end (`request_timeout_s`); `"inf"` for none.
    #[serde(default)]
    pub limits: BTreeMap<String, Value>,
    /// Options that no scenario key holds.
    #[serde(default)]
    pub options: BTreeMap<String, Value>,
    /// The scenario after resolving.
    pub scenario: Value,
}

impl RunHeader {
    /// The latency targets that hold for every request, for tools that know one set: those of the only class, in a run whose
    /// requests have no classes.
    pub fn only_slo(&self) -> Option<Slo> {
        let mut classes = self.slo.values().copied();
        let only = classes.next().filter(|_| classes.next().is_none());
        only.filter(|_| self.trace.is_none())
    }

    /// What other tools call the endpoint: `chat` or `completions`.
    pub fn endpoint_type(&self) -> &'static str {
        let url = self.server.url.as_str();
        if url.ends_with("/completions") && !url.ends_with("/chat/completions") {
            "completions"
        } else {
            "chat"
        }
    }

    /// Lanes or requests in flight, where their number was held.
    pub fn held_concurrency(&self) -> Option<u32> {
        (self.concurrency > 0).then_some(self.concurrency)
    }
}

/// The server as it described itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerFacts {
    /// Where requests went.
    pub url: ServerUrl,
    /// Model asked for.
    pub model: String,
    /// Its context window in tokens, when it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_model_len: Option<u64>,
    /// Its version, when it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// A URL without user, password and query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ServerUrl(String);

impl ServerUrl {
    /// `url` without what may hold a credential.
    pub fn new(url: &str) -> Self {
        let url = url.split(['?', '#']).next().unwrap_or_default();
        let Some((scheme, rest)) = url.split_once("://") else {
            return Self(after_user(url).to_owned());
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        Self(format!("{scheme}://{}{path}", after_user(authority)))
    }

    /// The URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for ServerUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|url| Self::new(&url))
    }
}

fn after_user(authority: &str) -> &str {
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

/// The machine that sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Operating system.
    pub os: String,
    /// Processor.
    pub cpu: String,
    /// Cores that the process may use.
    pub cores: u32,
}

/// SHA-256 digests in hex; `None` for what the run had none of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Digests {
    /// The resolved scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// The corpus file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corpus: Option<String>,
    /// The tokenizer file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<String>,
    /// The prompt pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// What was to be sent: equal plans are equal workloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
}

/// Traces read from the corpus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// Traces looked at.
    pub scanned: u64,
    /// Traces that may be replayed.
    pub kept: u64,
    /// Traces left out, by the context limit for instance.
    pub dropped: u64,
    /// Peak prompt plus output of the largest trace kept, in tokens.
    pub largest: u64,
}

/// A trace file and what was to be sent of it (`trace-csv` §5).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TraceFacts {
    /// Name of the data file, without its folder.
    pub file: String,
    /// Its rows.
    pub rows: u64,
    /// Requests to be sent.
    pub planned: u64,
    /// Rows left out because their request had not been answered when they were recorded.
    pub skipped_failed: u64,
    /// Rows left out because they have no prompt.
    pub skipped_empty: u64,
    /// Sessions of the requests to be sent.
    pub sessions: u64,
    /// What arrival times were divided by.
    pub speedup: f64,
    /// Prompts were made from the block ids of a sidecar.
    pub sidecar: bool,
    /// Where requests went, below the server's URL.
    pub endpoint: String,
    /// How prompts grow from round to round of a session, in the words of `--context`.
    pub context: String,
    /// From the first arrival to the last of the requests to be sent, in seconds, as the run was to keep it.
    pub span_s: f64,
}

/// What is known before the first request about [`crate::validity`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ValidityInputs {
    /// Scenario under whose name the result may be submitted; `None` when there is none, and nothing to be valid for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// One text for each scenario lock that `--override-locks` broke.
    pub override_locks: Vec<String>,
    /// The corpus digest is the pin of its loader.
    pub corpus_pinned: bool,
    /// The scenario locks every request to its recorded output length (`ignore_eos`).
    pub output_length_locked: bool,
    /// The window in seconds, where the dialect wants latencies from nearly all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_window_s: Option<f64>,
}

/// Latency targets of one class, in milliseconds; 0 leaves one unbounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Slo {
    /// Bound on TTFT.
    pub ttft_ms: f64,
    /// Bound on TPOT: the request's mean time between tokens.
    pub itl_ms: f64,
    /// Bound on E2E latency.
    pub e2e_ms: f64,
}

/// Writes `run.json` whole or not at all, and returns once it is on the disk.
pub fn write(path: &Path, header: &RunHeader) -> Result<(), RecordError> {
    let mut text = serde_json::to_vec_pretty(header).map_err(|problem| RecordError::File {
        action: "write",
        path: path.to_path_buf(),
        source: problem.into(),
    })?;
    text.push(b'\n');
    append::write_whole(path, &text)
}

/// Reads `run.json`; `Ok(None)` when there is none.
pub fn read(path: &Path) -> Result<Option<RunHeader>, RecordError> {
    #[derive(Deserialize)]
    struct Versioned {
        schema_version: u32,
    }
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => {
            return Err(RecordError::File {
                action: "read",
                path: path.to_path_buf(),
                source,
            });
        }
    };
    if let Ok(Versioned {
        schema_version: found,
    }) = serde_json::from_slice(&text)
        && found > HEADER_VERSION
    {
        return Err(RecordError::Version {
            path: path.to_path_buf(),
            line: 1,
            found,
            supported: HEADER_VERSION,
        });
    }
    serde_json::from_slice(&text)
        .map(Some)
        .map_err(|problem| RecordError::Line {
            path: path.to_path_buf(),
            line: problem.line() as u64,
            problem: problem.to_string(),
        })
}

/// Instants as RFC 3339 text.
mod rfc3339 {
    use jiff::Timestamp;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(instant: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(instant)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}
