//! SHA-256 of what passes through, so that no file is read or written a second time for its digest.

use std::io::{self, Read, Write};

use sha2::{Digest, Sha256};

/// A reader or writer that hashes and counts the bytes that pass.
#[derive(Debug)]
pub struct Hashing<T> {
    inner: T,
    hasher: Sha256,
    bytes: u64,
}

impl<T> Hashing<T> {
    /// Around `inner`.
    pub fn new(inner: T) -> Self {
        Self {
            inner,
            hasher: Sha256::new(),
            bytes: 0,
        }
    }

    /// What was read from or written to, the digest as 64 lower-case hex digits, and the bytes that passed.
    pub fn finish(self) -> (T, String, u64) {
        let digest = self.hasher.finalize();
        let mut hex = String::with_capacity(64);
        for byte in digest {
            use std::fmt::Write;
            write!(hex, "{byte:02x}").expect("a string takes everything");
        }
        (self.inner, hex, self.bytes)
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
