//! The reader: rows with their chunk stamps, and what is missing.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::Path;

use super::{CHUNKS_FILE, Losses, MARKS_FILE, REQUESTS_FILE, RUN_FILE};
use crate::RecordError;
use crate::chunks::{ChunkReader, ChunksEnd, Frame, FrameKey};
use crate::header::{self, RunHeader};
use crate::lines::Lines;
use crate::marks::{MARK_VERSION, MARKS_MAX, Mark, MarkLine};
use crate::request::RequestRecord;
use crate::schema::{ROW_VERSION, Row};

/// Frames that are looked ahead to find a row's: a few can be without a row, when a row could not be written.
const FRAMES_AHEAD_MAX: usize = 8;

/// A request as the files hold it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The record, with its chunk stamps when they were found.
    pub record: RequestRecord,
    /// The chunk stamps are all there. Without them `record.chunks` is empty.
    pub chunks_known: bool,
}

/// Reads a run's folder: an iterator over its requests, in the order in which they ended.
///
/// A row that cannot be read is an error of the iterator and counted; reading goes on behind it.
#[derive(Debug)]
pub struct RunReader {
    header: Option<RunHeader>,
    marks: Vec<Mark>,
    rows: Option<Lines<BufReader<File>, Row>>,
    frames: Option<ChunkReader<BufReader<File>>>,
    ahead: VecDeque<Frame>,
    losses: Losses,
}

impl RunReader {
    /// Opens the folder and reads its header and marks.
    ///
    /// # Errors
    /// When it holds no run, or a file that is there cannot be read or was written under a later version.
    pub fn open(folder: &Path) -> Result<Self, RecordError> {
        let header = header::read(&folder.join(RUN_FILE))?;
        let requests_path = folder.join(REQUESTS_FILE);
        let rows = open(&requests_path)?.map(|file| Lines::new(&requests_path, file, ROW_VERSION));
        if header.is_none() && rows.is_none() {
            return Err(RecordError::NoRun {
                path: folder.to_path_buf(),
            });
        }
        let chunks_path = folder.join(CHUNKS_FILE);
        let frames = open(&chunks_path)?
            .map(|file| ChunkReader::new(&chunks_path, file))
            .transpose()?;
        let (marks, damaged_marks) = read_marks(&folder.join(MARKS_FILE))?;
        let losses = Losses {
            no_header: header.is_none(),
            damaged_marks,
            ..Losses::default()
        };
        Ok(Self {
            header,
            marks,
            rows,
            frames,
            ahead: VecDeque::new(),
            losses,
        })
    }

    /// The header; `None` when the file is absent.
    pub fn header(&self) -> Option<&RunHeader> {
        self.header.as_ref()
    }

    /// The marks, in the order in which they were made.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// What has been found missing so far; complete once the iterator has ended, but for
    /// [`Losses::unrecorded_requests`], which the summary counts.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Gives `record` its chunk stamps when `chunks.bin` has them and they agree with the row.
    fn entry(&mut self, row: Row) -> Result<Entry, RecordError> {
        let expected = row.content_chunks;
        let mut record = row.into_record();
        let found = self.take_frame(FrameKey::of(&record))?;
        if let Some(frame) = found.filter(|frame| agrees(frame, expected, &record)) {
            record.chunks = frame.chunks;
        }
        let chunks_known = record.chunks.len() as u64 == expected;
        self.losses.rows_without_chunks += u64::from(!chunks_known);
        Ok(Entry { record, chunks_known })
    }

    /// The frame of `key`, looked for a few frames ahead. Rows and frames stand in one order, so frames before it have
    /// no row.
    fn take_frame(&mut self, key: FrameKey) -> Result<Option<Frame>, RecordError> {
        let Some(frames) = &mut self.frames else {
            return Ok(None);
        };
        let mut index = 0;
        loop {
            if index == self.ahead.len() {
                if index == FRAMES_AHEAD_MAX {
                    return Ok(None);
                }
                match frames.next_frame()? {
                    Some(frame) => self.ahead.push_back(frame),
                    None => return Ok(None),
                }
            }
            if self.ahead[index].key == key {
                return Ok(self.ahead.drain(..=index).next_back());
            }
            index += 1;
        }
    }

    fn note_end(&mut self) {
        self.losses.torn_row = self.rows.as_ref().is_some_and(|rows| rows.torn().is_some());
        self.losses.chunks_end = match self.frames.as_ref().map(ChunkReader::end) {
            None => Some("absent".to_owned()),
            Some(Some(ChunksEnd::Torn)) => Some("torn".to_owned()),
            Some(Some(ChunksEnd::Damaged(offset))) => Some(format!("damaged at byte {offset}")),
            Some(Some(ChunksEnd::Whole) | None) => None,
        };
    }
}

impl Iterator for RunReader {
    type Item = Result<Entry, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.rows.as_mut().and_then(Iterator::next) {
            None => {
                // Frames of requests whose row is torn: read on, to learn how the file ends.
                while let Some(Ok(Some(_))) = self.frames.as_mut().map(ChunkReader::next_frame) {}
                self.note_end();
                None
            }
            Some(Ok(row)) => Some(self.entry(row)),
            Some(Err(error)) => {
                self.losses.damaged_rows += 1;
                self.losses.first_damage.get_or_insert_with(|| error.to_string());
                Some(Err(error))
            }
        }
    }
}

/// The frame has as many chunks as the row says, and begins and ends when the row says.
fn agrees(frame: &Frame, expected: u64, record: &RequestRecord) -> bool {
    frame.chunks.len() as u64 == expected
        && frame.chunks.first().map(|chunk| chunk.at_ns) == record.stamps.first_content_ns
        && frame.chunks.last().map(|chunk| chunk.at_ns) == record.stamps.last_content_ns
}

/// The marks, and whether some could not be read.
fn read_marks(path: &Path) -> Result<(Vec<Mark>, bool), RecordError> {
    let Some(file) = open(path)? else {
        return Ok((Vec::new(), true));
    };
    let mut lines = Lines::<_, MarkLine>::new(path, file, MARK_VERSION);
    let (mut marks, mut damaged) = (Vec::new(), false);
    for line in lines.by_ref().take(MARKS_MAX) {
        match line {
            Ok(line) => marks.extend(line.into_mark()),
            Err(error @ RecordError::Version { .. }) => return Err(error),
            Err(_) => damaged = true,
        }
    }
    Ok((marks, damaged || lines.torn().is_some()))
}

fn open(path: &Path) -> Result<Option<BufReader<File>>, RecordError> {
    match File::open(path) {
        Ok(file) => Ok(Some(BufReader::with_capacity(1 << 16, file))),
        Err(source) if source.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(RecordError::File {
            action: "open",
            path: path.to_path_buf(),
            source,
        }),
    }
}
