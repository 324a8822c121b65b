//! JSON Lines as a killed run leaves them: whole lines, then perhaps a piece of one.
//!
//! A last line without its newline is taken when it is a whole object (nothing is missing but the newline), else it is
//! torn: it is left out and [`Lines::torn`] says so. Any other line that does not parse is an error that names
//! file and line; reading goes on behind it.

use std::io::{BufRead, Read};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::RecordError;

/// Longest line that is read. A row is about a kilobyte; its error text is cut far below this.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// The lines of a file, each parsed as a `T`.
#[derive(Debug)]
pub struct Lines<R, T> {
    path: PathBuf,
    input: R,
    version_max: u32,
    line: u64,
    buffer: Vec<u8>,
    torn: Option<u64>,
    ended: bool,
    item: PhantomData<T>,
}

impl<R: BufRead, T: DeserializeOwned> Lines<R, T> {
    /// Lines of `input`; `path` is its name in messages. A line whose `v` is above `version_max` is an error.
    pub fn new(path: &Path, input: R, version_max: u32) -> Self {
        Self {
            path: path.to_path_buf(),
            input,
            version_max,
            line: 0,
            buffer: Vec::new(),
            torn: None,
            ended: false,
            item: PhantomData,
        }
    }

    /// The torn last line's number from 1, once the end has been reached.
    pub fn torn(&self) -> Option<u64> {
        self.torn
    }

    /// Fills the buffer with the next line that is not blank. `Ok(None)` at the end, else whether its newline was there.
    fn fill(&mut self) -> Result<Option<bool>, RecordError> {
        loop {
            self.buffer.clear();
            self.line += 1;
            let mut limited = self.input.by_ref().take(LINE_BYTES_MAX as u64 + 1);
            limited
                .read_until(b'\n', &mut self.buffer)
                .map_err(|source| RecordError::File {
                    action: "read",
                    path: self.path.clone(),
                    source,
                })?;
            let closed = self.buffer.last() == Some(&b'\n');
            if !closed && self.buffer.len() > LINE_BYTES_MAX {
                return Err(RecordError::LongLine {
                    path: self.path.clone(),
                    line: self.line,
                    limit: LINE_BYTES_MAX,
                });
            }
            if self.buffer.is_empty() {
                return Ok(None);
            }
            if !self.buffer.iter().all(u8::is_ascii_whitespace) {
                return Ok(Some(closed));
            }
        }
    }

    fn parse(&self) -> Result<T, RecordError> {
        let problem = match serde_json::from_slice::<T>(&self.buffer) {
            Ok(item) => return self.checked_version().map(|()| item),
            Err(problem) => problem,
        };
        self.checked_version()?;
        Err(RecordError::Line {
            path: self.path.clone(),
            line: self.line,
            problem: problem.to_string(),
        })
    }

    /// A later version is the better explanation for a line that does not parse, so it is looked for first.
    fn checked_version(&self) -> Result<(), RecordError> {
        #[derive(Deserialize)]
        struct Versioned {
            v: u32,
        }
        // Our own writer puts the version first; only another line is parsed a second time for it.
        let ours = format!("{{\"v\":{},", self.version_max);
        if self.buffer.starts_with(ours.as_bytes()) {
            return Ok(());
        }
        match serde_json::from_slice::<Versioned>(&self.buffer) {
            Ok(Versioned { v }) if v > self.version_max => Err(RecordError::Version {
                path: self.path.clone(),
                line: self.line,
                found: v,
                supported: self.version_max,
            }),
            _ => Ok(()),
        }
    }
}

impl<R: BufRead, T: DeserializeOwned> Iterator for Lines<R, T> {
    type Item = Result<T, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let closed = match self.fill() {
            Ok(Some(closed)) => closed,
            Ok(None) => {
                self.ended = true;
                return None;
            }
            Err(error) => {
                self.ended = true;
                return Some(Err(error));
            }
        };
        match self.parse() {
            Err(RecordError::Line { line, .. }) if !closed => {
                self.ended = true;
                self.torn = Some(line);
                None
            }
            parsed => Some(parsed),
        }
    }
}
