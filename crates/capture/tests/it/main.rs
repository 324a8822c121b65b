//! The recording proxy as a whole, on loopback.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod bytes_unchanged;
mod files_on_disk;
mod latency;
mod recorded;
mod responses;
mod rig;
mod round_trip;
mod tls;
