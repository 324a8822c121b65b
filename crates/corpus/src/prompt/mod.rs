//! Prompts: from the block ids of a turn to the exact bytes of its request body, made while they are sent.
//!
//! A [`Tokenizer`] turns one text into the [`Pool`], a fixed list of tokens. A recorded block is 64 neighbouring tokens of
//! that pool, at a place that follows from run seed, trace and hash id; a [`Prompter`] knows the rule and keeps the places
//! of a trace in [`BlockStarts`]. The pool holds its text once, already escaped for JSON, so that a block is one slice of
//! it and a [`RequestBody`] gathers slices chunk by chunk. What follows the messages is rendered once a run ([`Envelope`]);
//! the [`marker`] that keeps two plays of a trace apart goes in front of the first user message.
//!
//! A trace file knows no text at all, only lengths and which parts of two prompts are equal. Its prompts are made of tokens
//! that a generator draws from the [`SafeTokens`] of a tokenizer: a [`Drawer`] turns labelled [`Stretch`]es into a
//! [`DrawnBody`].
//!
//! All rules of recorded prompts are those of aiperf 0.12.0 (`aiperf-corpus` §5 and §6). Never holds anything proportional to a prompt's text,
//! and never draws a random number that does not follow from the run seed.

mod blocks;
mod body;
mod chunks;
mod default_pool;
mod drawn;
mod envelope;
mod error;
mod escaped;
pub mod marker;
mod pool;
mod tokenizer;

pub use blocks::{BlockStarts, Prompter};
pub use body::{BodyOptions, RequestBody};
pub use chunks::CHUNK_BYTES;
pub use drawn::{Drawer, DrawnBody, DrawnMessage, DrawnOptions, DrawnPrompt, SafeTokens, Stretch};
pub use envelope::{Envelope, EnvelopeOptions, LimitKey};
pub use error::PromptError;
pub use pool::{MAX_POOL_BYTES, Pool};
pub use tokenizer::{BUILTIN, Tokenizer};

/// SHA-256 of `bytes` as 64 lower-case hex digits.
fn sha256_hex(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    use std::fmt::Write;

    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        write!(hex, "{byte:02x}").expect("a String takes any text");
    }
    hex
}
