//! The cache-bust marker of a tree: which hex digits it carries.

use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Bytes of the digest that the marker shows, two hex digits each.
const MARKER_BYTES: usize = 6;

/// Twelve hex digits of SHA-256 of `"<benchmark id>:<pass>:<lane>:<trace id>"` (`aiperf-replay` §6).
pub fn marker_hex(benchmark_id: &str, pass: u64, lane: u32, trace_id: &str) -> String {
    let digest = Sha256::digest(format!("{benchmark_id}:{pass}:{lane}:{trace_id}").as_bytes());
    digest[..MARKER_BYTES]
        .iter()
        .fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").expect("writing to a string cannot fail");
            hex
        })
}
