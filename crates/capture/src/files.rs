//! The files that grow: one data file and one journal at a time.
//!
//! The two are the truth, and everything else is derived from them ([`crate::finish`]). A request's journal line is written
//! first, then its chunk times where they are wanted, then its row, each with one write: whenever the process is killed, the data file is a valid trace, its binding
//! (written when the file is begun, without digests) fits it, and a later capture into the folder derives the rest.

use std::fs;
use std::path::{Path, PathBuf};

use driver::secrets::Secrets;
use record::append::Appender;
use trace::csv::{CHUNK_COLUMNS, chunk_lines};

use crate::CaptureError;
use crate::finish::{self, Finished};
use crate::rows::{self, JournalLine, Row};

/// Names of the files of one trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracePaths {
    folder: PathBuf,
    name: String,
}

impl TracePaths {
    /// The `number`-th trace of a folder.
    pub fn new(folder: &Path, number: u64) -> Self {
        Self {
            folder: folder.to_path_buf(),
            name: format!("trace-{number:04}"),
        }
    }

    /// Rows, one a request.
    pub fn data(&self) -> PathBuf {
        self.with("csv")
    }

    /// The trace as a whole.
    pub fn header(&self) -> PathBuf {
        self.with("header.yaml")
    }

    /// A scenario's `workload`, ready to run.
    pub fn binding(&self) -> PathBuf {
        self.with("binding.yaml")
    }

    /// Prompt structure, once the trace is finished.
    pub fn token_blocks(&self) -> PathBuf {
        self.with("token_blocks.jsonl")
    }

    /// Session trees, once the trace is finished.
    pub fn weka(&self) -> PathBuf {
        self.with("weka.jsonl")
    }

    /// What the two before are derived from; gone once they are.
    pub fn journal(&self) -> PathBuf {
        self.with("journal.jsonl")
    }

    /// Prompts and answers, only when text was asked for.
    pub fn text(&self) -> PathBuf {
        self.with("text.jsonl")
    }

    /// When each content chunk came, only when that was asked for.
    pub fn chunk_times(&self) -> PathBuf {
        self.with("itl.csv")
    }

    fn with(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.name))
    }
}

/// When to begin a new trace. Neither limit cuts a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// Bytes of data, journal and chunk times together.
    pub bytes: u64,
    /// Nanoseconds since the trace was begun.
    pub after_ns: Option<u64>,
}

/// Files that are written only when they were asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnRequest {
    pub(crate) text: bool,
    pub(crate) chunk_times: bool,
}

/// The trace that is being written.
#[derive(Debug)]
pub(crate) struct Files {
    folder: PathBuf,
    paths: TracePaths,
    number: u64,
    data: Appender,
    journal: Appender,
    text: Option<Appender>,
    chunk_times: Option<Appender>,
    on_request: OnRequest,
    about: finish::About,
    begun_ns: u64,
    pub(crate) n_rows: u64,
}

impl Files {
    /// Begins a trace in `folder`, behind those that are there. Traces that a killed capture left are finished first.
    pub(crate) fn begin(
        folder: &Path,
        on_request: OnRequest,
        about: finish::About,
        now_ns: u64,
    ) -> Result<(Self, Vec<Finished>), CaptureError> {
        let failed = |source| CaptureError::Read {
            path: folder.to_path_buf(),
            source,
        };
        fs::create_dir_all(folder).map_err(failed)?;
        let mut numbers: Vec<u64> = Vec::new();
        for entry in fs::read_dir(folder).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let number: Option<u64> = name
                .to_str()
                .and_then(|name| name.strip_prefix("trace-")?.split('.').next()?.parse().ok());
            numbers.extend(number);
        }
        numbers.sort_unstable();
        numbers.dedup();
        let mut recovered = Vec::new();
        for number in &numbers {
            let paths = TracePaths::new(folder, *number);
            if paths.journal().exists() && paths.data().exists() {
                recovered.push(finish::finish(&paths, &about)?);
            }
        }
        let number = numbers.last().map_or(1, |last| last + 1);
        Ok((Self::open(folder, number, on_request, about, now_ns)?, recovered))
    }

    fn open(
        folder: &Path,
        number: u64,
        on_request: OnRequest,
        about: finish::About,
        begun_ns: u64,
    ) -> Result<Self, CaptureError> {
        let paths = TracePaths::new(folder, number);
        let journal = Appender::create(&paths.journal())?;
        let mut data = Appender::create(&paths.data())?;
        data.append(&rows::columns())?;
        let mut chunk_times = None;
        if on_request.chunk_times {
            let mut file = Appender::create(&paths.chunk_times())?;
            file.append(CHUNK_COLUMNS.as_bytes())?;
            chunk_times = Some(file);
        }
        about.write_growing(&paths)?;
        Ok(Self {
            folder: folder.to_path_buf(),
            paths,
            number,
            data,
            journal,
            text: None,
            chunk_times,
            on_request,
            about,
            begun_ns,
            n_rows: 0,
        })
    }

    /// A request has ended, with content chunks at these times in wall µs.
    pub(crate) fn append(
        &mut self,
        row: &Row,
        line: &JournalLine,
        chunks_us: impl IntoIterator<Item = i64>,
        secrets: &Secrets,
    ) -> Result<(), CaptureError> {
        let mut line = serde_json::to_string(line).expect("a line has only text and numbers");
        line.push('\n');
        self.journal.append(line.as_bytes())?;
        if let Some(chunk_times) = &mut self.chunk_times {
            let mut lines = String::new();
            chunk_lines(&mut lines, row.request_id, chunks_us);
            chunk_times.append(lines.as_bytes())?;
        }
        self.data.append(&row.line(secrets))?;
        self.n_rows += 1;
        Ok(())
    }

    /// What was said in a request; kept only when asked for.
    pub(crate) fn append_text(&mut self, line: &str) -> Result<(), CaptureError> {
        if !self.on_request.text {
            return Ok(());
        }
        if self.text.is_none() {
            self.text = Some(Appender::create(&self.paths.text())?);
        }
        if let Some(text) = &mut self.text {
            text.append(line.as_bytes())?;
        }
        Ok(())
    }

    /// Whether the trace has grown to its limit. An empty one never has.
    pub(crate) fn is_full(&self, rotation: Rotation, now_ns: u64) -> bool {
        let is_old = rotation
            .after_ns
            .is_some_and(|limit| now_ns.saturating_sub(self.begun_ns) >= limit);
        let chunk_times = self.chunk_times.as_ref().map_or(0, Appender::length);
        let bytes = self.data.length() + self.journal.length() + chunk_times;
        self.n_rows > 0 && (is_old || bytes >= rotation.bytes)
    }

    /// Finishes this trace and begins the next.
    pub(crate) fn rotate(&mut self, now_ns: u64) -> Result<Finished, CaptureError> {
        let next = Self::open(
            &self.folder,
            self.number + 1,
            self.on_request,
            self.about.clone(),
            now_ns,
        )?;
        std::mem::replace(self, next).finish()
    }

    /// Derives the other files.
    pub(crate) fn finish(mut self) -> Result<Finished, CaptureError> {
        self.data.sync()?;
        self.journal.sync()?;
        if let Some(chunk_times) = &mut self.chunk_times {
            chunk_times.sync()?;
        }
        finish::finish(&self.paths, &self.about)
    }
}
