//! Mooncake JSON lines: a request a line, its prompt as ids of 512-token blocks (`sweeper-traffic` §7.1).
//!
//! Every row holds its whole prompt: a later turn of a session repeats what came before it, and nothing is added to it
//! here. The `delta` variant, whose later rows hold the new part alone, is another format; rows that look like it draw
//! a warning.

mod read;
mod write;

pub use read::{Entries, Entry, Options, Read};
pub use write::{EntryWriter, WriteEntry};

/// Tokens of a block unless told otherwise.
pub const BLOCK_TOKENS: u32 = 512;
