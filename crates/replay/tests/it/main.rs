//! The state machine against the plans and event logs of aiperf 0.12.0 and of the fork (`data/`).

#![allow(clippy::unwrap_used, reason = "a test that cannot read its vector has failed")]

mod captures;
mod dispatch;
mod fork;
mod inputs;
mod interrupt;
mod invariants;
mod plan;
mod requests;
mod rules;
mod wakes;
