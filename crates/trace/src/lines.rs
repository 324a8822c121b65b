//! Lines of a file, one at a time into one buffer, none longer than a limit.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::error::TraceError;

/// Longest JSON line: a million block ids of sixteen digits fit.
pub(crate) const LINE_BYTES_MAX: u64 = 64 << 20;
/// Read buffer.
const BUFFER_BYTES: usize = 256 << 10;

/// Opens `path`; a name that ends in `.gz` is unpacked on the way.
pub(crate) fn open(path: &Path) -> Result<Box<dyn Read + Send>, TraceError> {
    let file = File::open(path).map_err(|source| TraceError::file("open", path, source))?;
    Ok(if is_packed(path) {
        Box::new(MultiGzDecoder::new(BufReader::with_capacity(BUFFER_BYTES, file)))
    } else {
        Box::new(file)
    })
}

/// True for a name that ends in `.gz`.
pub(crate) fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}

/// The lines of a file, blank ones passed over.
pub(crate) struct Lines {
    path: PathBuf,
    input: BufReader<Box<dyn Read + Send>>,
    buffer: Vec<u8>,
    /// Of the line in the buffer, from 1.
    pub(crate) number: u64,
    /// Offset of that line in the (unpacked) text.
    pub(crate) offset: u64,
    next: u64,
}

impl Lines {
    pub(crate) fn open(path: &Path) -> Result<Self, TraceError> {
        Ok(Self::of(path, open(path)?))
    }

    pub(crate) fn of(path: &Path, input: Box<dyn Read + Send>) -> Self {
        Self {
            path: path.to_owned(),
            input: BufReader::with_capacity(BUFFER_BYTES, input),
            buffer: Vec::new(),
            number: 0,
            offset: 0,
            next: 0,
        }
    }

    /// The next line that is not blank, its end not counted.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, TraceError> {
        loop {
            self.buffer.clear();
            self.number += 1;
            self.offset = self.next;
            let read = (&mut self.input)
                .take(LINE_BYTES_MAX + 1)
                .read_until(b'\n', &mut self.buffer)
                .map_err(|source| TraceError::file("read", &self.path, source))?;
            if read == 0 {
                return Ok(None);
            }
            if read as u64 > LINE_BYTES_MAX {
                return Err(TraceError::TooLong {
                    file: self.path.clone(),
                    what: "the line",
                    line: self.number,
                    limit: LINE_BYTES_MAX,
                });
            }
            self.next += read as u64;
            if !self.buffer.trim_ascii().is_empty() {
                break;
            }
        }
        Ok(Some(self.buffer.trim_ascii_end()))
    }
}
