//! How many blocks an infinite prefix cache would hold for each request (`aiperf-corpus` §4.7).

use tree::TheoreticalCache;

use super::blocks::BlockTable;
use super::placed::Placed;

/// One request and what orders it among all replayed ones of the trace.
pub(super) struct Asked<'r> {
    /// Conversation and turn.
    pub(super) turn: (usize, usize),
    pub(super) placed: Placed<'r>,
    /// Position of its chain in a subagent and of its turn there; 0 and 0 at the top level.
    pub(super) rank: (usize, usize),
}

/// The hits of each request, every earlier one's ids being in the cache.
pub(super) fn hits(mut asked: Vec<Asked<'_>>) -> impl Iterator<Item = ((usize, usize), TheoreticalCache)> {
    asked.sort_by(|a, b| {
        let order = |asked: &Asked<'_>| (asked.placed.outer, asked.rank);
        a.placed
            .t
            .total_cmp(&b.placed.t)
            .then_with(|| order(a).cmp(&order(b)))
    });
    let mut seen = BlockTable::default();
    asked.into_iter().map(move |asked| {
        let ids = &asked.placed.request.hash_ids;
        let hit = ids.iter().take_while(|id| seen.get(**id).is_some()).count();
        for id in &ids[hit..] {
            seen.intern(*id);
        }
        let cache = TheoreticalCache {
            hit_blocks: hit as u64,
            total_blocks: ids.len() as u64,
        };
        (asked.turn, cache)
    })
}
