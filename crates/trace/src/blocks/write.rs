//! The writer. The first line states how many follow and whose data they belong to, both known only at the end, so lines
//! go to a scratch file first.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use super::line::{BlocksHeader, Ids};
use crate::digest::Hashing;

/// Writes request lines in ascending order of id.
#[derive(Debug)]
pub struct BlockWriter {
    scratch: BufWriter<File>,
    block_size: u64,
    ids: Ids,
    rows: u64,
    last: Option<u64>,
    line: Vec<u8>,
}

impl BlockWriter {
    /// A sidecar of that block size.
    pub fn new(block_size: u64, ids: Ids) -> io::Result<Self> {
        Ok(Self {
            scratch: BufWriter::with_capacity(256 << 10, tempfile::tempfile()?),
            block_size,
            ids,
            rows: 0,
            last: None,
            line: Vec::new(),
        })
    }

    /// Writes the line of one request.
    ///
    /// # Errors
    /// When the scratch file cannot be written, or `request_id` is not above the one before.
    pub fn write(&mut self, request_id: u64, tokens: u64, ids: &[u64]) -> io::Result<()> {
        if let Some(last) = self.last.filter(|last| *last >= request_id) {
            let problem =
                format!("request {request_id} of the sidecar comes after {last}; ascending ids are right");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        self.last = Some(request_id);
        self.rows += 1;
        self.line.clear();
        write!(
            self.line,
            "{{\"request_id\":{request_id},\"tokens\":{tokens},\"ids\":["
        )?;
        for (index, id) in ids.iter().enumerate() {
            if index > 0 {
                self.line.push(b',');
            }
            write!(self.line, "{id}")?;
        }
        self.line.extend_from_slice(b"]}\n");
        self.scratch.write_all(&self.line)
    }

    /// Writes the whole sidecar to `output`, and gives that back with the digest of what was written.
    pub fn finish<W: Write>(self, output: W, data_sha256: &str) -> io::Result<(W, String)> {
        let header = BlocksHeader {
            block_size: self.block_size,
            rows: self.rows,
            ids: self.ids,
            data_sha256: Some(data_sha256.to_owned()),
        };
        let mut lines = self
            .scratch
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        lines.seek(SeekFrom::Start(0))?;
        let mut output = Hashing::new(output);
        writeln!(output, "{}", header.to_line())?;
        io::copy(&mut lines, &mut output)?;
        output.flush()?;
        let (output, digest, _) = output.finish();
        Ok((output, digest))
    }
}
