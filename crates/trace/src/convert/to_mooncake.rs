//! A recording into Mooncake lines.

use std::collections::HashMap;
use std::io::{self, Write};

use super::{Losses, PromptBlocks};
use crate::error::TraceError;
use crate::mooncake::{EntryWriter, WriteEntry};
use crate::recording::{Name, Recording, Request};

/// Writes a recording as Mooncake lines with blocks of `block_size` tokens, in order of arrival, the first at 0. Says what
/// such lines cannot hold.
pub fn to_mooncake(recording: &Recording, block_size: u32, output: impl Write) -> Result<Losses, TraceError> {
    let failed = |source: io::Error| TraceError::file("write", "the Mooncake lines".as_ref(), source);
    let mut writer = EntryWriter::new(output);
    let mut blocks = PromptBlocks::new(recording, u64::from(block_size), 0);
    let delays = delays(recording);
    let mut done: HashMap<Name, usize> = HashMap::new();
    for request in &recording.requests {
        let round = done.entry(request.session).or_default();
        let in_session = request.session != Name::default();
        let delay = delays.get(&request.session).filter(|_| in_session && *round > 0);
        let hash_ids = blocks.ids(request)?;
        let entry = WriteEntry {
            session_id: in_session.then(|| recording.names.text(request.session)),
            timestamp: Some(request.at_us as f64 / 1e3),
            delay: delay
                .and_then(|delays| delays.get(*round - 1))
                .map(|us| *us as f64 / 1e3),
            input_length: request.prompt_tokens(),
            output_length: request.output_tokens,
            hash_ids: &hash_ids,
        };
        *round += 1;
        writer.write(&entry).map_err(failed)?;
    }
    writer.finish().map_err(failed)?;
    Ok(losses(recording, block_size))
}

fn delays(recording: &Recording) -> HashMap<Name, Vec<i64>> {
    let sessions = recording.sessions.iter();
    sessions
        .map(|session| (session.name, recording.think_times_us(session)))
        .collect()
}

fn losses(recording: &Recording, block_size: u32) -> Losses {
    let count = |lost: &dyn Fn(&Request) -> bool| {
        recording.requests.iter().filter(|request| lost(request)).count() as u64
    };
    let named = |name: Name| name != Name::default();
    let mut losses = Losses::default();
    losses.add("rows that failed", recording.skipped.failed);
    losses.add("rows without prompt tokens", recording.skipped.empty);
    losses.add("models", count(&|request| named(request.model)));
    losses.add(
        "classes, tenants and clients",
        count(&|request| named(request.slo_class) || named(request.tenant) || named(request.client)),
    );
    losses.add(
        "deadlines, targets and priorities",
        count(&|request| request.deadline_us + request.slo_target_us > 0 || request.vllm_priority > 0),
    );
    losses.add("measured latencies", count(&|request| request.service_us > 0));
    match &recording.blocks {
        Some(store) if u64::from(block_size) % store.header().block_size != 0 => {
            losses.add(
                "prompts whose sharing may end inside a block",
                recording.requests.len() as u64,
            );
        }
        Some(_) => {}
        None => {
            let grouped = count(&|request| named(request.prefix_group));
            losses.add("prefix groups, held as blocks of equal ids", grouped);
            let rounds: usize = recording
                .sessions
                .iter()
                .map(|session| session.rounds.len() - 1)
                .sum();
            losses.add(
                "rounds without a sidecar, taken to begin as the round before them",
                rounds as u64,
            );
        }
    }
    losses
}
