//! A corpus file from a Hugging Face dataset repository, its SHA-256 checked while the bytes stream.
//!
//! A [`Hub`] is where to ask and where files are kept; [`Wanted`] says which file; [`fetch`] looks into the cache, then
//! asks for the stated revision, then for the default branch, and gives a [`Fetched`]. The cache has the layout of
//! Hugging Face's own tools, so that what they fetched is found here and the other way round.
//!
//! Only the digest decides what is the corpus: a revision is a record, not a pin (`bindings` §11.7). Bytes that do not
//! have the stated digest are removed; bytes that have not all come yet lie in a file called `.incomplete`.
//!
//! Never parses what it fetches, never prints, never shows the token.

mod cache;
mod digest;
mod download;
mod environment;
mod error;
mod hub;
mod limits;
mod names;
mod partial;
mod request;

use std::path::PathBuf;
use std::time::Duration;

use cache::Place;
pub use environment::{HubEnvironment, Token};
pub use error::FetchError;
pub use hub::{Hub, Proxies};
pub use limits::Limits;

use crate::pin::Pin;

/// The branch that is read when no revision is stated or the hub no longer has it, as Hugging Face's tools do.
pub const DEFAULT_BRANCH: &str = "main";

/// One file of one dataset repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// `owner/name`.
    pub repository: String,
    /// A commit, branch or tag that is tried before the default branch.
    pub revision: Option<String>,
    /// The file's path in the repository.
    pub file: String,
    /// SHA-256 that the content must have: 64 hex digits of either case. Without it the found one is returned, to be
    /// stated from then on.
    pub sha256: Option<String>,
}

impl Wanted {
    /// The corpus of a row of the table of pins.
    pub fn pinned(pin: &Pin) -> Self {
        Self {
            repository: pin.repository.clone(),
            revision: pin.revision.clone(),
            file: pin.file.clone(),
            sha256: pin.sha256.clone(),
        }
    }

    /// What is asked for, in order: the stated revision, then the default branch.
    fn revisions(&self) -> Vec<&str> {
        let mut revisions = vec![self.revision.as_deref().unwrap_or(DEFAULT_BRANCH)];
        if revisions[0] != DEFAULT_BRANCH {
            revisions.push(DEFAULT_BRANCH);
        }
        revisions
    }
}

/// A file that lies complete in the cache and whose digest was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Where it lies: the snapshot's entry, or the blob itself where the hub named no commit.
    pub path: PathBuf,
    /// SHA-256 of the content, 64 lowercase hex digits.
    pub sha256: String,
    /// Size of the content.
    pub bytes: u64,
    /// The revision that was asked for when it was found; `None` when the digest alone found it in the cache.
    pub revision_used: Option<String>,
    /// The commit that the hub named, 40 hex digits.
    pub commit: Option<String>,
    /// True when no byte of the content was transferred.
    pub from_cache: bool,
}

/// What a fetch is doing. Comes often (with every read of the socket); whoever shows it thins it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A file of the cache is read and its digest taken.
    Checking {
        /// Which.
        path: PathBuf,
    },
    /// A request goes out.
    Asking {
        /// For what, without anything secret.
        url: String,
    },
    /// Bytes of an earlier, broken download are kept.
    Resuming {
        /// How many.
        bytes: u64,
    },
    /// Bytes have come.
    Received {
        /// How many of the content are there now.
        bytes: u64,
        /// How many there will be, if the hub said so.
        total: Option<u64>,
    },
    /// An attempt failed, another one follows.
    Retrying {
        /// What went wrong.
        reason: String,
        /// How many attempts in a row have failed.
        failures: u32,
        /// How many may.
        of: u32,
        /// How long until the next one.
        pause: Duration,
    },
    /// The hub has no such file at the stated revision; the default branch is asked next.
    FallingBack {
        /// The revision that is gone.
        from: String,
    },
}

/// Brings the wanted file into the cache, unless it is there already, and says where it lies.
///
/// With a stated digest a cached file of that digest is used without any network; without one, a cached file is used when
/// the revision is a commit (the content of a branch may have changed) or when the hub is not to be asked at all.
pub async fn fetch(
    hub: &Hub,
    wanted: &Wanted,
    progress: &mut dyn FnMut(Progress),
) -> Result<Fetched, FetchError> {
    names::check(wanted)?;
    let place = Place::new(hub.cache(), &wanted.repository);
    if let Some(found) = cache::find(&place, wanted, hub.is_offline(), progress).await? {
        tracing::debug!(path = %found.path.display(), sha256 = found.sha256, "the corpus is in the cache");
        return Ok(found);
    }
    if hub.is_offline() {
        return Err(FetchError::Offline {
            repository: wanted.repository.clone(),
            file: wanted.file.clone(),
        });
    }
    if let Some(revision) = wanted.revision.as_deref().filter(|name| *name != DEFAULT_BRANCH) {
        match download::download(hub, &place, wanted, revision, progress).await {
            Err(FetchError::NotFound { .. }) => progress(Progress::FallingBack {
                from: revision.to_owned(),
            }),
            other => return other,
        }
    }
    download::download(hub, &place, wanted, DEFAULT_BRANCH, progress).await
}
