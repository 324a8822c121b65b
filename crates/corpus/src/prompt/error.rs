//! What can be wrong with a tokenizer, a text pool or the fields of a request body.

use std::io;
use std::path::PathBuf;

/// Why prompts cannot be made from what was stated.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// A file that cannot be read.
    #[error("cannot read {what} {}: {source}", path.display())]
    Read {
        /// What the file was to be.
        what: &'static str,
        /// Which file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A folder in which no tokenizer lies.
    #[error(
        "{} holds no tokenizer.json\nhint: state a tokenizer.json, the folder that holds one, or `builtin`",
        path.display()
    )]
    NoTokenizer {
        /// The folder.
        path: PathBuf,
    },
    /// A tokenizer file that is not understood.
    #[error("{} is not a tokenizer.json of the `tokenizers` library: {message}", path.display())]
    BadTokenizer {
        /// Which file.
        path: PathBuf,
        /// What the library said.
        message: String,
    },
    /// A text or list of ids that the tokenizer refuses.
    #[error("the tokenizer cannot {action}: {message}")]
    Refused {
        /// `encode` or `decode`.
        action: &'static str,
        /// What the library said.
        message: String,
    },
    /// A pool file that is not text.
    #[error(
        "prompt pool {} is not UTF-8 at byte {offset}\nhint: token ids go in a file whose name ends in .u32le",
        path.display()
    )]
    PoolNotText {
        /// Which file.
        path: PathBuf,
        /// Where the first invalid byte is.
        offset: usize,
    },
    /// A pool of token ids with a torn end.
    #[error("prompt pool {} has {bytes} bytes; ids are little-endian u32, so a multiple of 4 was expected", path.display())]
    PoolTorn {
        /// Which file.
        path: PathBuf,
        /// Its length.
        bytes: usize,
    },
    /// A pool made for another tokenizer.
    #[error(
        "prompt pool holds id {id} at position {position}, which the tokenizer does not have\nhint: a .u32le pool \
         belongs to the tokenizer that encoded it"
    )]
    PoolForeignId {
        /// The id.
        id: u32,
        /// Its place in the pool, from 0.
        position: usize,
    },
    /// A pool with fewer tokens than a block.
    #[error("prompt pool has {tokens} tokens; a block alone takes {}", tree::BLOCK_TOKENS)]
    PoolTooShort {
        /// How many it has.
        tokens: usize,
    },
    /// A pool that the offset table cannot address.
    #[error(
        "prompt pool takes {bytes} bytes; at most {} are supported",
        super::MAX_POOL_BYTES
    )]
    PoolTooLarge {
        /// How many it takes.
        bytes: u64,
    },
    /// A tokenizer of which prompts cannot be drawn.
    #[error(
        "the tokenizer has {candidates} plain words or letters, of which {safe} stay the same tokens when their joined text \
         is encoded; {} are needed to draw prompts from\nhint: take a tokenizer with a vocabulary of whole words \
         (byte-level BPE, SentencePiece, WordPiece), or `builtin`",
        super::drawn::LEAST_SAFE_TOKENS
    )]
    TooFewSafeTokens {
        /// How many were tried: words, or letters if more of those came back.
        candidates: usize,
        /// How many of them may be drawn.
        safe: usize,
    },
    /// An extra field that would replace the replayed prompt.
    #[error("an extra input may not be named `{name}`: that is the prompt which is replayed")]
    ReservedField {
        /// Its name.
        name: String,
    },
}
