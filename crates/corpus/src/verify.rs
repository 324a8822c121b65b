//! One pass over a local file: its SHA-256 and where its lines are, before anything is parsed.
//!
//! Reads through one buffer of fixed size, so that the file's length does not show in memory. Never looks into a line.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::error::Error;

/// Bytes read at once while hashing: fits the second-level cache, so that each byte comes from memory once.
pub const READ_BYTES: usize = 256 * 1024;

/// Longest row that is parsed. The largest real ones are some tens of MB; a row is held in memory whole.
pub const ROW_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// What the pass found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    /// SHA-256 of all bytes, 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// Length of the file.
    pub bytes: u64,
    /// Offset of the first byte of each line. A last line without a line feed counts.
    starts: Vec<u64>,
}

impl Scan {
    /// Lines of the file, empty ones included.
    pub fn lines(&self) -> usize {
        self.starts.len()
    }

    /// The bytes of line `index` (from 0), its line feed included.
    ///
    /// # Panics
    /// When there is no such line.
    pub fn line(&self, index: usize) -> Range<u64> {
        let end = self.starts.get(index + 1).copied().unwrap_or(self.bytes);
        self.starts[index]..end
    }
}

/// Hashes `reader` to its end and notes its lines. `progress` hears the bytes done, once a buffer.
pub fn scan(mut reader: impl Read, mut progress: impl FnMut(u64)) -> io::Result<Scan> {
    let mut buffer = vec![0; READ_BYTES];
    let mut hasher = Sha256::new();
    let mut bytes = 0;
    let mut starts = Vec::new();
    let mut at_line_start = true;
    loop {
        let read = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let chunk = &buffer[..read];
        hasher.update(chunk);
        if at_line_start {
            starts.push(bytes);
        }
        let after_feeds = memchr::memchr_iter(b'\n', chunk).map(|feed| feed + 1);
        starts.extend(
            after_feeds
                .filter(|after| *after < read)
                .map(|after| bytes + after as u64),
        );
        at_line_start = chunk.ends_with(b"\n");
        bytes += read as u64;
        progress(bytes);
    }
    Ok(Scan {
        sha256: hex(&hasher.finalize()),
        bytes,
        starts,
    })
}

/// Digest and lines of the file at `path`.
pub fn scan_file(path: &Path) -> Result<Scan, Error> {
    let read = |source| Error::Read {
        file: path.to_owned(),
        source,
    };
    scan(File::open(path).map_err(read)?, |_| ()).map_err(read)
}

/// Compares a file's digest with the stated one, whose digits may be of either case.
pub fn check_digest(path: &Path, found: &str, expected: &str) -> Result<(), Error> {
    let stated = expected.trim();
    if stated.len() != 64 || !stated.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Error::StatedDigest {
            stated: expected.to_owned(),
        });
    }
    if found.eq_ignore_ascii_case(stated) {
        return Ok(());
    }
    Err(Error::Digest {
        file: path.to_owned(),
        expected: stated.to_ascii_lowercase(),
        found: found.to_owned(),
    })
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            write!(text, "{byte:02x}").expect("a string takes everything");
            text
        })
}
