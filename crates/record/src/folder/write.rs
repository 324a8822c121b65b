//! The writer: appends as things happen, keeps nothing back.

use std::fs::File;
use std::path::Path;

use serde::Serialize;

use super::{CHUNKS_FILE, MARKS_FILE, REQUESTS_FILE, RUN_FILE};
use crate::RecordError;
use crate::append::{Appender, Storage};
use crate::chunks;
use crate::header::{self, RunHeader};
use crate::marks::{Mark, MarkLine};
use crate::request::RequestRecord;
use crate::schema::Row;

/// Default time between two syncs of the files to the disk. A killed process loses nothing; a machine that stops loses
/// this much.
pub const SYNC_EVERY_NS: u64 = 1_000_000_000;

/// Writes a run's folder.
#[derive(Debug)]
pub struct Recorder<S = File> {
    requests: Appender<S>,
    chunks: Appender<S>,
    marks: Appender<S>,
    frame: Vec<u8>,
    line: Vec<u8>,
    sync_every_ns: u64,
    synced_ns: u64,
    recorded: u64,
}

impl Recorder<File> {
    /// Writes `header` and makes the empty files in `folder`, which exists and holds no run.
    pub fn create(folder: &Path, header: &RunHeader) -> Result<Self, RecordError> {
        if folder.join(RUN_FILE).exists() || folder.join(REQUESTS_FILE).exists() {
            return Err(RecordError::Occupied {
                path: folder.to_path_buf(),
            });
        }
        header::write(&folder.join(RUN_FILE), header)?;
        Self::new(
            Appender::create(&folder.join(REQUESTS_FILE))?,
            Appender::create(&folder.join(CHUNKS_FILE))?,
            Appender::create(&folder.join(MARKS_FILE))?,
        )
    }
}

impl<S: Storage> Recorder<S> {
    /// A recorder on three empty files.
    pub fn new(
        requests: Appender<S>,
        mut chunks: Appender<S>,
        marks: Appender<S>,
    ) -> Result<Self, RecordError> {
        chunks.append(&chunks::MAGIC)?;
        Ok(Self {
            requests,
            chunks,
            marks,
            frame: Vec::new(),
            line: Vec::new(),
            sync_every_ns: SYNC_EVERY_NS,
            synced_ns: 0,
            recorded: 0,
        })
    }

    /// Another time between syncs than [`SYNC_EVERY_NS`].
    #[must_use]
    pub fn sync_every_ns(mut self, every_ns: u64) -> Self {
        self.sync_every_ns = every_ns;
        self
    }

    /// Requests whose row was written.
    pub fn recorded(&self) -> u64 {
        self.recorded
    }

    /// Appends a request that ended: its chunk stamps, then its row.
    ///
    /// # Errors
    /// When either could not be written. Without its stamps the row is written all the same; without its row nothing
    /// is. The files stay readable, and later requests may be appended.
    pub fn append(&mut self, record: &RequestRecord) -> Result<(), RecordError> {
        let before = self.chunks.length();
        let stamped = self.append_chunks(record);
        write_line(&mut self.requests, &mut self.line, &Row::from_record(record)).inspect_err(|_| {
            // When this fails too, the frame stays without a row, which the reader passes over.
            let _ = self.chunks.cut(before);
        })?;
        self.recorded += 1;
        stamped
    }

    fn append_chunks(&mut self, record: &RequestRecord) -> Result<(), RecordError> {
        self.frame.clear();
        chunks::encode(record, &mut self.frame)?;
        self.chunks.append(&self.frame)
    }

    /// Appends what happened to the run.
    pub fn mark(&mut self, mark: &Mark) -> Result<(), RecordError> {
        write_line(&mut self.marks, &mut self.line, &MarkLine::from_mark(mark))
    }

    /// Puts everything on the disk when the last time is long enough ago; `now_ns` is on the records' clock. Says whether
    /// it did. It waits for the disk.
    pub fn sync_if_due(&mut self, now_ns: u64) -> Result<bool, RecordError> {
        if now_ns.saturating_sub(self.synced_ns) < self.sync_every_ns {
            return Ok(false);
        }
        self.synced_ns = now_ns;
        self.sync().map(|()| true)
    }

    /// Puts everything on the disk.
    pub fn sync(&mut self) -> Result<(), RecordError> {
        self.chunks.sync()?;
        self.requests.sync()?;
        self.marks.sync()
    }
}

fn write_line<S: Storage, T: Serialize>(
    file: &mut Appender<S>,
    line: &mut Vec<u8>,
    item: &T,
) -> Result<(), RecordError> {
    line.clear();
    serde_json::to_writer(&mut *line, item).expect("rows and marks have text keys and go to memory");
    line.push(b'\n');
    file.append(line)
}
