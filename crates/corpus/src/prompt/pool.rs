//! The token pool that every block's text is taken from.
//!
//! A pool is a text encoded in one call, or the ids of such a text; aiperf's own is needed for its exact bytes, any other
//! gives the same block structure and cache behaviour (`aiperf-corpus` §5.2). Never changes once made.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tree::BLOCK_TOKENS;

use super::escaped::{EscapedTokens, Held, MAX_ESCAPED_BYTES, Sink, escape};
use super::{PromptError, Tokenizer, default_pool, sha256_hex};

/// Largest pool, as a file and as escaped text.
pub const MAX_POOL_BYTES: u64 = MAX_ESCAPED_BYTES;

/// How far a block may run past the end; it goes on at the start.
const WRAP_TOKENS: usize = BLOCK_TOKENS as usize - 1;

/// A fixed list of tokens with their text.
pub struct Pool {
    tokenizer: Arc<Tokenizer>,
    ids: Box<[u32]>,
    sha256: String,
    /// The text of the ids and of the first [`WRAP_TOKENS`] of them again; `None` when text exists for whole lists only.
    escaped: Option<EscapedTokens>,
}

impl Pool {
    /// Reads what `--prompt-pool` names: little-endian `u32` ids of `tokenizer` when the name ends in `.u32le`, else
    /// UTF-8 text.
    pub fn load(path: &Path, tokenizer: Arc<Tokenizer>) -> Result<Self, PromptError> {
        let read = |source| PromptError::Read {
            what: "prompt pool",
            path: path.to_path_buf(),
            source,
        };
        let bytes = fs::metadata(path).map_err(read)?.len();
        if bytes > MAX_POOL_BYTES {
            return Err(PromptError::PoolTooLarge { bytes });
        }
        let file = fs::read(path).map_err(read)?;
        let ids = if path.extension().is_some_and(|ending| ending == "u32le") {
            let (ids, torn) = file.as_chunks::<4>();
            if !torn.is_empty() {
                return Err(PromptError::PoolTorn {
                    path: path.to_path_buf(),
                    bytes: file.len(),
                });
            }
            ids.iter().map(|id| u32::from_le_bytes(*id)).collect()
        } else {
            let text = std::str::from_utf8(&file).map_err(|error| PromptError::PoolNotText {
                path: path.to_path_buf(),
                offset: error.valid_up_to(),
            })?;
            tokenizer.encode(text)?
        };
        Self::new(ids, tokenizer, sha256_hex(&file))
    }

    /// The pool that needs no file: some 300 kB of made-up code, logs and prose. Its bytes are not aiperf's.
    pub fn built_in(tokenizer: Arc<Tokenizer>) -> Result<Self, PromptError> {
        Self::from_text(&default_pool::text(), tokenizer)
    }

    /// A pool of `text`, encoded in one call.
    pub fn from_text(text: &str, tokenizer: Arc<Tokenizer>) -> Result<Self, PromptError> {
        Self::new(tokenizer.encode(text)?, tokenizer, sha256_hex(text.as_bytes()))
    }

    /// A pool of `ids`; its digest is that of their `.u32le` form.
    pub fn from_ids(ids: Vec<u32>, tokenizer: Arc<Tokenizer>) -> Result<Self, PromptError> {
        let file: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
        Self::new(ids, tokenizer, sha256_hex(&file))
    }

    fn new(ids: Vec<u32>, tokenizer: Arc<Tokenizer>, sha256: String) -> Result<Self, PromptError> {
        if ids.len() < BLOCK_TOKENS as usize {
            return Err(PromptError::PoolTooShort { tokens: ids.len() });
        }
        if let Some(position) = ids.iter().position(|&id| !tokenizer.contains(id)) {
            return Err(PromptError::PoolForeignId {
                id: ids[position],
                position,
            });
        }
        let escaped = if tokenizer.is_byte_level() {
            let round = ids.iter().chain(&ids[..WRAP_TOKENS]);
            Some(EscapedTokens::new(round.map(|&id| token_bytes(&tokenizer, id)))?)
        } else {
            // Shows now what the decoder would refuse while a body is sent.
            tokenizer.decode(&ids)?;
            None
        };
        Ok(Self {
            tokenizer,
            ids: ids.into_boxed_slice(),
            sha256,
            escaped,
        })
    }

    /// Its tokens in order.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// How many tokens it has; fits, since each takes a byte at least of [`MAX_POOL_BYTES`].
    pub fn tokens(&self) -> u32 {
        self.ids.len() as u32
    }

    /// SHA-256, in hex, of the file (or text) that the pool was made from.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The tokenizer that its ids belong to.
    pub fn tokenizer(&self) -> &Arc<Tokenizer> {
        &self.tokenizer
    }

    /// True when a block's text is a slice; else every message is decoded as a whole while it is sent, which is slower.
    pub fn is_sliced(&self) -> bool {
        self.escaped.is_some()
    }

    /// Puts the text of a message that `windows` make up, escaped for JSON. For pools that are not sliced.
    pub(super) fn put_whole(&self, windows: impl Iterator<Item = Window>, sink: &mut impl Sink) {
        let tokens = windows.flat_map(|window| {
            let start = window.start as usize;
            (start..start + window.tokens as usize).map(|at| self.ids[at % self.ids.len()])
        });
        let ids: Vec<u32> = tokens.collect();
        // The whole pool was decoded when it was made. Should a part of it be refused all the same, the message is empty
        // in both walks over a body, and its length is right.
        let text = self.tokenizer.decode(&ids).unwrap_or_else(|error| {
            tracing::error!(%error, "a message is sent without its text");
            String::new()
        });
        let mut escaped = Vec::with_capacity(text.len());
        escape(&text, &mut escaped);
        sink.put(&escaped);
    }

    /// Puts the text of one window as a slice, with an unfinished character carried in `held`.
    ///
    /// # Panics
    /// When the pool is not sliced.
    pub(super) fn put_slice(&self, window: Window, held: &mut Held, sink: &mut impl Sink) {
        let escaped = self.escaped.as_ref().expect("asked only of a sliced pool");
        let start = window.start as usize;
        let token = |at: usize| token_bytes(&self.tokenizer, self.ids[at % self.ids.len()]);
        escaped.put(start, start + window.tokens as usize, held, token, sink);
    }
}

fn token_bytes(tokenizer: &Tokenizer, id: u32) -> std::borrow::Cow<'static, [u8]> {
    tokenizer.bytes(id).unwrap_or_default()
}

/// Neighbouring tokens of a pool. A block's may run past the pool's end, where they go on at its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Window {
    /// Position of the first in the pool.
    pub(super) start: u32,
    /// How many.
    pub(super) tokens: u32,
}
