//! A finished run as a trace that can be replayed: data, header, sidecar and binding in the run's folder, the warm-up apart.

use anyhow::Context;
use corpus::convert::pieces;
use record::folder::RunReader;
use record::request::{Phase, RequestRecord};
use record::trace_rows::{TraceRows, trace_header};
use std::collections::HashMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;
use trace::blocks::{ChainIds, Ids, Root};
use trace::bundle::{Bundle, BundleFiles};
use trace::csv::{Optional, RowWriter};
use trace::header::Stored;
use tree::{BLOCK_TOKENS, Trace};

/// Rows of the warm-up, which no trace file holds otherwise.
const WARMUP_FILE: &str = "trace.warmup.csv";

/// Where a request's prompt came from.
struct Planned {
    request_id: u64,
    root: Root,
    trace: usize,
    conversation: usize,
    turn: usize,
}

/// Writes the trace files of the run in `folder`, which replayed `traces`.
pub(crate) fn write(folder: &Path, traces: &[Arc<Trace>], workload_spec: String) -> anyhow::Result<Stored> {
    let reader = RunReader::open(folder)?;
    let header = reader.header().context("the run has no header")?.clone();
    let marks = reader.marks().to_vec();
    let mut rows = TraceRows::new(&header, &marks);
    let optional = Optional {
        x_request_id: true,
        think_time_us: true,
        ..Optional::default()
    };
    let blocks = Some((u64::from(BLOCK_TOKENS), Ids::Chained));
    let mut bundle = Bundle::create(BundleFiles::of_run(folder), optional, blocks)?;
    let warmup = BufWriter::new(File::create(folder.join(WARMUP_FILE))?);
    let mut warmup = RowWriter::new(warmup, optional)?;
    let index = Index::of(traces);
    let mut chain = ChainIds::new(BLOCK_TOKENS);
    let mut planned = Vec::new();
    for entry in reader {
        let Ok(entry) = entry else {
            continue; // a damaged row is a loss that the summary states
        };
        let record = &entry.record;
        let (trace, conversation) = index
            .find(record)
            .with_context(|| format!("conversation {} is not in the corpus", record.conversation_id))?;
        let turn = record.turn_index as usize;
        let tokens = prompt_tokens(&traces[trace], conversation, turn);
        let row = rows.row(record, tokens);
        match record.phase {
            Phase::Warmup => warmup.write(&row)?,
            Phase::Profiling => {
                planned.push(Planned {
                    request_id: row.request_id,
                    root: chain.root(&root_name(record)),
                    trace,
                    conversation,
                    turn,
                });
                bundle.row(&row)?;
            }
        }
    }
    warmup.finish()?;
    planned.sort_unstable_by_key(|planned| planned.request_id);
    let mut ids = Vec::new();
    for planned in &planned {
        let conversation = &traces[planned.trace].conversations[planned.conversation];
        ids.clear();
        let tokens = chain.of(
            planned.root,
            pieces(planned.conversation, conversation, planned.turn),
            &mut ids,
        );
        bundle.blocks(planned.request_id, tokens, &ids)?;
    }
    Ok(bundle.finish(&trace_header(&header, &marks, workload_spec))?)
}

/// Prompts share text only within one trace, and not across cache-bust markers, which stand before all of it.
fn root_name(record: &RequestRecord) -> String {
    format!("{} {}", record.marker, record.trace_id)
}

/// Tokens that the prompt was meant to have: those of its blocks and tails.
fn prompt_tokens(trace: &Trace, conversation: usize, turn: usize) -> u32 {
    let pieces = pieces(conversation, &trace.conversations[conversation], turn);
    pieces
        .iter()
        .fold(0, |sum: u32, piece| sum.saturating_add(piece.tokens))
}

/// Where each conversation stands.
struct Index<'a>(HashMap<&'a str, (usize, usize)>);

impl<'a> Index<'a> {
    fn of(traces: &'a [Arc<Trace>]) -> Self {
        let mut places = HashMap::new();
        for (trace, tree) in traces.iter().enumerate() {
            for (conversation, one) in tree.conversations.iter().enumerate() {
                places.insert(&*one.id, (trace, conversation));
            }
        }
        Self(places)
    }

    fn find(&self, record: &RequestRecord) -> Option<(usize, usize)> {
        self.0.get(record.conversation_id.as_str()).copied()
    }
}
