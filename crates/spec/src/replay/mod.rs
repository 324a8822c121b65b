//! The replay arm: the checked definition of a trace-replay run, and the reference form that names a catalog entry.
//!
//! [`Replay`] is what the rest of the program works with: every key has its effective value, and says where it is from.
//! Nothing here reads a corpus or knows how sessions are rebuilt.

mod check;
mod corpus;
mod locks;
mod origins;
mod print;

use std::collections::BTreeMap;

pub(crate) use check::{CHOICES, OVERRIDES, definition_entry, inline, reference};

use crate::terms::Terms;
use crate::yaml::Node;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The document states it.
    Stated,
    /// The catalog entry that the document refers to states it.
    Catalog,
    /// Nobody states it; this is what omission means.
    Default,
    /// Nobody states it, and the scenario allows nothing else.
    Lock,
}

impl Origin {
    /// The word that `resolve` prints.
    pub fn as_str(self) -> &'static str {
        match self {
            Origin::Stated => "stated",
            Origin::Catalog => "catalog",
            Origin::Default => "default",
            Origin::Lock => "lock",
        }
    }
}

/// A checked replay, inline or merged with its catalog entry; defaults are those of `bindings.md` §9.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// The load generator's scenario.
    pub scenario: String,
    /// The harness release that it reproduces.
    pub harness_version: String,
    /// The traces.
    pub corpus: Corpus,
    /// Session-tree lanes, at least 1.
    pub concurrency: u32,
    /// Seeds lane snapshots and prompt content.
    pub random_seed: u64,
    /// The sending window in seconds; finite. At least 900 unless the locks are overridden.
    pub benchmark_duration_s: f64,
    /// How long requests in flight at the window's end may take, in seconds; infinite waits for them.
    pub grace_period_s: f64,
    /// Drops every trace whose recorded peak prompt plus output exceeds it.
    pub max_context_length: Option<MaxContextLength>,
    /// Where the cache-bust marker goes; one of [`crate::vocabulary::CACHE_BUST_TARGETS`]. Locked.
    pub cache_bust: String,
    /// Longest time with nothing in flight, in seconds. Locked to 10.
    pub system_idle_gap_cap_s: f64,
    /// The window of a trace's span that a lane's snapshot is drawn from.
    pub trajectory_start: TrajectoryStart,
    /// How the server is primed.
    pub warmup: Warmup,
    /// Whether agent chains that a capture flattened are split.
    pub split_flattened_agents: bool,
    /// Locked to true.
    pub streaming: bool,
    /// Whether every request generates its recorded output length. Locked to true.
    pub ignore_eos: bool,
    /// Locked to false.
    pub ignore_trace_delays: bool,
    /// Input truncation in tokens. Locked to `None`.
    pub synthesis_max_isl: Option<u64>,
    /// Idle watchdog of a session tree, in seconds; a knob of the `InferenceX` fork.
    pub trace_idle_gap_cap_s: Option<f64>,
    /// Cap of think time between turns, in seconds. Locked to `None`.
    pub inter_turn_delay_cap_s: Option<f64>,
    /// Category, thinking, acceptance, routing: recorded, never enacted.
    pub terms: Terms,
    /// Where each value is from, by its path below `replay`.
    pub(crate) origins: BTreeMap<&'static str, Origin>,
    /// The catalog entry it was merged with.
    pub entry: Option<EntryName>,
}

/// Which catalog file a value came from, so that a result can be traced to the bytes that defined it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryName {
    /// The file's stem.
    pub name: String,
    /// SHA-256 of the file's bytes, lowercase hex.
    pub sha256: String,
}

/// The corpus a replay reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corpus {
    /// The harness' loader or alias, one of [`crate::loaders::LOADERS`].
    pub loader: String,
    /// Form of the traces.
    pub format: String,
    /// Encoding of the file.
    pub encoding: String,
    /// Dataset repository, `owner/name`.
    pub repository: String,
    /// Commit it was observed at: a record, not a pin.
    pub revision: String,
    /// The file's path in the repository.
    pub file: String,
    /// The dataset split.
    pub split: String,
    /// Digest of the file, lowercase hex; it alone ties a run to its bytes.
    pub sha256: String,
}

/// The context filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxContextLength {
    /// A stated number of tokens.
    Tokens(u64),
    /// The server's own context length (`max_model_len`).
    ModelLimit,
}

/// Bounds as fractions of a trace's span; `min_ratio <= max_ratio`, both in [0, 1].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrajectoryStart {
    /// Lower bound.
    pub min_ratio: f64,
    /// Upper bound.
    pub max_ratio: f64,
}

/// How the server is primed before profiling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Warmup {
    /// Each stream live at its lane's start point gets one priming request.
    Synthesized,
    /// As above, and then the trajectories run on without idle time for this long.
    CachePressureFor {
        /// Length in seconds; finite, above 0.
        duration_s: f64,
    },
    /// As above, and then each lane sends this many extra one-token requests.
    CachePressureRequests {
        /// At least 1.
        requests_per_lane: u64,
    },
}

impl Replay {
    /// Where the value at a path below `replay` is from, such as `corpus.sha256`. `None` for a path that no replay has,
    /// and for an optional term that nobody states.
    pub fn origin(&self, path: &str) -> Option<Origin> {
        self.origins.get(path).copied()
    }

    /// The keys it states that aiperf 0.12.0 does not know, only the `InferenceX` fork; they select its dialect.
    pub fn fork_keys(&self) -> Vec<&'static str> {
        ["trace_idle_gap_cap_s", "warmup.requests_per_lane"]
            .into_iter()
            .filter(|key| self.states(key))
            .collect()
    }

    /// Whether the document or its catalog entry states the value at a path below `replay`.
    pub fn states(&self, path: &str) -> bool {
        matches!(self.origin(path), Some(Origin::Stated | Origin::Catalog))
    }
}

/// A replay that names a catalog entry and states only the run's own choices. [`crate::catalog::resolve`] merges it.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The entry's name.
    pub workload: String,
    /// Session-tree lanes, at least 1.
    pub concurrency: u32,
    /// The reference as written: the choices' values are checked after the merge.
    pub(crate) node: Node,
}

/// A catalog replay entry's definition, checked but for the lane count it lacks. A reference is merged onto what the entry
/// states, not onto this.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// With a lane count of 0.
    pub(crate) replay: Replay,
}
