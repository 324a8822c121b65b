//! The ids of one request at a time.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::line::{BlocksHeader, RequestLine};
use crate::error::TraceError;
use crate::lines::{self, Lines};

/// A checked sidecar, opened: where each request's line stands, 24 bytes a request. A packed one is unpacked into a
/// temporary file first.
#[derive(Debug)]
pub struct BlockStore {
    path: PathBuf,
    file: File,
    header: BlocksHeader,
    /// Ascending by id: (request id, offset, length).
    places: Vec<(u64, u64, u64)>,
}

#[derive(Deserialize)]
struct IdOnly {
    request_id: u64,
}

impl BlockStore {
    /// Opens a sidecar that [`super::check`] found right.
    ///
    /// # Errors
    /// When it cannot be read, or was not right after all.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let failed = |source| TraceError::file("read", path, source);
        let file = if lines::is_packed(path) {
            let mut plain = tempfile::tempfile().map_err(failed)?;
            io::copy(&mut lines::open(path)?, &mut plain).map_err(failed)?;
            plain.flush().map_err(failed)?;
            plain.seek(SeekFrom::Start(0)).map_err(failed)?;
            plain
        } else {
            File::open(path).map_err(failed)?
        };
        let mut lines = Lines::of(path, Box::new(file.try_clone().map_err(failed)?));
        let header = match lines.next()?.map(BlocksHeader::parse) {
            Some(Ok(header)) => header,
            Some(Err(found)) => {
                return Err(failed(io::Error::other(format!(
                    "{found} is no first line of it"
                ))));
            }
            None => return Err(failed(io::Error::other("it is empty"))),
        };
        let mut places = Vec::new();
        while let Some(line) = lines.next()? {
            let IdOnly { request_id } = serde_json::from_slice(line).map_err(|error| failed(error.into()))?;
            let length = line.len() as u64;
            places.push((request_id, lines.offset, length));
        }
        places.sort_unstable();
        Ok(Self {
            path: path.to_owned(),
            file,
            header,
            places,
        })
    }

    /// Its first line.
    pub fn header(&self) -> &BlocksHeader {
        &self.header
    }

    /// The ids of a request; `None` when it has none. Takes `&self`, so that several lanes may read at once.
    pub fn ids(&self, request_id: u64) -> Result<Option<Vec<u64>>, TraceError> {
        let Ok(found) = self.places.binary_search_by_key(&request_id, |place| place.0) else {
            return Ok(None);
        };
        let (_, offset, length) = self.places[found];
        let failed = |source| TraceError::file("read", &self.path, source);
        let mut line = vec![0; length as usize];
        self.file.read_exact_at(&mut line, offset).map_err(failed)?;
        let line: RequestLine = serde_json::from_slice(&line).map_err(|error| failed(error.into()))?;
        Ok(Some(line.ids))
    }
}
