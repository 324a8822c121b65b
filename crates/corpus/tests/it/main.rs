//! Integration tests of the corpus crate: one module a subject.

#![allow(clippy::unwrap_used)]

mod fetch;
mod synth;
