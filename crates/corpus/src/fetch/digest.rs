//! SHA-256 of files, as 64 lowercase hex digits.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

/// Bytes read at a time.
const READ_BYTES: usize = 1 << 20;

/// The state of a digest and how many bytes went into it.
#[derive(Clone, Default)]
pub(super) struct Running {
    hasher: Sha256,
    bytes: u64,
}

impl Running {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn hex(&self) -> String {
        let mut text = String::with_capacity(64);
        for byte in self.hasher.clone().finalize() {
            write!(text, "{byte:02x}").expect("a string takes all that is written");
        }
        text
    }

    /// Everything that `file` still holds.
    fn read(mut file: File) -> io::Result<Self> {
        let mut running = Self::default();
        let mut buffer = vec![0; READ_BYTES];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return Ok(running),
                Ok(count) => running.add(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The digest of the file at `path`, taken on a thread on which waiting is no harm.
pub(super) async fn of_file(path: &Path) -> io::Result<Running> {
    let path = path.to_owned();
    tokio::task::spawn_blocking(move || Running::read(File::open(path)?))
        .await
        .map_err(io::Error::other)?
}

/// Whether `text` is 64 hex digits.
pub(super) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_digests() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let mut running = Running::default();
        assert_eq!(running.hex(), empty);
        running.add(b"a");
        running.add(b"bc");
        assert_eq!((running.hex().as_str(), running.bytes()), (abc, 3));
        assert!(is_sha256(abc) && !is_sha256(&abc[1..]) && !is_sha256(&abc.replace('b', "g")));
    }
}
