//! From a local file to the session trees of a run: digest first, then rows, then selection.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use tree::Trace;

use crate::error::Error;
use crate::formats::{RowProblem, weka};
use crate::reconstruct::{self, InnerTimes, Reconstructed};
use crate::rows::{self, RowPlace, Then};
use crate::select::{self, Selection, SelectionReport};
use crate::verify::{self, Scan};
use crate::warning::{Warning, WarningKind};

/// CR LF.
const LINE_END_BYTES_MAX: u64 = 2;

/// A corpus that was read: its traces in row order, and what a run record says about the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Corpus {
    /// The file.
    pub file: PathBuf,
    /// SHA-256 of its bytes, 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// Its length.
    pub bytes: u64,
    /// The traces kept, in row order.
    pub traces: Vec<Trace>,
    /// What became of the rows.
    pub selection: SelectionReport,
    /// How times of subagents' requests were read.
    pub inner_times: InnerTimes,
    /// What is odd about the traces kept, in row order; what concerns the whole file comes last.
    pub warnings: Vec<Warning>,
}

/// How a corpus is loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadOptions {
    /// Which traces are kept.
    pub selection: Selection,
    /// How they become session trees.
    pub reconstruct: reconstruct::Options,
    /// Threads that parse; as many as the machine runs at once when not stated.
    pub workers: Option<NonZeroUsize>,
}

/// How far a load has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub stage: Stage,
    /// Bytes of the file done in this stage. Counts the file once per stage.
    pub done_bytes: u64,
    /// Bytes of the file.
    pub total_bytes: u64,
}

/// The stages of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The digest is being computed.
    Verify,
    /// Rows are being parsed and turned into session trees.
    Read,
}

impl Corpus {
    /// Loads the traces of a local file: one JSON object a line, or a single object over any number of lines.
    ///
    /// The file's SHA-256 is compared with `expected_sha256` before anything is parsed. `progress` is called from worker
    /// threads too, at most once a read buffer or row.
    pub fn load(
        path: &Path,
        expected_sha256: Option<&str>,
        options: &LoadOptions,
        progress: Option<&(dyn Fn(Progress) + Sync)>,
    ) -> Result<Self, Error> {
        let opened = Opened::new(path)?;
        let total_bytes = opened.before.len();
        let report = |stage, done_bytes| {
            if let Some(progress) = progress {
                progress(Progress {
                    stage,
                    done_bytes,
                    total_bytes,
                });
            }
        };
        let scan = verify::scan(&opened.file, |done| report(Stage::Verify, done))
            .map_err(|source| opened.failed(source))?;
        if let Some(expected) = expected_sha256 {
            verify::check_digest(path, &scan.sha256, expected)?;
        }
        let rows = opened.rows(&scan)?;
        let corpus = Self {
            file: path.to_owned(),
            sha256: scan.sha256,
            bytes: scan.bytes,
            traces: Vec::new(),
            selection: SelectionReport::default(),
            inner_times: InnerTimes::default(),
            warnings: Vec::new(),
        };
        let mut loading = Loading {
            corpus,
            selection: options.selection,
            lines: HashMap::new(),
        };
        if options.selection.entries != Some(0) {
            let workers = options
                .workers
                .or_else(|| std::thread::available_parallelism().ok());
            rows::each(
                (path, &opened.file),
                &rows,
                workers.unwrap_or(NonZeroUsize::MIN),
                |row, bytes| work(path, row, bytes, options),
                |row, read| {
                    report(Stage::Read, row.bytes.end);
                    loading.settle(row, read)
                },
            )?;
        }
        opened.check_unchanged()?;
        loading.finish()
    }
}

/// The file and what it was like when opened.
pub(crate) struct Opened<'a> {
    path: &'a Path,
    file: File,
    before: Metadata,
}

impl<'a> Opened<'a> {
    /// Hashes the file.
    pub(crate) fn scan(&self) -> Result<Scan, Error> {
        verify::scan(&self.file, |_| ()).map_err(|source| self.failed(source))
    }

    pub(crate) fn new(path: &'a Path) -> Result<Self, Error> {
        let failed = |source| Error::Read {
            file: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(failed)?;
        let before = file.metadata().map_err(failed)?;
        Ok(Self { path, file, before })
    }

    pub(crate) fn failed(&self, source: std::io::Error) -> Error {
        Error::Read {
            file: self.path.to_owned(),
            source,
        }
    }

    /// What was parsed must be what was hashed.
    pub(crate) fn check_unchanged(&self) -> Result<(), Error> {
        let after = self.file.metadata().map_err(|source| self.failed(source))?;
        let same = after.len() == self.before.len() && after.modified().ok() == self.before.modified().ok();
        if same {
            Ok(())
        } else {
            Err(Error::Changed {
                file: self.path.to_owned(),
            })
        }
    }

    /// Where the rows are: every line but empty ones at the end, or the whole file when it is one JSON text over several
    /// lines, that is when neither its first line ends nor its second line begins an object.
    pub(crate) fn rows(&self, scan: &Scan) -> Result<Vec<RowPlace>, Error> {
        let mut lines = scan.lines();
        while lines > 0 && self.is_empty(scan, lines - 1)? {
            lines -= 1;
        }
        if lines > 1 {
            let first_ends_object = self.edge(scan, 0)?.last() == Some(&b'}');
            let second_begins_object = self.edge(scan, 1)?.first() == Some(&b'{');
            if !first_ends_object && !second_begins_object {
                return Ok(vec![RowPlace {
                    line: 1,
                    bytes: 0..scan.bytes,
                }]);
            }
        }
        Ok((0..lines)
            .map(|index| RowPlace {
                line: index + 1,
                bytes: scan.line(index),
            })
            .collect())
    }

    /// True when a line is only a line end.
    fn is_empty(&self, scan: &Scan, index: usize) -> Result<bool, Error> {
        let line = scan.line(index);
        let short = line.end - line.start <= LINE_END_BYTES_MAX;
        Ok(short && self.read(line)?.trim_ascii().is_empty())
    }

    /// The first and the last bytes of a line, its line end not counted.
    fn edge(&self, scan: &Scan, index: usize) -> Result<Vec<u8>, Error> {
        let line = scan.line(index);
        let mut edge = self.read(line.start..line.end.min(line.start + 1))?;
        let last = line.end.saturating_sub(LINE_END_BYTES_MAX + 1).max(line.start);
        edge.extend(self.read(last..line.end)?);
        edge.truncate(edge.trim_ascii_end().len());
        Ok(edge)
    }

    pub(crate) fn read(&self, bytes: Range<u64>) -> Result<Vec<u8>, Error> {
        let mut buffer = vec![0; (bytes.end - bytes.start) as usize];
        let done = self.file.read_exact_at(&mut buffer, bytes.start);
        done.map(|()| buffer).map_err(|source| self.failed(source))
    }
}

/// What a worker makes of a row.
struct ReadRow {
    id: String,
    peak: u64,
    /// `None` when it is over the context limit.
    kept: Option<(Reconstructed, InnerTimes)>,
}

fn work(path: &Path, row: &RowPlace, bytes: &[u8], options: &LoadOptions) -> Result<ReadRow, Error> {
    if bytes.trim_ascii().is_empty() {
        return Err(Error::EmptyLine {
            file: path.to_owned(),
            line: row.line,
        });
    }
    // The line end is no part of the row: a parser that meets it would count a second line.
    let text = bytes.trim_ascii_end();
    let parsed = weka::parse(text).map_err(|problem| located(path, row.line, problem))?;
    let peak = select::peak(&parsed, options.reconstruct.output_cap);
    let kept = if options.selection.fits(peak) {
        let reconstructed =
            reconstruct::reconstruct(&parsed, &options.reconstruct).map_err(|source| Error::Reconstruct {
                file: path.to_owned(),
                line: row.line,
                source,
            })?;
        Some((reconstructed, InnerTimes::of(&parsed)))
    } else {
        None
    };
    Ok(ReadRow {
        id: parsed.id,
        peak,
        kept,
    })
}

pub(crate) fn located(path: &Path, first_line: usize, problem: RowProblem) -> Error {
    let file = path.to_owned();
    match problem {
        RowProblem::NotJson {
            line,
            column,
            problem,
        } => Error::NotJson {
            file,
            line: first_line + line.max(1) - 1,
            column,
            problem,
        },
        RowProblem::Field { field, problem } => Error::Field {
            file,
            line: first_line,
            field,
            problem,
        },
    }
}

/// The corpus while rows come in, in order.
struct Loading {
    corpus: Corpus,
    selection: Selection,
    /// Line of each id.
    lines: HashMap<String, usize>,
}

impl Loading {
    fn settle(&mut self, row: &RowPlace, read: ReadRow) -> Result<Then, Error> {
        let line = row.line;
        if let Some(first_line) = self.lines.get(&read.id).copied() {
            return Err(Error::DuplicateId {
                file: self.corpus.file.clone(),
                line,
                first_line,
                id: read.id,
            });
        }
        self.corpus.selection.count(&self.selection, read.peak);
        if let Some((reconstructed, inner_times)) = read.kept {
            let trace = &read.id;
            let warnings = reconstructed.warnings.into_iter();
            self.corpus.warnings.extend(warnings.map(|kind| Warning {
                line: Some(line),
                trace: trace.clone(),
                kind,
            }));
            self.corpus.inner_times.add(inner_times);
            self.corpus.traces.push(reconstructed.trace);
        }
        self.lines.insert(read.id, line);
        let full = self.corpus.selection.is_full(&self.selection);
        Ok(if full { Then::Stop } else { Then::Continue })
    }

    fn finish(mut self) -> Result<Corpus, Error> {
        if self.corpus.traces.is_empty() {
            return Err(Error::NothingSelected {
                file: self.corpus.file,
                scanned: self.corpus.selection.scanned,
                max_context_length: self.selection.max_context_length,
                largest: self.corpus.selection.largest,
            });
        }
        let InnerTimes { absolute, relative } = self.corpus.inner_times;
        if absolute > 0 && relative > 0 {
            let kind = WarningKind::MixedInnerTimes { absolute, relative };
            self.corpus.warnings.push(Warning {
                line: None,
                trace: String::new(),
                kind,
            });
        }
        Ok(self.corpus)
    }
}
