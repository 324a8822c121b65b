//! Traces as files: the data CSV, its header and binding, the block-hash sidecar, and Mooncake JSON lines (`trace-csv`,
//! `sweeper-traffic` §7).
//!
//! [`verify`] checks a data file against the binding that names it, before anything is sent; [`csv`] streams its rows and
//! writes them; [`blocks`] does the same for the sidecar. [`mooncake`] reads and writes the other line format. A
//! [`recording::Recording`] holds what a replay needs of either, a hundred bytes a row; [`pace`] says when each request
//! is due, [`sharing`] what prompts have in common. [`bundle`] writes a trace with everything that belongs to it, [`convert`]
//! goes from one form to another.
//!
//! Never opens a socket, never reads a clock, never keeps a whole file in memory, and knows nothing of session trees or of
//! records of a run: `corpus` and `record` turn theirs into [`csv::Row`]s.

#![forbid(unsafe_code)]

pub mod blocks;
pub mod bundle;
pub mod convert;
pub mod csv;
mod digest;
mod error;
pub mod goodput;
pub mod header;
mod lines;
pub mod mooncake;
pub mod pace;
mod problem;
pub mod recording;
pub mod sharing;
pub mod survey;
mod unit;
pub mod verify;

pub use digest::Hashing;
pub use error::TraceError;
pub use problem::{PROBLEMS_MAX, Place, Problem, Problems, Severity};
pub use unit::TimeUnit;
