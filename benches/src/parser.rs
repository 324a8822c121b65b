//! `wire`, from bytes in memory to a folded answer, against finding line ends and against `eventsource-stream`.

use crate::contest::{Way, cost, least};
use crate::stream;
use crate::table::Line;
use eventsource_stream::Eventsource;
use futures_util::{FutureExt, StreamExt, stream as streams};
use std::convert::Infallible;
use wire::answer::AnswerBody;
use wire::fold::{Arrival, BodyEnd};
use wire::sse::Splitter;

const CHUNKS: usize = 40_000;
/// What one socket read brings when a reader falls behind.
const LARGE_READ_BYTES: usize = 64 << 10;

pub(crate) fn measure() -> Vec<Line> {
    let events = stream::events(CHUNKS);
    let body = events.concat();
    let single: Vec<&[u8]> = events.iter().map(String::as_bytes).collect();
    let large: Vec<&[u8]> = body.as_bytes().chunks(LARGE_READ_BYTES).collect();
    let mut lines = Vec::new();
    for (how, pieces) in [("one event a read", single), ("64 KB a read", large)] {
        let [feeds, split, answer, usual_split, usual] = least(ways(&pieces));
        lines.extend([
            Line::new(format!("line ends alone (memchr), {how}"), feeds, "ns/chunk"),
            Line::new(format!("wire's splitter ÷ line ends, {how}"), split / feeds, "×"),
            Line::new(
                format!("wire's splitter ÷ eventsource-stream, {how}"),
                split / usual_split,
                "×",
            ),
            Line::new(
                format!("wire, split and typed and folded, {how}"),
                answer,
                "ns/chunk",
            ),
            Line::new(format!("the same ÷ line ends, {how}"), answer / feeds, "×"),
            Line::new(
                format!("the same ÷ eventsource-stream + serde_json, {how}"),
                answer / usual,
                "×",
            )
            .at_most(0.5),
        ]);
    }
    lines
}

/// The ways of reading `pieces`; each gives nanoseconds a chunk.
fn ways<'a>(pieces: &'a [&'a [u8]]) -> [Way<'a>; 5] {
    let per_chunk = |(ns, seen): (f64, usize)| {
        assert!(seen >= CHUNKS, "every way sees every chunk");
        ns / CHUNKS as f64
    };
    [
        (
            "line ends",
            Box::new(move || per_chunk(cost(|| line_ends(pieces)))),
        ),
        ("splitter", Box::new(move || per_chunk(cost(|| split(pieces))))),
        ("answer", Box::new(move || per_chunk(cost(|| answer(pieces))))),
        (
            "eventsource-stream",
            Box::new(move || per_chunk(cost(|| usual(pieces, |_| true)))),
        ),
        (
            "eventsource-stream and serde_json",
            Box::new(move || per_chunk(cost(|| usual(pieces, stream::has_content)))),
        ),
    ]
}

fn line_ends(pieces: &[&[u8]]) -> usize {
    pieces
        .iter()
        .map(|piece| memchr::memchr_iter(b'\n', piece).count())
        .sum()
}

fn split(pieces: &[&[u8]]) -> usize {
    let mut splitter = Splitter::default();
    let mut seen = 0;
    for (read, piece) in pieces.iter().enumerate() {
        splitter.push(piece, read as u64, |event| seen += usize::from(event.is_ok()));
    }
    seen
}

fn answer(pieces: &[&[u8]]) -> usize {
    let mut body = AnswerBody::default();
    for (read, piece) in pieces.iter().enumerate() {
        let read = read as u64;
        body.push(piece, Arrival { at_ns: read, read });
    }
    body.finish(BodyEnd::Whole).contents.len()
}

fn usual(pieces: &[&[u8]], counts: fn(&str) -> bool) -> usize {
    let mut events = streams::iter(pieces.iter().map(Ok::<_, Infallible>)).eventsource();
    let mut seen = 0;
    while let Some(Some(event)) = events.next().now_or_never() {
        seen += usize::from(event.is_ok_and(|event| counts(&event.data)));
    }
    seen
}
