//! A catalog's `workloads/` on disk.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Largest catalog file that is read, in bytes.
const BYTES_MAX: u64 = 1 << 20;

/// A catalog, by the folder that holds `workloads/`.
#[derive(Clone, Debug)]
pub struct Catalog {
    root: PathBuf,
}

/// A catalog file as found.
pub(crate) struct File {
    pub(crate) bytes: Vec<u8>,
    /// SHA-256 of the bytes, lowercase hex.
    pub(crate) sha256: String,
}

impl Catalog {
    /// The catalog in this folder. Nothing is opened yet.
    pub fn new(root: impl Into<PathBuf>) -> Catalog {
        Catalog { root: root.into() }
    }

    /// The folder that was given.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Names of the entries, sorted: the stems of the regular files directly in `workloads/` that end in `.yaml`. A catalog
    /// without the folder has none.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let listing = match fs::read_dir(self.root.join("workloads")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            listing => listing?,
        };
        let mut names = Vec::new();
        for item in listing {
            let item = item?;
            let name = item.file_name();
            let stem = name.to_str().and_then(|name| name.strip_suffix(".yaml"));
            // A link counts as what it points to; one that points nowhere is an entry that cannot be read.
            if let Some(stem) = stem.filter(|stem| !stem.is_empty())
                && fs::metadata(item.path()).map_or(true, |meta| meta.is_file())
            {
                names.push(stem.to_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// The bytes of an entry; `None` if there is no such regular file.
    pub(crate) fn file(&self, name: &str) -> io::Result<Option<File>> {
        if !is_plain_segment(name) {
            return Ok(None);
        }
        let path = self.root.join("workloads").join(format!("{name}.yaml"));
        let meta = match fs::metadata(&path) {
            Ok(meta) if meta.is_file() => meta,
            Ok(_) => return Ok(None),
            Err(error) if is_absence(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        if meta.len() > BYTES_MAX {
            return Err(io::Error::other(format!(
                "{} bytes; at most {BYTES_MAX} are read",
                meta.len()
            )));
        }
        let bytes = fs::read(&path)?;
        let sha256 = hex(&Sha256::digest(&bytes));
        Ok(Some(File { bytes, sha256 }))
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .map(|digit| char::from_digit(digit.into(), 16).expect("four bits are one digit"))
        .collect()
}

fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::InvalidFilename
            | io::ErrorKind::InvalidInput
    )
}

/// One plain path segment: not empty, not `.` or `..`, no slash or backslash.
pub(crate) fn is_plain_segment(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\\', '\0'])
}
