//! A run as a trace that can be replayed: data, header, sidecar and binding in the run's folder, the warm-up apart.
//!
//! Made from the records alone, at the end of a run or later by `report`, for a run that was killed. Only the sidecar needs the
//! corpus, which tells what a prompt was made of; without it there is none, and a prompt's length is the recorded one.

use anyhow::Context;
use corpus::convert::pieces;
use record::folder::{Entry, RunReader};
use record::request::{Phase, RequestRecord};
use record::trace_rows::{Scraped, TraceRows, trace_header};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trace::blocks::{ChainIds, Ids, Root};
use trace::bundle::{Bundle, BundleFiles};
use trace::csv::{CHUNK_COLUMNS, Optional, RowWriter, chunk_lines, chunk_times_name};
use trace::header::Stored;
use tree::{BLOCK_TOKENS, Trace};

/// Rows of the warm-up, which no trace file holds otherwise.
const WARMUP_FILE: &str = "trace.warmup.csv";

/// Columns that a run's trace has beside the base ones.
const OPTIONAL: Optional = Optional {
    vllm_priority: false,
    slo_target_us: false,
    x_request_id: true,
    adapter: false,
    think_time_us: true,
};

/// Whether the run in `folder` has a trace of its own making: the binding is what is written last.
pub(crate) fn exist(folder: &Path) -> bool {
    let files = BundleFiles::of_run(folder);
    files.path(&files.binding).exists()
}

/// Writes the trace files of the run in `folder`, with a sidecar if the `traces` that it replayed are at hand.
pub(crate) fn write(folder: &Path, traces: Option<&[Arc<Trace>]>) -> anyhow::Result<Stored> {
    let reader = RunReader::open(folder)?;
    let header = reader.header().context("run.json is absent")?.clone();
    let marks = reader.marks().to_vec();
    let mut rows = TraceRows::new(&header, &marks);
    let mut prompts = traces.map(Prompts::of);
    let files = BundleFiles::of_run(folder);
    if prompts.is_none() {
        remove_sidecar(&files)?;
    }
    let blocks = prompts
        .is_some()
        .then_some((u64::from(BLOCK_TOKENS), Ids::Chained));
    let mut bundle = Bundle::create(files, OPTIONAL, blocks)?;
    let warmup = BufWriter::new(File::create(folder.join(WARMUP_FILE))?);
    let mut warmup = RowWriter::new(warmup, OPTIONAL)?;
    let mut warm_up_rows = 0;
    for entry in reader {
        let Ok(entry) = entry else {
            continue; // a damaged row is a loss that the summary states
        };
        let record = &entry.record;
        let tokens = match &mut prompts {
            Some(prompts) => prompts.take(record, rows.request_id(record))?,
            None => u32::try_from(record.isl_planned).unwrap_or(u32::MAX),
        };
        let row = rows.row(record, tokens);
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
        fs::rename(&partial, &path)
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

/// What the prompts of the measurement were made of.
struct Prompts<'a> {
    traces: &'a [Arc<Trace>],
    /// By conversation id: its trace, and its place in it.
    places: HashMap<&'a str, (usize, usize)>,
    chain: ChainIds,
    planned: Vec<Planned>,
}

/// Where a request's prompt came from.
struct Planned {
    request_id: u64,
    root: Root,
    trace: usize,
    conversation: usize,
    turn: usize,
}

impl<'a> Prompts<'a> {
    fn of(traces: &'a [Arc<Trace>]) -> Self {
        let conversations = traces.iter().enumerate().flat_map(|(trace, tree)| {
            let conversations = tree.conversations.iter().enumerate();
            conversations.map(move |(conversation, one)| (&*one.id, (trace, conversation)))
        });
        Self {
            traces,
            places: conversations.collect(),
            chain: ChainIds::new(BLOCK_TOKENS),
            planned: Vec::new(),
        }
    }

    /// Notes a request's prompt, when it is one of the measurement. Gives back the tokens that it was meant to have: those of
    /// its blocks and tails.
    fn take(&mut self, record: &RequestRecord, request_id: u64) -> anyhow::Result<u32> {
        let place = self.places.get(record.conversation_id.as_str());
        let (trace, conversation) = *place
            .with_context(|| format!("conversation {} is not in the corpus", record.conversation_id))?;
        let turn = record.turn_index as usize;
        if record.phase == Phase::Profiling {
            self.planned.push(Planned {
                request_id,
                root: self.chain.root(&root_name(record)),
                trace,
                conversation,
                turn,
            });
        }
        let conversations = &self.traces[trace].conversations;
        let pieces = pieces(conversation, &conversations[conversation], turn);
        let tokens = pieces.iter().map(|piece| piece.tokens);
        Ok(tokens.fold(0, u32::saturating_add))
    }

    /// Writes the sidecar's lines, in order of requests.
    fn write(mut self, bundle: &mut Bundle) -> anyhow::Result<()> {
        self.planned.sort_unstable_by_key(|planned| planned.request_id);
        let mut ids = Vec::new();
        for planned in &self.planned {
            let conversation = &self.traces[planned.trace].conversations[planned.conversation];
            ids.clear();
            let tokens = self.chain.of(
                planned.root,
                pieces(planned.conversation, conversation, planned.turn),
                &mut ids,
            );
            bundle.blocks(planned.request_id, tokens, &ids)?;
        }
        Ok(())
    }
}

/// Prompts share text only within one trace, and not across cache-bust markers, which stand before all of it.
fn root_name(record: &RequestRecord) -> String {
    format!("{} {}", record.marker, record.trace_id)
}
