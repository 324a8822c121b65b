//! A file that only grows, and never holds half a record longer than it takes to find out.
//!
//! Each append is one write, with nothing kept back in the process: what was appended survives the process being killed.
//! When a write fails (disk full), the file is cut back to the last whole record before the error is returned, so
//! that a later append, should there be room again, does not follow a torn one.
//!
//! [`write_whole`] is for the files that are not appended to: they are there whole, or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::RecordError;

/// Where bytes are appended: a file, or what a test puts in its place.
pub trait Storage {
    /// Appends all of `bytes`; on an error any part of them may have been written.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Cuts off everything behind `length`.
    fn cut(&mut self, length: u64) -> io::Result<()>;
    /// Returns once the operating system has put everything on the disk.
    fn sync(&mut self) -> io::Result<()>;
}

impl Storage for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// An append-only file.
#[derive(Debug)]
pub struct Appender<S = File> {
    path: PathBuf,
    storage: S,
    length: u64,
    torn: bool,
}

impl Appender<File> {
    /// A new file at `path`; an error when there is one.
    pub fn create(path: &Path) -> Result<Self, RecordError> {
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(path)
            .map_err(|source| RecordError::File {
                action: "create",
                path: path.to_path_buf(),
                source,
            })?;
        Ok(Self::new(path, file))
    }
}

impl<S: Storage> Appender<S> {
    /// `storage`, which is empty; `path` is its name in messages.
    pub fn new(path: &Path, storage: S) -> Self {
        Self {
            path: path.to_path_buf(),
            storage,
            length: 0,
            torn: false,
        }
    }

    /// Bytes of whole records.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Appends `bytes`, or nothing of them.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), RecordError> {
        if self.torn {
            self.cut(self.length)?;
        }
        if let Err(source) = self.storage.append(bytes) {
            self.torn = self.storage.cut(self.length).is_err();
            return Err(self.error("append to", source));
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Cuts off what stands behind `length`, which is the end of a record.
    pub fn cut(&mut self, length: u64) -> Result<(), RecordError> {
        self.torn = true;
        self.storage
            .cut(length)
            .map_err(|source| self.error("cut back", source))?;
        self.torn = false;
        self.length = length;
        Ok(())
    }

    /// Returns once everything is on the disk.
    pub fn sync(&mut self) -> Result<(), RecordError> {
        self.storage.sync().map_err(|source| self.error("sync", source))
    }

    fn error(&self, action: &'static str, source: io::Error) -> RecordError {
        RecordError::File {
            action,
            path: self.path.clone(),
            source,
        }
    }
}

/// Puts `bytes` under `path`, replacing what is there, and returns once they are on the disk. A reader sees the old file or
/// the new one, never a part.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), RecordError> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(".part");
    File::create(&draft)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| trace::take_place(Path::new(&draft), path))
        .map_err(|source| RecordError::File {
            action: "write",
            path: path.to_path_buf(),
            source,
        })
}
