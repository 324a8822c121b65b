//! What can go wrong with a capture as a whole. What goes wrong with a request is a row.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use record::RecordError;

use crate::proxy::UpstreamError;

/// Why a capture did not start, or did not finish its files.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The server's URL or the certificates to trust are unusable.
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address wanted.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// A header that holds keys cannot name sessions, since their names are written.
    #[error("the header `{name}` holds keys, which are never written; expected a header that names sessions")]
    SecretHeader {
        /// The header.
        name: String,
    },
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] RecordError),
    /// A file or folder cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The recorder's thread cannot be started, or died.
    #[error("the recorder is gone: {0}")]
    Recorder(String),
}
