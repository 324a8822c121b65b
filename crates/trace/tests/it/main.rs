//! Traces against the fixtures that were made beside the specification, against known faults of other clients, and against
//! themselves.

#![allow(clippy::unwrap_used, clippy::float_cmp, reason = "a test that cannot go on has failed; times are exact here")]

mod faults;
mod fixtures;
mod forms;
mod large;
mod mooncake;
mod round_trips;
mod support;
