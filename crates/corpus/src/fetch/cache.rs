//! The cache folder: `blobs/` holds contents, `snapshots/COMMIT/` links to them by name, `refs/` says what a branch was.
//!
//! The layout is that of Hugging Face's own tools, so that each finds what the other fetched.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hf_hub::{CacheRepo, Repo};

use super::digest;
use super::request::{Stated, is_commit};
use super::{DEFAULT_BRANCH, FetchError, Fetched, Progress, Wanted};

/// The part of the cache that belongs to one repository.
pub(super) struct Place {
    cache: hf_hub::Cache,
    repository: String,
    folder: PathBuf,
    locks: PathBuf,
}

impl Place {
    pub(super) fn new(cache: &Path, repository: &str) -> Self {
        let name = Repo::dataset(repository.to_owned()).folder_name();
        Self {
            cache: hf_hub::Cache::new(cache.to_owned()),
            repository: repository.to_owned(),
            folder: cache.join(&name),
            locks: cache.join(".locks").join(&name),
        }
    }

    /// The repository at a branch or tag.
    fn at(&self, revision: &str) -> CacheRepo {
        let kind = hf_hub::RepoType::Dataset;
        self.cache.repo(Repo::with_revision(
            self.repository.clone(),
            kind,
            revision.to_owned(),
        ))
    }

    /// Where the content called `name` lies.
    pub(super) fn blob(&self, name: &str) -> PathBuf {
        self.folder.join("blobs").join(name)
    }

    /// Where it lies while it is not all there, as Hugging Face's tools name it.
    pub(super) fn incomplete(&self, name: &str) -> PathBuf {
        self.blob(&format!("{name}.incomplete"))
    }

    /// The lock that Hugging Face's tools take while they fetch the same content.
    pub(super) fn lock(&self, name: &str) -> PathBuf {
        self.locks.join(format!("{name}.lock"))
    }

    fn snapshot(&self, commit: &str, file: &str) -> PathBuf {
        self.at(commit).pointer_path(commit).join(file)
    }

    /// Makes the content at `blob` findable as `file` of what the hub called `revision`, and says under which path.
    pub(super) fn publish(
        &self,
        blob: &Path,
        stated: &Stated,
        revision: &str,
        file: &str,
    ) -> Result<PathBuf, FetchError> {
        let commit = stated
            .commit
            .as_deref()
            .or(Some(revision).filter(|name| is_commit(name)));
        let Some(commit) = commit else {
            return Ok(blob.to_owned());
        };
        let pointer = self.snapshot(commit, file);
        link(blob, &pointer, file).map_err(|error| FetchError::disk(&pointer, error))?;
        if revision != commit {
            self.at(revision)
                .create_ref(commit)
                .map_err(|error| FetchError::disk(&self.folder.join("refs").join(revision), error))?;
        }
        Ok(pointer)
    }
}

/// The wanted file, if the cache holds it and its digest is the stated one.
pub(super) async fn find(
    place: &Place,
    wanted: &Wanted,
    offline: bool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Option<Fetched>, FetchError> {
    for (path, revision) in candidates(place, wanted, offline) {
        if !path.is_file() {
            continue;
        }
        progress(Progress::Checking { path: path.clone() });
        let content = digest::of_file(&path)
            .await
            .map_err(|error| FetchError::disk(&path, error))?;
        let sha256 = content.hex();
        if wanted
            .sha256
            .as_ref()
            .is_none_or(|stated| stated.eq_ignore_ascii_case(&sha256))
        {
            return Ok(Some(Fetched {
                path,
                sha256,
                bytes: content.bytes(),
                commit: revision.clone().filter(|name| is_commit(name)),
                revision_used: revision,
                from_cache: true,
            }));
        }
        tracing::debug!(path = %path.display(), sha256, "a cached file has another digest and is not used");
    }
    Ok(None)
}

/// Where the file may lie, and at which revision.
fn candidates(place: &Place, wanted: &Wanted, offline: bool) -> Vec<(PathBuf, Option<String>)> {
    let mut found = Vec::new();
    for revision in wanted.revisions() {
        let here = Some(revision.to_owned());
        if is_commit(revision) {
            found.push((place.snapshot(revision, &wanted.file), here));
        } else if wanted.sha256.is_some() || offline {
            // What a branch was when it was last looked at: good when a digest decides, or when nobody can be asked.
            found.extend(place.at(revision).get(&wanted.file).map(|path| (path, here)));
        }
        if wanted.sha256.is_none() && !offline && revision != DEFAULT_BRANCH {
            break;
        }
    }
    if let Some(sha256) = &wanted.sha256 {
        found.push((place.blob(&sha256.to_ascii_lowercase()), None));
    }
    found
}

/// Puts at `pointer` a link to `blob`, relative as Hugging Face's tools make it; replaces what was there in one step.
fn link(blob: &Path, pointer: &Path, file: &str) -> io::Result<()> {
    let folder = pointer.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(folder)?;
    let name = pointer.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let fresh = folder.join(format!(".{}.{}", name.display(), std::process::id()));
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    #[cfg(unix)]
    {
        // From snapshots/COMMIT up to the repository's folder, and one more for each folder that `file` names.
        let up: PathBuf = std::iter::repeat_n("..", 2 + file.matches('/').count()).collect();
        let name = blob.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        std::os::unix::fs::symlink(up.join("blobs").join(name), &fresh)?;
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        fs::hard_link(blob, &fresh)?;
    }
    fs::rename(&fresh, pointer)
}
