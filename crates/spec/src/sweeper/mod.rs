//! Sweeper documents: synthetic or recorded traffic in one of four load shapes (`sweeper-traffic.md`).

mod check;
mod goal;
mod load;
mod print;

pub(crate) use check::check;
pub use load::{Cap, KvCapacity, KvLoad, LoadError};

use std::collections::BTreeSet;

use crate::problem::Place;
use crate::yaml::Node;

/// A checked Sweeper document.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweeper {
    /// The load shape and what drives it.
    pub load: Load,
    /// Prompt, output and session knobs; `None` for a trace.
    pub synthetic: Option<Synthetic>,
    /// What the traffic is judged by.
    pub goal: Goal,
    /// Paths of the keys that the document states.
    pub(crate) stated: BTreeSet<String>,
    /// Keys that configure a search, as stated.
    pub(crate) kept: Vec<(String, Node)>,
    /// Where the KV ratio stands, for problems that only a server's capacity shows.
    pub(crate) ratio_place: Place,
}

/// The four load shapes.
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// A recorded trace.
    Trace(TraceLoad),
    /// Open loop: a start every `1000 / request_rate` milliseconds.
    RequestRate(f64),
    /// Closed loop: at most this many sessions in flight.
    Concurrency(u64),
    /// Closed loop: the cap follows from the server's KV capacity.
    Kv(KvRatio),
}

/// A recorded trace as load.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceLoad {
    /// The file, relative to the document.
    pub path: String,
    /// Its format, one of [`crate::vocabulary::TRACE_FORMATS`].
    pub format: String,
    /// Divides recorded times of an open loop; above 0.
    pub arrival_speedup_ratio: f64,
    /// Cap of sessions in flight; `None` is the open loop.
    pub replay_concurrency: Option<u64>,
}

/// A fraction of KV capacity, or a range of them under a pareto goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KvRatio {
    /// One value.
    Fixed(f64),
    /// From the first, below the second.
    Range(f64, f64),
}

/// The knobs of synthetic traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Synthetic {
    /// Prompt tokens of every request.
    pub isl: u64,
    /// Output tokens of every request.
    pub osl: u64,
    /// Requests (sessions, with several turns) for each unit of load.
    pub num_request_ratio: f64,
    /// Share of a prompt's blocks common to its group, in [0, 1].
    pub shared_prefix_ratio: f64,
    /// Number of prefix groups; 0 turns sharing off.
    pub num_prefix_groups: u64,
    /// Turns of a session, at least 1.
    pub turns_per_session: u64,
    /// Wait after a turn's completion, in milliseconds.
    pub inter_turn_delay_ms: f64,
}

/// What a sweep optimises.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// One of [`crate::vocabulary::GOAL_TARGETS`].
    pub target: String,
    /// Latency bounds that goodput counts against.
    pub sla: Sla,
    /// The targets of a pareto front; empty for any other target.
    pub pareto_objectives: Vec<String>,
}

/// Latency bounds in milliseconds, each above 0 where set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sla {
    /// Time to first token.
    pub ttft_ms: Option<f64>,
    /// Inter-token latency.
    pub itl_ms: Option<f64>,
    /// End-to-end latency.
    pub e2e_ms: Option<f64>,
}
