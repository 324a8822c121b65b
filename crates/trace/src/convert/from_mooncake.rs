//! Mooncake lines into a bundle.

use std::collections::HashMap;
use std::path::Path;

use super::{Converted, Losses};
use crate::blocks::{Ids, Renumbered, blocks_of};
use crate::bundle::{Bundle, BundleFiles};
use crate::csv::{Optional, Row};
use crate::error::TraceError;
use crate::header::{Header, Mode};
use crate::mooncake::{Entries, Entry, Options, Read};
use crate::problem::{Problems, Severity};

/// Makes a bundle of the Mooncake file at `path`. Its ids become ids of the same block size, renumbered; blocks without one
/// get one of their own. A start that is not stated is the start of the turn before plus the delay, or 0.
///
/// # Errors
/// [`TraceError::Refused`] when a line is wrong; the first is named, `problems` hears all.
pub fn from_mooncake(
    path: &Path,
    options: Options,
    files: BundleFiles,
    header: &Header,
    problems: &mut Problems,
) -> Result<Converted, TraceError> {
    let mut entries = Entries::open(path, options)?;
    let optional = Optional {
        think_time_us: true,
        ..Optional::default()
    };
    let block_size = u64::from(options.block_size);
    let mut bundle = Bundle::create(files, optional, Some((block_size, Ids::Content)))?;
    let mut making = Making {
        block_size,
        ids: Renumbered::default(),
        starts_us: HashMap::new(),
        losses: Losses::default(),
    };
    while !problems.is_full() {
        match entries.next(problems)? {
            Read::End => break,
            Read::Wrong => {}
            Read::Entry(entry) => making.entry(&entry, &mut bundle)?,
        }
    }
    if !problems.is_ok() {
        let first = problems
            .list()
            .iter()
            .find(|problem| problem.severity == Severity::Error);
        return Err(TraceError::Refused {
            file: path.to_owned(),
            errors: problems.errors(),
            first: first.map(ToString::to_string).unwrap_or_default(),
        });
    }
    let header = Header {
        mode: Mode::Generated,
        ..header.clone()
    };
    Ok(Converted {
        stored: bundle.finish(&header)?,
        losses: making.losses,
        problems: problems.clone(),
    })
}

struct Making {
    block_size: u64,
    ids: Renumbered,
    /// Start of the last turn of each session.
    starts_us: HashMap<String, i64>,
    losses: Losses,
}

impl Making {
    fn entry(&mut self, entry: &Entry, bundle: &mut Bundle) -> Result<(), TraceError> {
        let delay_us = entry.delay_ms.map_or(0, us);
        let arrival_us = self.arrival(entry, delay_us);
        let session = entry.session.as_deref().unwrap_or_default();
        let row = Row {
            request_id: bundle.rows(),
            session_id: session,
            round_index: entry.turn,
            streaming: true,
            input_tokens: entry.input,
            output_tokens: entry.output,
            text_tokens: entry.input,
            arrival_us,
            send_us: arrival_us,
            status: "incomplete",
            think_time_us: delay_us,
            ..Row::default()
        };
        let blocks = blocks_of(u64::from(entry.input), self.block_size);
        let ids = self.ids.of(&entry.hash_ids, blocks);
        bundle.blocks(row.request_id, u64::from(entry.input), &ids)?;
        bundle.row(&row)
    }

    fn arrival(&mut self, entry: &Entry, delay_us: i64) -> i64 {
        let before = entry
            .session
            .as_deref()
            .and_then(|session| self.starts_us.get(session));
        let arrival_us = match (entry.at_ms, before) {
            (Some(at_ms), _) => us(at_ms),
            (None, before) => {
                self.losses
                    .add("starts that were not recorded and are estimated", 1);
                before.map_or(0, |before| before.saturating_add(delay_us))
            }
        };
        if let Some(session) = &entry.session {
            self.starts_us.insert(session.clone(), arrival_us);
        }
        arrival_us
    }
}

fn us(ms: f64) -> i64 {
    (ms * 1e3).round() as i64 // the reader has checked the range
}
