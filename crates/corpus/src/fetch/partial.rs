//! A content that has not all come: an `.incomplete` file that grows, is digested as it grows, and is renamed at its end.
//!
//! A content appears under its final name only by renaming, after its digest was checked.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::FetchError;
use super::cache::Place;
use super::digest::{self, Running};

/// A content that is being received, locked against other processes.
pub(super) struct Partial {
    path: PathBuf,
    file: File,
    content: Running,
    _lock: File,
}

impl Partial {
    /// The unfinished content called `name`, its bytes so far digested anew; `None` when there is none.
    pub(super) async fn resume(place: &Place, name: &str) -> Result<Option<Self>, FetchError> {
        if place.incomplete(name).exists() {
            Self::open(place, name).await.map(Some)
        } else {
            Ok(None)
        }
    }

    /// The same, an empty one made when there is none.
    pub(super) async fn open(place: &Place, name: &str) -> Result<Self, FetchError> {
        let lock = lock(place.lock(name))?;
        let path = place.incomplete(name);
        let refused = |error| FetchError::disk(&path, error);
        if let Some(blobs) = path.parent() {
            fs::create_dir_all(blobs).map_err(refused)?;
        }
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path)
            .map_err(refused)?;
        let content = if file.metadata().map_err(refused)?.len() > 0 {
            digest::of_file(&path).await.map_err(refused)?
        } else {
            Running::default()
        };
        Ok(Self {
            path,
            file,
            content,
            _lock: lock,
        })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.content.bytes()
    }

    pub(super) fn sha256(&self) -> String {
        self.content.hex()
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), FetchError> {
        self.file
            .write_all(bytes)
            .map_err(|error| FetchError::disk(&self.path, error))?;
        self.content.add(bytes);
        Ok(())
    }

    /// Forgets what has come.
    pub(super) fn start_over(&mut self) -> Result<(), FetchError> {
        if self.bytes() == 0 {
            return Ok(());
        }
        self.content = Running::default();
        self.file
            .set_len(0)
            .map_err(|error| FetchError::disk(&self.path, error))
    }

    /// Removes the content from the disk.
    pub(super) fn discard(self) -> Result<(), FetchError> {
        fs::remove_file(&self.path).map_err(|error| FetchError::disk(&self.path, error))
    }

    /// Gives the content its final name, once it is safely on the disk.
    pub(super) fn finish(self, blob: &Path) -> Result<(), FetchError> {
        self.file
            .sync_all()
            .and_then(|()| fs::rename(&self.path, blob))
            .map_err(|error| FetchError::disk(blob, error))
    }
}

/// Takes the lock at `path`; it is released when the file is closed.
fn lock(path: PathBuf) -> Result<File, FetchError> {
    let refused = |error| FetchError::disk(&path, error);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(refused)?;
    }
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(refused)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(FetchError::Busy { lock: path }),
        // Some network file systems have no locks; a digest still decides there.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(file),
        Err(TryLockError::Error(error)) => Err(refused(error)),
    }
}
