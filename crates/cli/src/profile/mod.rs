//! From aiperf's flags to the settled values of a run: what aiperf 0.12.0 refuses is refused, what its scenario locks is
//! locked, and everything that is wrong is said at once.
//!
//! Three passes, each a file: [`config`] for what is wrong whatever the scenario, [`locks`] for the scenario's rules, [`support`]
//! for what is right and cannot be run here. [`document`] writes the result as the binding that `turnmill run` would read.
//! Reads no file, no clock and no network; draws nothing.

mod config;
pub(crate) mod document;
mod locks;
mod support;

pub(crate) use support::unsupported;

use crate::args::profile::{Extra, Fate, ProfileArgs, ProfileDialect, Series};
use std::fmt;
use std::path::PathBuf;

/// The one scenario.
pub(crate) const SCENARIO: &str = "inferencex-agentx-mvp";
/// Grace where none is stated, seconds: the seed's, and aiperf's where a duration is given.
const GRACE_S: f64 = 30.0;
/// Longest warm-up grace that a cache warm-up brings by itself, seconds (`aiperf-replay` §4.5).
const CACHE_WARMUP_GRACE_MAX_S: f64 = 300.0;

/// Something that keeps a run from starting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// What kind of thing it is.
    pub(crate) kind: Kind,
    /// The flag, as aiperf names it in the same message.
    pub(crate) flag: &'static str,
    /// What was found and what would be right.
    pub(crate) message: String,
}

/// Kinds of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Wrong in itself; no override helps.
    Config,
    /// A lock of the scenario; `--unsafe-override` makes a warning of it.
    Lock,
    /// A lock that cannot be overridden, since nothing could be replayed.
    HardLock,
    /// Right, and not to be had here.
    Unsupported,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.flag, self.message)
    }
}

/// Problems in the order in which they are found.
#[derive(Debug, Default)]
struct Problems(Vec<Problem>);

impl Problems {
    fn push(&mut self, kind: Kind, flag: &'static str, message: impl Into<String>) {
        self.0.push(Problem {
            kind,
            flag,
            message: message.into(),
        });
    }

    fn config(&mut self, flag: &'static str, message: impl Into<String>) {
        self.push(Kind::Config, flag, message);
    }

    fn lock(&mut self, flag: &'static str, message: impl Into<String>) {
        self.push(Kind::Lock, flag, message);
    }
}

/// Where the traces come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A loader of the scenario's list, or another public data set under override.
    Public(String),
    /// A repository through the loader `weka_hf`.
    Repository(String),
    /// Traces on this machine.
    Local {
        /// Their format; `weka_trace` unless stated.
        format: String,
        /// File or folder.
        path: PathBuf,
    },
    /// None was stated: aiperf would make up prompts.
    Synthetic,
}

/// How sends are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timing {
    /// The scenario's closed loop.
    AgenticReplay,
    /// Some other mode, kept under override.
    Other,
}

/// The warm-up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Warmup {
    /// How long it may drain, seconds; may be infinite.
    pub(crate) grace_s: f64,
    /// Length of the cache warm-up, seconds.
    pub(crate) cache_pressure_s: Option<f64>,
    /// One-token requests on each lane (agentx-1.0).
    pub(crate) requests_per_lane: Option<u32>,
}

/// The settled values of a run.
#[derive(Debug)]
pub(crate) struct Resolved {
    /// Named set of rules.
    pub(crate) dialect: ProfileDialect,
    /// Where the traces come from.
    pub(crate) source: Source,
    /// How sends are timed.
    pub(crate) timing: Timing,
    /// Lanes.
    pub(crate) concurrency: u32,
    /// Sending window, seconds.
    pub(crate) duration_s: f64,
    /// Grace after it, seconds; may be infinite.
    pub(crate) grace_s: f64,
    /// Most requests of the window.
    pub(crate) request_cap: Option<u64>,
    /// Most session trees of the window.
    pub(crate) session_cap: Option<u64>,
    /// Earliest and latest share of a trace's span at which a lane may start.
    pub(crate) start_ratios: (f64, f64),
    /// Longest idle time of the whole system, seconds.
    pub(crate) system_idle_gap_cap_s: f64,
    /// The same for each tree (agentx-1.0), seconds.
    pub(crate) trace_idle_gap_cap_s: Option<f64>,
    /// Start all lanes of a phase at once.
    pub(crate) burst_phase_starts: bool,
    /// Which trace comes next.
    pub(crate) sampling: crate::args::SamplingName,
    /// Seed of every draw; `None` when a fresh one is to be drawn.
    pub(crate) seed: Option<u64>,
    /// Largest request of a trace that is kept, tokens.
    pub(crate) max_context_length: Option<u64>,
    /// Traces that are kept.
    pub(crate) entries: Option<usize>,
    /// The warm-up.
    pub(crate) warmup: Warmup,
    /// Whether answers stream.
    pub(crate) streaming: bool,
    /// Whether every answer has its recorded length.
    pub(crate) ignore_eos: bool,
    /// Where the cache-bust marker goes.
    pub(crate) cache_bust: String,
    /// Further fields of every body, in order.
    pub(crate) extra: Extra,
    /// Share of failed requests above which the run has failed.
    pub(crate) failed_request_threshold: Option<f64>,
    /// Locks that `--unsafe-override` broke; none for a run that is valid for submission so far.
    pub(crate) broken_locks: Vec<Problem>,
    /// What a person should know: flags without meaning here, and where we leave aiperf's defaults.
    pub(crate) notes: Vec<String>,
}

/// Settles all values, or says all that is wrong.
pub(crate) fn resolve(args: &ProfileArgs) -> Result<Resolved, Vec<Problem>> {
    let mut problems = Problems::default();
    let mut notes = Vec::new();
    let dialect = dialect(args, &mut notes);
    let checked = config::check(args, dialect, &mut problems);
    let locked = locks::apply(args, dialect, &checked, &mut problems);
    let waived = |problem: &Problem| problem.kind == Kind::Lock && args.workload.unsafe_override;
    if !problems.0.iter().all(waived) {
        return Err(problems.0);
    }
    take_notes(args, dialect, &mut notes);
    let load = &args.load;
    let warmup = warmup(args, locked.grace_s);
    Ok(Resolved {
        dialect,
        source: checked.source,
        timing: locked.timing,
        concurrency: load.concurrency.as_ref().map_or(1, Series::first),
        duration_s: locked.duration_s,
        grace_s: locked.grace_s,
        request_cap: load.request_count.as_ref().map(Series::first),
        session_cap: load.conversations.as_ref().map(Series::first),
        start_ratios: locked.start_ratios,
        system_idle_gap_cap_s: locked.system_idle_gap_cap_s,
        trace_idle_gap_cap_s: load.trace_idle_gap_cap_seconds,
        burst_phase_starts: load.burst_phase_starts,
        sampling: checked.sampling,
        seed: checked.seed,
        max_context_length: checked.max_context_length,
        entries: checked.entries,
        warmup,
        streaming: locked.streaming,
        ignore_eos: locked.ignore_eos,
        cache_bust: locked.cache_bust,
        extra: checked.extra,
        failed_request_threshold: load.failed_request_threshold,
        broken_locks: problems.0,
        notes,
    })
}

/// The dialect named, else the fork's when an option of the fork is given, else stock.
fn dialect(args: &ProfileArgs, notes: &mut Vec<String>) -> ProfileDialect {
    if let Some(named) = args.own.dialect {
        return named;
    }
    match fork_flags(args).first() {
        Some(flag) => {
            notes.push(format!(
                "{flag} is known to the InferenceX fork only: this run follows the dialect agentx-1.0, not stock aiperf 0.12.0"
            ));
            ProfileDialect::Agentx10
        }
        None => ProfileDialect::Aiperf0120,
    }
}

/// Flags given that the fork knows, or that its scenario allows, and stock does not.
fn fork_flags(args: &ProfileArgs) -> Vec<&'static str> {
    let mut flags = Vec::new();
    if args.warmup.warmup_requests_per_lane.is_some() {
        flags.push("--warmup-requests-per-lane");
    }
    if args.load.trace_idle_gap_cap_seconds.is_some() {
        flags.push("--trace-idle-gap-cap-seconds");
    }
    let of_fork = |row: &&crate::args::profile::Row| matches!(row.fate, Fate::Fork(_));
    flags.extend(args.others.0.iter().filter(of_fork).map(|row| row.names[0]));
    flags
}

/// `aiperf-replay` §4.5.
fn warmup(args: &ProfileArgs, benchmark_grace_s: f64) -> Warmup {
    let flags = &args.warmup;
    let of_stage = flags
        .agentic_cache_warmup_duration
        .map(|stage_s| benchmark_grace_s.max(stage_s.min(CACHE_WARMUP_GRACE_MAX_S)));
    Warmup {
        grace_s: flags
            .agentic_warmup_grace_period
            .or(flags.warmup_grace_period)
            .or(of_stage)
            .unwrap_or(f64::INFINITY),
        cache_pressure_s: flags.agentic_cache_warmup_duration,
        requests_per_lane: flags
            .warmup_requests_per_lane
            .and_then(|count| u32::try_from(count).ok()),
    }
}

/// Says what is accepted without effect, and where a default of aiperf is a trap.
fn take_notes(args: &ProfileArgs, dialect: ProfileDialect, notes: &mut Vec<String>) {
    let load = &args.load;
    if load.benchmark_duration.is_none() {
        let bounded = load.request_count.is_some() || load.conversations.is_some();
        let stock = if bounded {
            "aiperf 0.12.0 would give requests in flight at its end no grace"
        } else {
            "aiperf 0.12.0 would stop after ten requests and give them no grace"
        };
        notes.push(format!(
            "--benchmark-duration is not given: the window is 1800 s and the grace 30 s, where {stock}"
        ));
    }
    if args.workload.random_seed.is_none() {
        notes.push("--random-seed is not given: a fresh one is drawn, as aiperf does; state it to send the same again".into());
    }
    if !args.endpoint.use_server_token_count {
        notes.push(
            "--use-server-token-count is not given: as with aiperf 0.12.0 the server is not asked for token counts, and TPOT, \
             output lengths and token throughput are missing unless it sends them all the same"
                .into(),
        );
    }
    let flags = &args.warmup;
    let grace_given = flags.agentic_warmup_grace_period.is_some() || flags.warmup_grace_period.is_some();
    let staged = flags.agentic_cache_warmup_duration.is_some() || flags.warmup_requests_per_lane.is_some();
    if grace_given && !staged {
        notes.push(format!(
            "the warm-up grace bounds nothing without a cache warm-up: {} waits for every primer",
            dialect.name()
        ));
    }
    if args.workload.input_file.is_some() && args.workload.custom_dataset_type.is_none() {
        notes.push("--custom-dataset-type is not given: --input-file is read as weka_trace".into());
    }
    for row in &args.others.0 {
        if let Fate::Noted(why) | Fate::Fork(why) = row.fate {
            notes.push(format!("{} has no effect: {why}{}", row.names[0], row.also()));
        }
    }
}

#[cfg(test)]
mod tests;
