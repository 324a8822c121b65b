//! What tests of several crates share: JSON vectors, the shared oracle folder, gzip, temporary places.
//!
//! Captures, real corpora and the text pool of another program are not part of this repository. Tests on them ask
//! [`shared`] for a path; where the folder is absent they say so and pass.
//!
//! Never part of the program: only `dev-dependencies` and `benches` name this crate.

#![allow(
    clippy::print_stderr,
    reason = "tests say on standard error what they could not test"
)]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

pub use tempfile::{TempDir, tempdir};

/// Environment variable that names the folder with `oracle/` and `reference/`.
pub const SHARED_VARIABLE: &str = "TURNMILL_SHARED";

/// `relative` inside the shared folder: `TURNMILL_SHARED`, else `shared` beside the checkout.
///
/// `None`, with a line on standard error that names what is not tested, when it is not there.
pub fn shared(relative: &str) -> Option<PathBuf> {
    let root = match std::env::var_os(SHARED_VARIABLE) {
        Some(folder) => PathBuf::from(folder),
        None => checkout().parent()?.join("shared"),
    };
    let path = root.join(relative);
    if path.exists() {
        return Some(path);
    }
    eprintln!(
        "not tested: {} is absent (state its parent folder in {SHARED_VARIABLE})",
        path.display()
    );
    None
}

/// The root of this repository's checkout.
///
/// # Panics
/// Never, as long as this crate lies in `crates/`.
pub fn checkout() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("testkit lies in crates/ of the checkout")
        .to_path_buf()
}

/// The whole file, unpacked when its name ends in `.gz`.
///
/// # Panics
/// When the file cannot be read or unpacked.
pub fn bytes(path: &Path) -> Vec<u8> {
    let raw = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if path.extension().is_none_or(|ending| ending != "gz") {
        return raw;
    }
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(raw.as_slice())
        .read_to_end(&mut unpacked)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    unpacked
}

/// The file's JSON as `T`, unpacked when its name ends in `.gz`.
///
/// # Panics
/// When the file cannot be read, unpacked or parsed.
pub fn json<T: serde::de::DeserializeOwned>(path: &Path) -> T {
    serde_json::from_slice(&bytes(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
