//! Tokenizers: one type over a Hugging Face `tokenizer.json` and a built-in one whose tokens are the 256 bytes.
//!
//! What matters here beside encoding is a token's bytes. In a byte-level vocabulary every token has fixed bytes, and text
//! is the lossy UTF-8 reading of their concatenation, so a span of a pool is a slice. Other vocabularies (`SentencePiece`,
//! `WordPiece`) give text only for a whole list of ids at once. Which of the two holds is settled when a file is read.
//!
//! Never adds special tokens when encoding, never drops them when decoding, never fetches anything.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use tokenizers::pipeline::{EncodeOptions, Override, PipelineModel, PipelineTokenizer};
use tokenizers::utils::byte_level::char_to_byte;

use super::{PromptError, sha256_hex};

/// The argument that names the built-in tokenizer.
pub const BUILTIN: &str = "builtin";

/// Turns text into token ids and back.
#[derive(Clone)]
pub struct Tokenizer {
    vocabulary: Vocabulary,
    sha256: Option<String>,
}

#[derive(Clone)]
enum Vocabulary {
    /// Token id = byte value.
    Bytes,
    /// Every token has bytes of its own.
    ByteLevel(PipelineTokenizer),
    /// Text exists for whole id lists only.
    Whole(PipelineTokenizer),
}

impl Tokenizer {
    /// The tokenizer that needs no file: 256 tokens, id = byte value.
    pub fn builtin() -> Self {
        Self {
            vocabulary: Vocabulary::Bytes,
            sha256: None,
        }
    }

    /// What `--tokenizer` names: [`BUILTIN`], a `tokenizer.json`, or the folder that holds one.
    pub fn open(argument: &str) -> Result<Self, PromptError> {
        if argument == BUILTIN {
            return Ok(Self::builtin());
        }
        Self::load(Path::new(argument))
    }

    /// Reads a `tokenizer.json`, or the one in the folder `path`. Files of all versions of the library are understood.
    pub fn load(path: &Path) -> Result<Self, PromptError> {
        let file = if path.is_dir() {
            path.join("tokenizer.json")
        } else {
            path.to_path_buf()
        };
        if path.is_dir() && !file.exists() {
            return Err(PromptError::NoTokenizer {
                path: path.to_path_buf(),
            });
        }
        let text = fs::read_to_string(&file).map_err(|source| PromptError::Read {
            what: "tokenizer",
            path: file.clone(),
            source,
        })?;
        let bad = |message: String| PromptError::BadTokenizer {
            path: file.clone(),
            message,
        };
        // The reader takes the newest form only; older files are rewritten first.
        let canonical = tokenizers::canonicalize_str(&text).map_err(|error| bad(error.to_string()))?;
        let pipeline = tokenizers::from_json(&canonical).map_err(|error| bad(error.to_string()))?;
        let byte_level = matches!(pipeline.get_model(), PipelineModel::BPE(model) if model.is_byte_level());
        Ok(Self {
            vocabulary: if byte_level {
                Vocabulary::ByteLevel(pipeline)
            } else {
                Vocabulary::Whole(pipeline)
            },
            sha256: Some(sha256_hex(text.as_bytes())),
        })
    }

    /// SHA-256 of the file in hex; `None` for the built-in one.
    pub fn sha256(&self) -> Option<&str> {
        self.sha256.as_deref()
    }

    /// Ids of the whole `text`, encoded in one call, without special tokens around it and without truncation.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, PromptError> {
        let pipeline = match &self.vocabulary {
            Vocabulary::Bytes => return Ok(text.bytes().map(u32::from).collect()),
            Vocabulary::ByteLevel(pipeline) | Vocabulary::Whole(pipeline) => pipeline,
        };
        let options = EncodeOptions {
            padding: Override::Off,
            truncation: Override::Off,
            ..EncodeOptions::no_specials()
        };
        let mut ids = Vec::new();
        pipeline
            .encode_into(text, &options, &mut ids)
            .map_err(|error| refused("encode", error.as_ref()))?;
        Ok(ids.into_iter().map(u32::from).collect())
    }

    /// Text of `ids`, all decoded in one call, special tokens kept; ids outside the vocabulary give nothing.
    pub fn decode(&self, ids: &[u32]) -> Result<String, PromptError> {
        match &self.vocabulary {
            Vocabulary::Bytes => {
                let bytes: Vec<u8> = ids.iter().filter_map(|&id| u8::try_from(id).ok()).collect();
                Ok(String::from_utf8_lossy(&bytes).into_owned())
            }
            Vocabulary::ByteLevel(pipeline) | Vocabulary::Whole(pipeline) => pipeline
                .decode(ids, false)
                .map_err(|error| refused("decode", error.as_ref())),
        }
    }

    /// True when the vocabulary has a token `id`.
    pub fn contains(&self, id: u32) -> bool {
        match &self.vocabulary {
            Vocabulary::Bytes => id < 256,
            Vocabulary::ByteLevel(pipeline) | Vocabulary::Whole(pipeline) => {
                !pipeline.decode_tokens(&[id], false).is_empty()
            }
        }
    }

    /// True when every token has bytes of its own ([`Tokenizer::bytes`]) and text is their concatenation.
    pub fn is_byte_level(&self) -> bool {
        !matches!(self.vocabulary, Vocabulary::Whole(_))
    }

    /// The bytes of token `id`, which need not be whole characters. `None` for an id outside the vocabulary and for
    /// every id of a vocabulary that is not byte-level.
    pub fn bytes(&self, id: u32) -> Option<Cow<'static, [u8]>> {
        match &self.vocabulary {
            Vocabulary::Bytes => {
                let byte = u8::try_from(id).ok()?;
                Some(Cow::Borrowed(std::slice::from_ref(&ALL_BYTES[usize::from(byte)])))
            }
            Vocabulary::ByteLevel(pipeline) => byte_level_bytes(pipeline, id).map(Cow::Owned),
            Vocabulary::Whole(_) => None,
        }
    }

    /// How the vocabulary spells token `id`: its bytes where tokens have bytes, else the vocabulary's own notation. `None`
    /// for an id outside the vocabulary and for an added token, special or not.
    pub(super) fn spelling(&self, id: u32) -> Option<Cow<'static, [u8]>> {
        let pipeline = match &self.vocabulary {
            Vocabulary::Bytes => return self.bytes(id),
            Vocabulary::ByteLevel(pipeline) | Vocabulary::Whole(pipeline) => pipeline,
        };
        if pipeline.get_added_vocabulary().simple_id_to_token(id).is_some() {
            return None;
        }
        match &self.vocabulary {
            Vocabulary::Whole(_) => Some(pipeline.get_model().id_to_token(id)?.into_bytes().into()),
            _ => self.bytes(id),
        }
    }
}

static ALL_BYTES: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut at = 0;
    while at < 256 {
        bytes[at] = at as u8;
        at += 1;
    }
    bytes
};

/// An added token stands for its own text; any other is spelled in the byte-level alphabet.
fn byte_level_bytes(pipeline: &PipelineTokenizer, id: u32) -> Option<Vec<u8>> {
    if let Some(added) = pipeline.get_added_vocabulary().simple_id_to_token(id) {
        return Some(added.into_bytes());
    }
    let spelled = pipeline.get_model().id_to_token(id)?;
    spelled.chars().map(char_to_byte).collect()
}

fn refused(action: &'static str, error: &(dyn std::error::Error + Send + Sync)) -> PromptError {
    PromptError::Refused {
        action,
        message: error.to_string(),
    }
}
