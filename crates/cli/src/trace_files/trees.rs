//! The prompts of session trees, for the trace of their run: blocks and tails of the corpus.

use super::Prompts;
use anyhow::Context;
use corpus::convert::pieces;
use record::request::{Phase, RequestRecord};
use std::collections::HashMap;
use std::sync::Arc;
use trace::blocks::{ChainIds, Ids, Root};
use trace::bundle::Bundle;
use trace::csv::Row;
use tree::{BLOCK_TOKENS, Trace};

/// What the prompts of a run's measurement were made of.
pub(crate) struct TreePrompts<'a> {
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

impl<'a> TreePrompts<'a> {
    /// For a run that replayed `traces`.
    pub(crate) fn of(traces: &'a [Arc<Trace>]) -> Self {
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
}

impl<'a> Prompts<'a> for TreePrompts<'a> {
    fn blocks(&self) -> (u64, Ids) {
        (u64::from(BLOCK_TOKENS), Ids::Chained)
    }

    /// Its tokens are those of its blocks and tails.
    fn fill<'r>(&mut self, record: &RequestRecord, row: &mut Row<'r>) -> anyhow::Result<()>
    where
        'a: 'r,
    {
        let place = self.places.get(record.conversation_id.as_str());
        let (trace, conversation) = *place
            .with_context(|| format!("conversation {} is not in the corpus", record.conversation_id))?;
        let turn = record.turn_index as usize;
        if record.phase == Phase::Profiling {
            self.planned.push(Planned {
                request_id: row.request_id,
                root: self.chain.root(&root_name(record)),
                trace,
                conversation,
                turn,
            });
        }
        let conversations = &self.traces[trace].conversations;
        let pieces = pieces(conversation, &conversations[conversation], turn);
        let tokens = pieces.iter().map(|piece| piece.tokens);
        row.input_tokens = tokens.fold(0, u32::saturating_add);
        row.text_tokens = row.input_tokens;
        Ok(())
    }

    fn write(mut self: Box<Self>, bundle: &mut Bundle) -> anyhow::Result<()> {
        self.planned.sort_unstable_by_key(|planned| planned.request_id);
        // A tree that is over frees its blocks, so that memory is that of the trees that went on at the same time.
        let places = self.planned.iter().enumerate();
        let last: HashMap<Root, usize> = places.map(|(place, planned)| (planned.root, place)).collect();
        let mut ids = Vec::new();
        for (place, planned) in self.planned.iter().enumerate() {
            let conversation = &self.traces[planned.trace].conversations[planned.conversation];
            ids.clear();
            let tokens = self.chain.of(
                planned.root,
                pieces(planned.conversation, conversation, planned.turn),
                &mut ids,
            );
            bundle.blocks(planned.request_id, tokens, &ids)?;
            if last[&planned.root] == place {
                self.chain.close(planned.root);
            }
        }
        Ok(())
    }
}

/// Prompts share text only within one trace, and not across cache-bust markers, which stand before all of it.
fn root_name(record: &RequestRecord) -> String {
    format!("{} {}", record.marker, record.trace_id)
}
