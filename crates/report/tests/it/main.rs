//! The terminal summary, and making it again from a run's files.

#![allow(clippy::unwrap_used)]

mod rebuild;
mod samples;
mod text;
