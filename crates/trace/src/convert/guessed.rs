//! The block ids of a recording's prompts in another block size: from the sidecar, or, without one, from what replay takes
//! prompts to be (`trace-csv` §5.3): the group's text first, and each round beginning with the round before it.

use std::collections::HashMap;

use crate::blocks::{Reblocked, blocks_of};
use crate::error::TraceError;
use crate::recording::{Name, Recording, Request};

/// Gives ids to prompts, which must come in order of arrival.
#[derive(Debug)]
pub struct PromptBlocks<'r> {
    recording: &'r Recording,
    block_size: u64,
    known: Known,
}

#[derive(Debug)]
enum Known {
    Sidecar(Reblocked),
    Guessed {
        next: u64,
        groups: HashMap<Name, Vec<u64>>,
        sessions: HashMap<Name, Vec<u64>>,
    },
}

impl<'r> PromptBlocks<'r> {
    /// For blocks of `block_size` tokens; ids count from `first`.
    pub fn new(recording: &'r Recording, block_size: u64, first: u64) -> Self {
        let known = match &recording.blocks {
            Some(store) => Known::Sidecar(Reblocked::new(store.header().block_size, block_size, first)),
            None => Known::Guessed {
                next: first,
                groups: HashMap::new(),
                sessions: HashMap::new(),
            },
        };
        Self {
            recording,
            block_size,
            known,
        }
    }

    /// The ids of one prompt, one for every block, the last perhaps partial.
    pub fn ids(&mut self, request: &Request) -> Result<Vec<u64>, TraceError> {
        let tokens = request.prompt_tokens();
        match &mut self.known {
            Known::Sidecar(reblocked) => {
                let store = self.recording.blocks.as_ref();
                let ids = store.map(|store| store.ids(request.request_id)).transpose()?;
                Ok(reblocked.ids(&ids.flatten().unwrap_or_default(), tokens))
            }
            Known::Guessed {
                next,
                groups,
                sessions,
            } => {
                let whole = (tokens / self.block_size) as usize;
                let all = blocks_of(tokens, self.block_size) as usize;
                let mut ids: Vec<u64> = match sessions.get(&request.session) {
                    Some(before) => before.iter().copied().take(whole).collect(),
                    None if request.prefix_group == Name::default() => Vec::new(),
                    None => {
                        let shared = (u64::from(request.prefix_length) / self.block_size) as usize;
                        let group = groups.entry(request.prefix_group).or_default();
                        group.extend((group.len()..shared).map(|_| fresh(next)));
                        group[..shared].to_vec()
                    }
                };
                ids.extend((ids.len()..all).map(|_| fresh(next)));
                if request.session != Name::default() {
                    sessions.insert(request.session, ids[..whole].to_vec());
                }
                Ok(ids)
            }
        }
    }
}

fn fresh(next: &mut u64) -> u64 {
    let id = *next;
    *next += 1;
    id
}
