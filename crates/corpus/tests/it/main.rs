//! The corpus side against what aiperf 0.12.0 itself made of the same rows, and against hubs that behave and misbehave.

#![allow(clippy::unwrap_used, reason = "a test that cannot read its vector has failed")]

mod captures;
mod converts;
mod dumps;
mod faults;
mod fetch;
mod hostile;
mod loading;
mod malformed;
mod prompt;
mod recorded;
mod rows;
mod surveys;
mod synth;
mod vectors;
