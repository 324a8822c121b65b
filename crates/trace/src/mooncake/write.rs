//! The writer.

use std::io::{self, Write};

use serde::Serialize;

/// One request as it is written. Absent values are left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WriteEntry<'a> {
    /// Its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<&'a str>,
    /// Start in ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<f64>,
    /// Wait after the turn before in ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<f64>,
    /// Prompt tokens.
    pub input_length: u64,
    /// Output tokens.
    pub output_length: u32,
    /// One id a block.
    pub hash_ids: &'a [u64],
}

/// Writes requests, a line each.
#[derive(Debug)]
pub struct EntryWriter<W> {
    output: W,
}

impl<W: Write> EntryWriter<W> {
    /// To `output`, which should be buffered.
    pub fn new(output: W) -> Self {
        Self { output }
    }

    /// Writes one.
    pub fn write(&mut self, entry: &WriteEntry<'_>) -> io::Result<()> {
        serde_json::to_writer(&mut self.output, entry)?;
        self.output.write_all(b"\n")
    }

    /// Flushes and gives the output back.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.flush()?;
        Ok(self.output)
    }
}
