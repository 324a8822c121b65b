//! The two kinds of line.

use serde::Deserialize;

/// Largest id: what a JSON reader with doubles keeps exactly.
pub const ID_MAX: u64 = (1 << 53) - 1;

/// The word of the format.
const FORMAT: &str = "token-blocks";
/// The version read and written.
const VERSION: u64 = 1;

/// What an id names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ids {
    /// Its block and everything before it.
    Chained,
    /// Its block's own tokens.
    Content,
}

/// The first line of a sidecar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlocksHeader {
    /// Tokens an id, at least 1.
    pub block_size: u64,
    /// Request lines.
    pub rows: u64,
    /// What an id names.
    pub ids: Ids,
    /// Digest of the data CSV that the sidecar belongs to.
    pub data_sha256: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderLine {
    format: String,
    version: u64,
    block_size: u64,
    rows: u64,
    ids: Ids,
    #[serde(default)]
    data_sha256: Option<String>,
}

impl BlocksHeader {
    /// The line, without its end.
    pub fn to_line(&self) -> String {
        let Self { block_size, rows, .. } = self;
        let ids = match self.ids {
            Ids::Chained => "chained",
            Ids::Content => "content",
        };
        let data = self
            .data_sha256
            .as_ref()
            .map_or_else(String::new, |digest| format!(",\"data_sha256\":\"{digest}\""));
        format!(
            "{{\"format\":\"{FORMAT}\",\"version\":{VERSION},\"block_size\":{block_size},\"rows\":{rows},\"ids\":\"{ids}\"{data}}}"
        )
    }

    /// Reads the line; else what was found.
    pub(super) fn parse(line: &[u8]) -> Result<Self, String> {
        let header: HeaderLine = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        if header.format != FORMAT {
            return Err(format!("format `{}`", header.format));
        }
        if header.version != VERSION {
            return Err(format!("version {}", header.version));
        }
        if header.block_size == 0 {
            return Err("block_size 0".to_owned());
        }
        Ok(Self {
            block_size: header.block_size,
            rows: header.rows,
            ids: header.ids,
            data_sha256: header.data_sha256,
        })
    }
}

/// What a header line must be, for messages.
pub(super) const HEADER_EXPECTED: &str = "a first line {\"format\":\"token-blocks\",\"version\":1,\"block_size\":…,\"rows\":…,\"ids\":\"chained\" or \"content\"}";

/// One request's line. Other keys are ignored.
#[derive(Deserialize)]
pub(super) struct RequestLine {
    pub(super) request_id: u64,
    pub(super) tokens: u64,
    pub(super) ids: Vec<u64>,
}
