//! The simulated server from outside: its engine and cache as pure values, its answers over real sockets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cached_tokens;
mod client;
mod engine;
mod faults;
mod metrics;
mod prefix_cache;
mod serving;
mod shapes;
