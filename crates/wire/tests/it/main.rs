//! Tests of `wire`: the event splitter against another one and at every cut, the answer cases as data, real answers of a vLLM server.

#![allow(clippy::unwrap_used)]

mod cuts;
mod faults;
mod overflow;
mod prometheus;
mod real;
mod sse;
mod usage;
