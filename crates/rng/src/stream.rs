//! Named child seeds: how one run seed becomes many independent ones, whatever their order of creation.

use sha2::{Digest, Sha256};

/// The first eight bytes of SHA-256 of `text`, read big-endian. aiperf's rule for every derived seed.
pub fn be64(text: &str) -> u64 {
    let digest = Sha256::digest(text.as_bytes());
    let mut head = [0; 8];
    head.copy_from_slice(&digest[..8]);
    u64::from_be_bytes(head)
}

/// Seed of the component called `name` under run seed `root`: [`be64`] of `"<root>:<name>"`.
pub fn child(root: u64, name: &str) -> u64 {
    be64(&format!("{root}:{name}"))
}

/// Seed of a lane's snapshot draw: [`be64`] of `"<root>:<trace id>:<lane>"`.
pub fn lane(root: u64, trace_id: &str, lane: u32) -> u64 {
    be64(&format!("{root}:{trace_id}:{lane}"))
}
