//! The one table of named differences between harness releases. Code asks the table, never the name.

use crate::Seconds;

/// A released set of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Stock aiperf 0.12.0, defects included.
    Aiperf0120,
    /// `SemiAnalysis`'s fork agentx-harness 1.0, which `InferenceX` publishes with.
    Agentx10,
}

/// How one dialect schedules (`aiperf-replay` §9.2). Each field is a row of the table of differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// A turn that waits for children keeps its recorded delay: it goes at the later of that and the last child.
    /// Otherwise it goes the moment the last child has ended.
    pub join_keeps_delay: bool,
    /// The first request of a spawned child is a timer that the idle cap moves.
    pub child_timers_move: bool,
    /// One offset common to all lanes is taken off the start of the measurement, so that the earliest request goes at once.
    pub common_start_shift: bool,
    /// No primer leads the start by more than the system idle cap.
    pub primer_lead_capped: bool,
    /// A tree without a request in flight for the trace idle cap has its own timers pulled in.
    pub tree_idle_watchdog: bool,
    /// Cache pressure may be bounded by requests for each lane.
    pub requests_per_lane: bool,
    /// Cache pressure hands streams over at their place on the trace's clock; otherwise with what is left of their delay.
    pub hand_over_on_trace_clock: bool,
    /// A parent that waited all through cache pressure is handed over; otherwise the rest of its turns is lost.
    pub hand_over_waiting_parents: bool,
    /// A run is valid only if latencies were seen nearly up to the end of the window.
    pub wants_latency_coverage: bool,
    /// At the end of the system idle cap the idle check looks again even while a turn is on its way.
    pub idle_guard: bool,
    /// Timers pulled in to this moment are ready at once; otherwise they come as any timer that is due.
    pub pulled_timers_skip_the_clock: bool,
    /// Children whose timers the window's end drops count as ended, so that the phase ends with the last answer.
    pub window_end_settles_children: bool,
}

impl Dialect {
    /// Both, in order of their release.
    pub const ALL: [Self; 2] = [Self::Aiperf0120, Self::Agentx10];

    /// The name used on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Aiperf0120 => "aiperf-0.12.0",
            Self::Agentx10 => "agentx-1.0",
        }
    }

    /// The table.
    pub const fn rules(self) -> Rules {
        let is_fork = matches!(self, Self::Agentx10);
        Rules {
            join_keeps_delay: is_fork,
            child_timers_move: is_fork,
            common_start_shift: is_fork,
            primer_lead_capped: is_fork,
            tree_idle_watchdog: is_fork,
            requests_per_lane: is_fork,
            hand_over_on_trace_clock: is_fork,
            hand_over_waiting_parents: is_fork,
            wants_latency_coverage: is_fork,
            idle_guard: is_fork,
            pulled_timers_skip_the_clock: is_fork,
            window_end_settles_children: is_fork,
        }
    }
}

/// How long after a cancellation a phase still waits for work that will never come (`aiperf-replay` §5.6).
pub(crate) const CANCEL_SETTLE_S: Seconds = 10.0;

/// How often the end of cache pressure looks whether all requests have returned (`aiperf-replay` §4.6).
pub(crate) const PRESSURE_POLL_S: Seconds = 0.1;

/// What is due within this much of an instant happens with it, as the event loop beneath aiperf has it.
pub(crate) const CLOCK_RESOLUTION_S: Seconds = 1e-9;
