//! What is sent next, and when: the agentic replay of recorded session trees as a pure state machine.
//!
//! Four nouns. A *lane* is one closed-loop user: it holds one session [tree](tree::Trace) until the whole tree has ended,
//! then takes the next. The [`Plan`] is what is fixed before anything is sent: which trace each lane starts with and at
//! which instant of it. [`Replay`] is fed with [`Event`]s and a time; it answers with [`Action`]s and the time at which it
//! wants to be woken next. [`simulate`] runs it against a stated service model, with no server and no clock.
//!
//! [`requests`] is the same for a flat list of recorded requests; both are a [`Machine`], and whoever drives one drives the other.
//!
//! The rules are aiperf's (`aiperf-replay` §2–§6, §9.2); where its releases differ, the [`Dialect`]'s table says which holds,
//! defects included.
//!
//! Never reads a clock, spawns a task, touches a socket or a file, or looks at prompt content; never fails: what can be
//! wrong is refused when the plan is drawn.

mod barrier;
mod dialect;
mod joins;
mod live;
mod machine;
mod marker;
pub mod requests;
mod sampler;
mod settings;
pub mod simulate;
mod snapshot;
mod timers;

pub use dialect::{Dialect, Rules};
pub use machine::{
    Action, Asked, Event, Machine, Mark, Outcome, Phase, Replay, RequestKey, RunEnd, Send, Standing, StreamId,
};
pub use marker::marker_hex;
pub use sampler::Sampling;
pub use settings::{OnPrimerFailure, Settings, Warmup};
pub use snapshot::{LaneStart, Plan, PlanError, StreamStart};

/// Seconds since the machine was started. A double, as in aiperf, so that both add the same delays to the same instants.
pub type Seconds = f64;
