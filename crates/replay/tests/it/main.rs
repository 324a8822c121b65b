//! The state machine against aiperf 0.12.0's own plans and event logs (`data/`).

#![allow(clippy::unwrap_used, reason = "a test that cannot read its vector has failed")]

mod captures;
mod dispatch;
mod fork;
mod inputs;
mod interrupt;
mod invariants;
mod plan;
mod rules;
mod wakes;
