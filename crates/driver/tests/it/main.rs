//! Tests of `driver` against a scripted server on loopback: what goes over the wire, what comes out of every kind of answer.

// Clippy's own exemption stops at functions marked as tests; everything here is one.
#![allow(clippy::unwrap_used)]

mod answers;
mod cancel;
mod clock;
mod descriptors;
mod endpoint;
mod oracle;
mod reuse;
mod scrape;
mod script;
mod secrets;
mod server;
mod stamps;
mod tls;
mod wire_format;
