//! What a run fixes before its plan is drawn.

use crate::{Dialect, Sampling, Seconds};

/// What becomes of a run when the primer of a root fails (`aiperf-replay` §4.4). A context overflow never ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnPrimerFailure {
    /// End the run at the first one; results are written.
    Abort,
    /// Count it and go on.
    Continue,
}

/// How the server is primed before the measurement (`aiperf-replay` §4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Warmup {
    /// One request for each stream that is under way at its lane's instant.
    Primers,
    /// Primers, and then the trajectories without idle time for so long.
    PressureFor(Seconds),
    /// Primers, and then the trajectories without idle time for so many requests a lane.
    PressureRequests(u64),
}

/// Longest warm-up grace that cache pressure brings by itself (`aiperf-replay` §4.5).
const PRESSURE_GRACE_MAX_S: Seconds = 300.0;

impl Warmup {
    /// The warm-up grace where none is stated: none is needed without cache pressure.
    pub fn default_grace_s(self, grace_s: Seconds) -> Seconds {
        match self {
            Self::PressureFor(seconds) => grace_s.max(seconds.min(PRESSURE_GRACE_MAX_S)),
            Self::Primers | Self::PressureRequests(_) => Seconds::INFINITY,
        }
    }
}

/// The choices of one run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Named set of rules.
    pub dialect: Dialect,
    /// Lanes, that is live session trees.
    pub concurrency: u32,
    /// Seed of every draw.
    pub seed: u64,
    /// Part of every cache-bust marker; runs with different ids share no prompt prefix.
    pub benchmark_id: String,
    /// Earliest share of a trace's span at which a lane may start, in [0, 1].
    pub min_ratio: f64,
    /// Latest such share, at least `min_ratio`.
    pub max_ratio: f64,
    /// Which trace comes next.
    pub sampling: Sampling,
    /// Sending window of the measurement.
    pub duration_s: Seconds,
    /// How long requests in flight at the window's end may finish; may be infinite.
    pub grace_s: Seconds,
    /// Longest time without a request in flight before all pending timers are pulled in together.
    pub system_idle_gap_cap_s: Seconds,
    /// Longest time that a tree may be without a request in flight, in a dialect that knows such a cap.
    pub trace_idle_gap_cap_s: Option<Seconds>,
    /// How the server is primed.
    pub warmup: Warmup,
    /// How long requests in flight at the end of cache pressure may take; may be infinite.
    pub warmup_grace_s: Seconds,
    /// Start all lanes of a phase at once instead of at their recorded offsets.
    pub burst_phase_starts: bool,
    /// Stop sending after so many profiling requests.
    pub request_cap: Option<u64>,
    /// What a failing primer of a root does.
    pub on_primer_failure: OnPrimerFailure,
}
