//! What prompts share by their sidecar: the hits of a prefix cache that forgets nothing, prompts coming in order of arrival.

use std::collections::HashSet;

use crate::blocks::Ids;
use crate::error::TraceError;
use crate::recording::Recording;

/// Most different blocks whose hits are told for each request; a set of them takes some twenty bytes each.
pub const DISTINCT_MAX: usize = 8 << 20;

/// Whole blocks of one prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// The leading ones that an earlier prompt began with, too.
    pub hit: u32,
    /// All.
    pub total: u32,
}

/// What all prompts come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// Tokens a block.
    pub block_size: u64,
    /// Whole blocks of all prompts.
    pub blocks: u64,
    /// Those in a leading run that earlier arrivals had: what an infinite cache would hold.
    pub seen_before: u64,
    /// Different blocks, each with what stands before it.
    pub distinct: u64,
}

/// Reads all ids in order of arrival; `None` without a sidecar. Keeps some twenty bytes for each different block.
pub fn sharing(recording: &Recording) -> Result<Option<Sharing>, TraceError> {
    let Some(store) = &recording.blocks else {
        return Ok(None);
    };
    let mut sharing = Sharing {
        block_size: store.header().block_size,
        ..Sharing::default()
    };
    sharing.distinct = walk(recording, usize::MAX, |hits| {
        sharing.blocks += u64::from(hits.total);
        sharing.seen_before += u64::from(hits.hit);
    })?
    .unwrap_or(0);
    Ok(Some(sharing))
}

/// The hits of each request, in the recording's order; `None` without a sidecar, or when it has more than `distinct_max`
/// different blocks.
pub fn hits(recording: &Recording, distinct_max: usize) -> Result<Option<Vec<Hits>>, TraceError> {
    if recording.blocks.is_none() {
        return Ok(None);
    }
    let mut all = Vec::with_capacity(recording.requests.len());
    let finished = walk(recording, distinct_max, |hits| all.push(hits))?;
    Ok(finished.map(|_| all))
}

/// Tells `each` the hits of every request; gives the number of different blocks, or `None` when there are too many.
fn walk(
    recording: &Recording,
    distinct_max: usize,
    mut each: impl FnMut(Hits),
) -> Result<Option<u64>, TraceError> {
    let Some(store) = &recording.blocks else {
        return Ok(None);
    };
    let (block_size, names) = (store.header().block_size, store.header().ids);
    let mut seen = HashSet::new();
    for request in &recording.requests {
        let ids = store.ids(request.request_id)?.unwrap_or_default();
        let whole = &ids[..ids.len().min((request.prompt_tokens() / block_size) as usize)];
        let (mut before, mut hit, mut leading) = (START, 0, true);
        for id in whole {
            before = match names {
                Ids::Chained => *id,
                Ids::Content => joined(before, *id),
            };
            let new = seen.insert(before);
            leading &= !new;
            hit += u32::from(leading);
        }
        each(Hits {
            hit,
            total: whole.len() as u32, // of a prompt of two 32-bit counts, blocks of a token at least
        });
        if seen.len() > distinct_max {
            return Ok(None);
        }
    }
    Ok(Some(seen.len() as u64))
}

/// Stands for nothing before a block.
const START: u64 = 0x6a09_e667_f3bc_c908;

/// Names a block by its content and all before it: two rounds of multiplying and folding, so that equal names are equal prompts
/// but for one chance in 2⁶⁴.
fn joined(before: u64, id: u64) -> u64 {
    let folded = |value: u64, by: u64| {
        let product = u128::from(value) * u128::from(by);
        (product >> 64) as u64 ^ product as u64
    };
    folded(
        folded(before ^ id, 0x9e37_79b9_7f4a_7c15) ^ id.rotate_left(32),
        0xd6e8_feb8_6659_fd93,
    )
}

#[cfg(test)]
mod tests {
    use super::{START, joined};
    use std::collections::HashSet;

    #[test]
    fn names_of_content_depend_on_what_stands_before() {
        let mut names = HashSet::new();
        for first in 0..300 {
            for second in 0..300 {
                assert!(
                    names.insert(joined(joined(START, first), second)),
                    "{first}, {second}"
                );
            }
        }
    }
}
