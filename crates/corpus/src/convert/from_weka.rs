//! Weka traces into a bundle: every conversation a session, every request a row.

use std::path::Path;

use trace::blocks::{Ids, Renumbered, blocks_of};
use trace::bundle::{Bundle, BundleFiles};
use trace::convert::{Converted, Losses};
use trace::csv::{Optional, Row as CsvRow};
use trace::header::{Header, Mode};
use trace::{Place, Problems};
use tree::{BLOCK_TOKENS, Trace, Turn};

use super::ConvertError;
use crate::formats::weka::{self, Entry, InputTypes, Request, Row, Stop};
use crate::load::{Opened, located};
use crate::reconstruct::{self, Options};

/// Makes a bundle of the Weka traces in the file at `path`, in row order.
///
/// Sessions are the conversations that replay would run, under their ids, with the trace's id as client, so that the way
/// back finds who belongs to whom. Every trace keeps its own clock: all of them start at 0. The recorded duration of a call
/// stands as its last chunk; it has no first one. Block ids are those recorded, renumbered over the whole file.
pub fn from_weka(path: &Path, files: BundleFiles, header: &Header) -> Result<Converted, ConvertError> {
    let opened = Opened::new(path)?;
    let scan = opened.scan()?;
    let optional = Optional {
        think_time_us: true,
        ..Optional::default()
    };
    let bundle = Bundle::create(files, optional, Some((u64::from(BLOCK_TOKENS), Ids::Content)))?;
    let mut making = Making {
        bundle,
        ids: Renumbered::default(),
        losses: Losses::default(),
    };
    let mut problems = Problems::new(path);
    for place in opened.rows(&scan)? {
        let bytes = opened.read(place.bytes.clone())?;
        let row =
            weka::parse(bytes.trim_ascii_end()).map_err(|problem| located(path, place.line, problem))?;
        let found = reconstruct::reconstruct(&row, &Options::default()).map_err(|source| {
            crate::Error::Reconstruct {
                file: path.to_owned(),
                line: place.line,
                source,
            }
        })?;
        for warning in found.warnings {
            let at = Place::Line(place.line as u64, String::new());
            problems.warning(
                Some(place.line as u64),
                at,
                warning.to_string(),
                "as replay reads it",
            );
        }
        making.trace(&row, &found.trace)?;
    }
    opened.check_unchanged()?;
    let header = Header {
        mode: Mode::Generated,
        ..header.clone()
    };
    Ok(Converted {
        stored: making.bundle.finish(&header)?,
        losses: making.losses,
        problems,
    })
}

struct Making {
    bundle: Bundle,
    ids: Renumbered,
    losses: Losses,
}

impl Making {
    fn trace(&mut self, row: &Row, tree: &Trace) -> Result<(), ConvertError> {
        self.ids.forget();
        self.note_losses(row, tree);
        // In order of start, as a data file's ids are; equal starts in order of conversation.
        let mut order: Vec<(f64, usize, usize)> = Vec::new();
        for (index, conversation) in tree.conversations.iter().enumerate() {
            let turns = conversation.turns.iter().enumerate();
            order.extend(turns.map(|(turn, at)| (at.timestamp_ms.unwrap_or(0.0), index, turn)));
        }
        order.sort_by(|left, right| {
            left.0
                .total_cmp(&right.0)
                .then(left.1.cmp(&right.1))
                .then(left.2.cmp(&right.2))
        });
        for (_, conversation, turn) in order {
            let conversation = &tree.conversations[conversation];
            let at = &conversation.turns[turn];
            let Some(request) = recorded(row, at) else {
                continue; // every turn comes from a request of its row
            };
            self.request(&tree.id, &conversation.id, turn, at, request)?;
        }
        Ok(())
    }

    fn request(
        &mut self,
        trace: &str,
        conversation: &str,
        turn: usize,
        at: &Turn,
        request: &Request,
    ) -> Result<(), ConvertError> {
        let arrival_us = us(at.timestamp_ms.unwrap_or(0.0));
        let row = CsvRow {
            request_id: self.bundle.rows(),
            client_id: trace,
            session_id: conversation,
            round_index: turn as u32,
            streaming: true,
            input_tokens: request.input,
            output_tokens: request.output,
            text_tokens: request.input,
            model: &request.model,
            arrival_us,
            send_us: arrival_us,
            last_chunk_us: at
                .api_time_ms
                .map_or(0, |time| arrival_us.saturating_add(us(time))),
            status: "incomplete",
            think_time_us: at.delay_ms.map_or(0, us),
            ..CsvRow::default()
        };
        let tokens = u64::from(request.input);
        let blocks = blocks_of(tokens, u64::from(BLOCK_TOKENS));
        // Ids beyond the whole blocks name nothing that replay would send.
        let whole = (tokens / u64::from(BLOCK_TOKENS)) as usize;
        let recorded = &request.hash_ids[..request.hash_ids.len().min(whole)];
        self.losses.add(
            "block ids beyond a prompt's whole blocks",
            (request.hash_ids.len() - recorded.len()) as u64,
        );
        let ids = self.ids.of(recorded, blocks);
        self.bundle.blocks(row.request_id, tokens, &ids)?;
        Ok(self.bundle.row(&row)?)
    }

    fn note_losses(&mut self, row: &Row, tree: &Trace) {
        let (mut requests, mut kinds, mut declared) =
            (0, 0, u64::from(row.declared != weka::DeclaredPrefix::default()));
        let mut subagents = 0;
        let mut look = |request: &Request| {
            requests += 1;
            let told = request
                .input_types
                .is_some_and(|types| types == InputTypes::ToolResult);
            kinds += u64::from(told || request.stop != Stop::Unknown);
        };
        for entry in &row.entries {
            match entry {
                Entry::Request(request) => look(request),
                Entry::Subagent(subagent) => {
                    subagents += 1;
                    declared += u64::from(subagent.declared != weka::DeclaredPrefix::default());
                    subagent.requests.iter().for_each(&mut look);
                }
            }
        }
        let turns: usize = tree
            .conversations
            .iter()
            .map(|conversation| conversation.turns.len())
            .sum();
        self.losses
            .add("requests of subagents that replay drops", requests - turns as u64);
        self.losses.add(
            "spawns and joins of subagents; their sessions keep their names",
            subagents,
        );
        self.losses.add("declared tool and system tokens", declared);
        self.losses.add("kinds of input and stop reasons", kinds);
    }
}

/// The request that a turn was made of.
fn recorded<'r>(row: &'r Row, turn: &Turn) -> Option<&'r Request> {
    match (row.entries.get(turn.source.outer)?, turn.source.inner) {
        (Entry::Request(request), None) => Some(request),
        (Entry::Subagent(subagent), Some(inner)) => subagent.requests.get(inner),
        _ => None,
    }
}

fn us(ms: f64) -> i64 {
    (ms * 1e3).round() as i64 // the reader has checked the range
}
