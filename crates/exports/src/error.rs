//! What can go wrong with an export.

use std::io;
use std::path::{Path, PathBuf};

use record::RecordError;

/// An error of an export. Files that were being written may be incomplete.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The run's files cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Without its header a run has no wall clock, no server and no model.
    #[error("{} has no run.json, which the files of other tools need", path.display())]
    NoHeader {
        /// The run's folder.
        path: PathBuf,
    },
    /// A bound of goodput that cannot be taken.
    #[error(
        "`{given}` is no bound; expected tag:value, where tag is a metric that each request has and value a number above 0"
    )]
    Bound {
        /// What was given.
        given: String,
    },
    /// The operating system refused.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl ExportError {
    /// For `map_err` on whatever writes to `path`.
    pub(crate) fn writing<E: Into<io::Error>>(path: &Path) -> impl FnOnce(E) -> Self {
        |source| Self::File {
            path: path.to_path_buf(),
            source: source.into(),
        }
    }
}
