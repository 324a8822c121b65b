//! Which turns of other streams must have ended before a turn is sent, inferred from recorded times
//! (`aiperf-corpus` §4.6, `aiperf-replay` §3.4).
//!
//! Each stream's turns are sorted by end once; a turn then asks every other stream for the latest one that had ended by
//! its start. Work grows with turns × streams of a scope, not with the square of the turns.

use tree::{ConversationIndex, TurnRef};

/// When a turn was in flight, in ms. A negative duration counts as 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    start: f64,
    end: f64,
}

impl Interval {
    /// From a recorded start and duration; `None` without a start.
    pub fn recorded(start_ms: Option<f64>, duration_ms: Option<f64>) -> Option<Self> {
        let start = start_ms?;
        let duration = duration_ms.map_or(0.0, |ms| ms.max(0.0));
        Some(Self {
            start,
            end: start + duration,
        })
    }
}

/// One conversation of a scope.
#[derive(Clone, Debug)]
pub struct Stream<'a> {
    /// Conversation id; predecessors are sorted by it.
    pub id: &'a str,
    /// Which conversation it is.
    pub conversation: ConversationIndex,
    /// Its turns in order. A turn without a start neither waits nor is waited for.
    pub turns: Vec<Option<Interval>>,
}

/// The predecessors of every turn of every stream, sorted by (conversation id, turn).
pub fn infer(streams: &[Stream<'_>]) -> Vec<Vec<Vec<TurnRef>>> {
    let by_end: Vec<Vec<(Interval, usize)>> = streams.iter().map(sorted_by_end).collect();
    let of_turn = |own: usize, turn: Option<Interval>| {
        let Some(turn) = turn else {
            return Vec::new();
        };
        let latest = (0..streams.len()).filter(|other| *other != own);
        let latest = latest.filter_map(|other| Some((other, ended_before(&by_end[other], turn.start)?)));
        frontier(streams, latest.collect())
    };
    let of_stream =
        |(own, stream): (usize, &Stream<'_>)| stream.turns.iter().map(|turn| of_turn(own, *turn)).collect();
    streams.iter().enumerate().map(of_stream).collect()
}

fn sorted_by_end(stream: &Stream<'_>) -> Vec<(Interval, usize)> {
    let timed = stream
        .turns
        .iter()
        .enumerate()
        .filter_map(|(turn, interval)| Some(((*interval)?, turn)));
    let mut timed: Vec<(Interval, usize)> = timed.collect();
    timed.sort_by(|(a, turn_a), (b, turn_b)| {
        a.end
            .total_cmp(&b.end)
            .then(a.start.total_cmp(&b.start))
            .then(turn_a.cmp(turn_b))
    });
    timed
}

/// The turn with the greatest (end, start, turn) that started before `start` and had ended by then.
fn ended_before(by_end: &[(Interval, usize)], start: f64) -> Option<(Interval, usize)> {
    // A start is never after its end, so only one that is equal to both can break the first condition.
    let ended =
        by_end.partition_point(|(turn, _)| turn.end < start || (turn.end <= start && turn.start < start));
    by_end[..ended].last().copied()
}

/// Drops turns that another one of them already waits for.
fn frontier(streams: &[Stream<'_>], mut latest: Vec<(usize, (Interval, usize))>) -> Vec<TurnRef> {
    // If any start is behind a turn's end, the last start is.
    let last_start = latest
        .iter()
        .map(|(_, (turn, _))| turn.start)
        .fold(f64::NEG_INFINITY, f64::max);
    latest.retain(|(_, (turn, _))| !(turn.start < last_start && turn.end <= last_start));
    latest.sort_by_key(|(stream, (_, turn))| (streams[*stream].id, *turn));
    let turn_ref = |(stream, (_, turn)): (usize, (Interval, usize))| TurnRef {
        conversation: streams[stream].conversation,
        turn,
    };
    latest.into_iter().map(turn_ref).collect()
}
