//! A run as a trace that can be replayed: data, header, sidecar and binding in the run's folder, the warm-up apart.
//!
//! Made from the records alone, at the end of a run or later by `report`, for a run that was killed. Only the sidecar needs what was
//! replayed ([`Prompts`]), which tells what a prompt was made of; without it there is none, and a prompt's length is the
//! recorded one.

mod recorded;
mod trees;

pub(crate) use recorded::RecordingPrompts;
pub(crate) use trees::TreePrompts;

use anyhow::Context;
use record::folder::{Entry, RunReader};
use record::request::{Phase, RequestRecord};
use record::trace_rows::{Scraped, TraceRows, trace_header};
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use trace::blocks::Ids;
use trace::bundle::{Bundle, BundleFiles};
use trace::csv::{CHUNK_COLUMNS, Optional, Row, RowWriter, chunk_lines, chunk_times_name};
use trace::header::Stored;

/// Rows of the warm-up, which no trace file holds otherwise.
const WARMUP_FILE: &str = "trace.warmup.csv";

/// Whether the run in `folder` has a trace of its own making: the binding is what is written last.
pub(crate) fn exist(folder: &Path) -> bool {
    let files = BundleFiles::of_run(folder);
    files.path(&files.binding).exists()
}

/// What the prompts of a run were, as far as the records do not say it.
pub(crate) trait Prompts<'a> {
    /// Columns that the rows have beside the base ones.
    fn columns(&self) -> Optional {
        Optional::MEASURED
    }

    /// Tokens of a block of the sidecar, and what its ids name.
    fn blocks(&self) -> (u64, Ids);

    /// Puts what is known of a request's prompt and source into its row, and notes it for the sidecar.
    fn fill<'r>(&mut self, record: &RequestRecord, row: &mut Row<'r>) -> anyhow::Result<()>
    where
        'a: 'r;

    /// Writes the sidecar's lines, in order of requests.
    fn write(self: Box<Self>, bundle: &mut Bundle) -> anyhow::Result<()>;
}

/// Writes the trace files of the run in `folder`, with a sidecar if the `prompts` are at hand.
pub(crate) fn write<'a>(
    folder: &Path,
    mut prompts: Option<Box<dyn Prompts<'a> + 'a>>,
) -> anyhow::Result<Stored> {
    let reader = RunReader::open(folder)?;
    let header = reader.header().context("run.json is absent")?.clone();
    let marks = reader.marks().to_vec();
    let mut rows = TraceRows::new(&header, &marks);
    let files = BundleFiles::of_run(folder);
    if prompts.is_none() {
        remove_sidecar(&files)?;
    }
    let blocks = prompts.as_ref().map(|prompts| prompts.blocks());
    let optional = prompts
        .as_ref()
        .map_or(Optional::MEASURED, |prompts| prompts.columns());
    let mut bundle = Bundle::create(files, optional, blocks)?;
    let warmup = BufWriter::new(File::create(folder.join(WARMUP_FILE))?);
    let mut warmup = RowWriter::new(warmup, optional)?;
    let mut warm_up_rows = 0;
    for entry in reader {
        let Ok(entry) = entry else {
            continue; // a damaged row is a loss that the summary states
        };
        let record = &entry.record;
        let mut row = rows.row(record);
        if let Some(prompts) = &mut prompts {
            prompts.fill(record, &mut row)?;
        }
        match record.phase {
            Phase::Warmup => {
                warm_up_rows += 1;
                warmup.write(&row)?;
            }
            Phase::Profiling => bundle.row(&row)?,
        }
    }
    warmup.finish()?;
    if let Some(prompts) = prompts {
        prompts.write(&mut bundle)?;
    }
    let mut header = trace_header(&header, &marks, Scraped::of_folder(folder, &marks)?);
    // A run that was killed in its warm-up has not said how many requests that had.
    header.warm_up_requests = header.warm_up_requests.max(warm_up_rows);
    Ok(bundle.finish(&header)?)
}

/// Writes when each content chunk of the measurement came, beside the data file of the run in `folder`.
pub(crate) fn write_chunk_times(folder: &Path) -> anyhow::Result<PathBuf> {
    let reader = RunReader::open(folder)?;
    let header = reader.header().context("run.json is absent")?;
    let rows = TraceRows::new(header, reader.marks());
    let files = BundleFiles::of_run(folder);
    let name = chunk_times_name(&files.data);
    let (path, partial) = (files.path(&name), files.path(&format!("{name}.partial")));
    let failed = || format!("{} cannot be written", path.display());
    let write = || -> io::Result<()> {
        let mut out = BufWriter::with_capacity(256 << 10, File::create(&partial)?);
        out.write_all(CHUNK_COLUMNS.as_bytes())?;
        let mut lines = String::new();
        for entry in reader {
            let Ok(Entry { record, .. }) = entry else {
                continue;
            };
            if record.phase == Phase::Profiling {
                lines.clear();
                chunk_lines(&mut lines, rows.request_id(&record), rows.chunk_times(&record));
                out.write_all(lines.as_bytes())?;
            }
        }
        out.flush()?;
        trace::take_place(&partial, &path)
    };
    write().with_context(failed)?;
    Ok(path)
}

/// A sidecar that a killed writer left belongs to no binding.
fn remove_sidecar(files: &BundleFiles) -> io::Result<()> {
    match fs::remove_file(files.path(&files.blocks)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
