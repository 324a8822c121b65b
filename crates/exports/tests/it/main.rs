//! Exports compared with files that aiperf 0.12.0 wrote: its example artifacts (`tests/data`) and whole runs (`oracle/captures`).

// Test helpers stop at the first surprise, and exact figures are what is asked for.
#![allow(clippy::unwrap_used, clippy::float_cmp)]

mod convert;
mod coverage;
mod inferencex;
mod omissions;
mod runs;
mod values;
mod vllm;
