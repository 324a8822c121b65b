//! A trace with all that belongs to it: data, header, sidecar, binding. Everything is written under other names first and
//! renamed when it is whole.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::blocks::{BlockWriter, Ids};
use crate::csv::{Optional, Row, RowWriter};
use crate::digest::Hashing;
use crate::error::TraceError;
use crate::header::{self, Header, Stored};
use crate::place::take_place;

/// Where the files of a bundle go: all in one folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleFiles {
    folder: PathBuf,
    /// The data CSV.
    pub data: String,
    /// The header file.
    pub header: String,
    /// The binding.
    pub binding: String,
    /// The sidecar.
    pub blocks: String,
}

impl BundleFiles {
    /// The names of a run's folder (`design` §5).
    pub fn of_run(folder: &Path) -> Self {
        Self {
            blocks: "token_blocks.jsonl".to_owned(),
            ..Self::of_stem(folder, "trace")
        }
    }

    /// `STEM.csv` and so on.
    pub fn of_stem(folder: &Path, stem: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            data: format!("{stem}.csv"),
            header: format!("{stem}.header.yaml"),
            binding: format!("{stem}.binding.yaml"),
            blocks: format!("{stem}.blocks.jsonl"),
        }
    }

    /// Path of one of the names.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn partial(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.partial"))
    }
}

/// A bundle while it is written.
#[derive(Debug)]
pub struct Bundle {
    files: BundleFiles,
    rows: RowWriter<Hashing<BufWriter<File>>>,
    count: u64,
    blocks: Option<BlockWriter>,
    /// Last, so that it goes when the files are closed.
    unfinished: Unfinished,
}

/// Removes what was not renamed when a bundle is given up.
#[derive(Debug)]
struct Unfinished(Vec<PathBuf>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = fs::remove_file(path); // renamed, or never made
        }
    }
}

impl Bundle {
    /// Begins one. `blocks` is the sidecar's block size and what its ids name, where there is one.
    pub fn create(
        files: BundleFiles,
        optional: Optional,
        blocks: Option<(u64, Ids)>,
    ) -> Result<Self, TraceError> {
        let path = files.partial(&files.data);
        let failed = |source| TraceError::file("write", &path, source);
        let file = File::create(&path).map_err(failed)?;
        let output = Hashing::new(BufWriter::with_capacity(256 << 10, file));
        let rows = RowWriter::new(output, optional).map_err(|error| failed(io::Error::other(error)))?;
        let blocks = blocks
            .map(|(block_size, ids)| BlockWriter::new(block_size, ids))
            .transpose()
            .map_err(failed)?;
        let names = [&files.data, &files.header, &files.binding, &files.blocks];
        Ok(Self {
            unfinished: Unfinished(names.map(|name| files.partial(name)).to_vec()),
            files,
            rows,
            count: 0,
            blocks,
        })
    }

    /// Writes a row.
    pub fn row(&mut self, row: &Row<'_>) -> Result<(), TraceError> {
        self.count += 1;
        let written = self.rows.write(row);
        written.map_err(|error| self.failed(&self.files.data, io::Error::other(error)))
    }

    /// Writes the sidecar's line of a request; ids must ascend. Without a sidecar nothing is written.
    pub fn blocks(&mut self, request_id: u64, tokens: u64, ids: &[u64]) -> Result<(), TraceError> {
        let Some(blocks) = &mut self.blocks else {
            return Ok(());
        };
        let written = blocks.write(request_id, tokens, ids);
        written.map_err(|source| self.failed(&self.files.blocks, source))
    }

    /// Rows written.
    pub fn rows(&self) -> u64 {
        self.count
    }

    fn failed(&self, name: &str, source: io::Error) -> TraceError {
        TraceError::file("write", &self.files.path(name), source)
    }

    /// Writes header, sidecar and binding, and gives every file its name, the binding's last.
    pub fn finish(self, header: &Header) -> Result<Stored, TraceError> {
        let Self {
            files,
            rows,
            count,
            blocks,
            unfinished: _unfinished,
        } = self;
        let failed = |name: &str, source| TraceError::file("write", &files.path(name), source);
        let output = rows.finish().map_err(|source| failed(&files.data, source))?;
        let (buffer, sha256, _) = output.finish();
        close(buffer).map_err(|source| failed(&files.data, source))?;
        let token_blocks = match blocks {
            None => None,
            Some(blocks) => {
                let write = || -> io::Result<String> {
                    let file = BufWriter::new(File::create(files.partial(&files.blocks))?);
                    let (buffer, digest) = blocks.finish(file, &sha256)?;
                    close(buffer)?;
                    Ok(digest)
                };
                let digest = write().map_err(|source| failed(&files.blocks, source))?;
                Some((files.blocks.clone(), digest))
            }
        };
        let stored = Stored {
            data: files.data.clone(),
            sha256,
            rows: count,
            token_blocks,
        };
        for (name, text) in [
            (&files.header, header::header_yaml(header)),
            (&files.binding, header::binding_yaml(header, &stored)),
        ] {
            fs::write(files.partial(name), text).map_err(|source| failed(name, source))?;
        }
        let sidecar = stored.token_blocks.as_ref().map(|(name, _)| name);
        for name in [
            Some(&files.data),
            sidecar,
            Some(&files.header),
            Some(&files.binding),
        ]
        .into_iter()
        .flatten()
        {
            take_place(&files.partial(name), &files.path(name)).map_err(|source| failed(name, source))?;
        }
        Ok(stored)
    }
}

fn close(buffer: BufWriter<File>) -> io::Result<()> {
    let mut file = buffer.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.flush()?;
    file.sync_all()
}
