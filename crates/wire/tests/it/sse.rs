//! The splitter: a list of awkward inputs, each cut at every place, and generated input against `eventsource-stream`.

use eventsource_stream::Eventsource;
use futures_util::{FutureExt, StreamExt, stream};
use proptest::prelude::*;
use wire::sse::{EventFault, Splitter};

type Seen = Vec<Result<(String, String), EventFault>>;

/// Everything the splitter gives for `pieces`, one read each, with the read in which each event ended.
fn split(pieces: &[&[u8]], limit: usize) -> (Seen, Vec<u64>) {
    let mut splitter = Splitter::with_limit(limit);
    let mut seen = Vec::new();
    let mut reads = Vec::new();
    for (read, piece) in pieces.iter().enumerate() {
        splitter.push(piece, read as u64, |event| {
            reads.extend(event.as_ref().ok().map(|event| event.read));
            seen.push(event.map(|event| (event.name.to_owned(), event.data.to_owned())));
        });
    }
    splitter.finish(|event| {
        reads.extend(event.as_ref().ok().map(|event| event.read));
        seen.push(event.map(|event| (event.name.to_owned(), event.data.to_owned())));
    });
    (seen, reads)
}

/// `input` whole, cut in two at every place, in three at many, and byte by byte: always `expected`.
fn check(input: &[u8], expected: &[Result<(&str, &str), EventFault>]) {
    check_limited(input, 1 << 20, expected);
}

fn check_limited(input: &[u8], limit: usize, expected: &[Result<(&str, &str), EventFault>]) {
    let expected: Seen = expected
        .iter()
        .map(|event| event.map(|(name, data)| (name.to_owned(), data.to_owned())))
        .collect();
    let shown = String::from_utf8_lossy(input);
    assert_eq!(split(&[input], limit).0, expected, "{shown:?} whole");
    for first in 0..=input.len() {
        let (left, right) = input.split_at(first);
        assert_eq!(
            split(&[left, right], limit).0,
            expected,
            "{shown:?} cut at {first}"
        );
        for second in 0..=right.len() {
            let (middle, end) = right.split_at(second);
            assert_eq!(
                split(&[left, middle, end], limit).0,
                expected,
                "{shown:?} cut at {first}, {second}"
            );
        }
    }
    let bytes: Vec<&[u8]> = input.chunks(1).collect();
    assert_eq!(split(&bytes, limit).0, expected, "{shown:?} byte by byte");
}

#[allow(clippy::unnecessary_wraps)] // an entry of the list that `check` takes
fn unnamed(data: &str) -> Result<(&str, &str), EventFault> {
    Ok(("", data))
}

#[test]
fn line_ends() {
    check(b"data: a\n\ndata: b\n\n", &[unnamed("a"), unnamed("b")]);
    check(b"data: a\r\n\r\ndata: b\r\n\r\n", &[unnamed("a"), unnamed("b")]);
    check(b"data: a\r\rdata: b\r\r", &[unnamed("a"), unnamed("b")]);
    check(
        b"data: a\r\n\ndata: b\n\r\ndata: c\r\n\r",
        &[unnamed("a"), unnamed("b"), unnamed("c")],
    );
    check(b"\n\r\n\r\rdata: a\n\n\n\n", &[unnamed("a")]);
}

#[test]
fn byte_order_mark() {
    check(b"\xEF\xBB\xBFdata: a\n\n", &[unnamed("a")]);
    check(b"\xEF\xBB\xBF\ndata: a\n\n", &[unnamed("a")]);
    // Only one, and only at the start.
    check(b"\xEF\xBB\xBF\xEF\xBB\xBFdata: a\n\ndata: b\n\n", &[unnamed("b")]);
    check(b"data: a\n\n\xEF\xBB\xBFdata: b\n\n", &[unnamed("a")]);
    // Its first bytes alone are the start of a field nobody knows.
    check(b"\xEF\xBBdata: a\n\ndata: b\n\n", &[unnamed("b")]);
    check(b"\xEF\xBB", &[]);
}

#[test]
fn fields() {
    check(b"data:a\n\n", &[unnamed("a")]);
    check(b"data:  a \n\n", &[unnamed(" a ")]);
    check(
        b"data\n\ndata:\n\ndata: \n\n",
        &[unnamed(""), unnamed(""), unnamed("")],
    );
    check(b"data: {\"a\":\ndata: 1}\ndata\n\n", &[unnamed("{\"a\":\n1}\n")]);
    check(b"data\ndata: a\n\n", &[unnamed("\na")]);
    check(
        b"event: error\ndata: a\n\ndata: b\n\n",
        &[Ok(("error", "a")), unnamed("b")],
    );
    check(b"event: lost\n\ndata: a\n\n", &[unnamed("a")]);
    check(b"id: 7\ndata: a\n\n: ping\n\n", &[unnamed("a")]);
    check(
        b": keep-alive\n\n:\n\ndata: a\n: within\nretry: 5\n\n",
        &[unnamed("a")],
    );
    check(b"Data: a\ndatas: b\n data: c\n\n", &[]);
    check(b"{\"pretty\":\n 1}\n\n", &[]);
}

#[test]
fn characters_cut_anywhere() {
    check("data: 你好😀\n\n".as_bytes(), &[unnamed("你好😀")]);
}

#[test]
fn end_without_blank_line() {
    check(b"data: a\n\ndata: b\n", &[unnamed("a"), unnamed("b")]);
    check(b"data: a\n\ndata: b", &[unnamed("a"), unnamed("b")]);
    check(b"data: a\n\nda", &[unnamed("a")]);
    check(b"data: a\n\nevent: x", &[unnamed("a")]);
}

#[test]
fn invalid_text_costs_one_event() {
    let fault = |offset| Err(EventFault::NotUtf8 { offset });
    check(
        b"data: a\n\ndata: \xFF\n\ndata: b\n\n",
        &[unnamed("a"), fault(9), unnamed("b")],
    );
    check(
        b"data: a\r\n\r\nevent: \xC3\ndata: x\n\ndata: b\n\n",
        &[unnamed("a"), fault(11), unnamed("b")],
    );
    // A comment may hold anything.
    check(b": \xFF\ndata: a\n\n", &[unnamed("a")]);
}

#[test]
fn long_events_are_a_fault_and_the_stream_goes_on() {
    let fault = |offset| Err(EventFault::TooLong { offset, limit: 16 });
    let ok = b"data: 0123456789\n\n";
    check_limited(ok, 16, &[unnamed("0123456789")]);
    check_limited(
        b"data: a\n\ndata: 0123456789a\n\ndata: b\n\n",
        16,
        &[unnamed("a"), fault(9), unnamed("b")],
    );
    check_limited(
        b"data: 01234567\ndata: 01234567\ndata: 0\n\ndata: b\n\n",
        16,
        &[fault(0), unnamed("b")],
    );
    check_limited(
        b": 0123456789 0123456789\n\ndata: b\n\n",
        16,
        &[fault(0), unnamed("b")],
    );
    check_limited(b"data: 0123456789 0123456789", 16, &[fault(0)]);
}

#[test]
fn a_five_megabyte_line_in_small_pieces() {
    let line = format!("data: {}\n\n", "x".repeat(5 << 20));
    let pieces: Vec<&[u8]> = line.as_bytes().chunks(1000).collect();
    let (seen, _) = split(&pieces, wire::sse::EVENT_BYTES_MAX);
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].as_ref().unwrap().1.len(), 5 << 20);
}

#[test]
fn events_carry_the_read_that_ended_them() {
    let (seen, reads) = split(
        &[
            b"data: a\n\ndata: b\n\nda",
            b"ta: c\n\ndata: d\n",
            b"\n",
            b"data: e",
        ],
        100,
    );
    assert_eq!(seen.len(), 5);
    assert_eq!(reads, [0, 0, 1, 2, 3]);
}

/// What `eventsource-stream` gives for one piece of input.
fn other(input: &[u8]) -> Seen {
    let bytes = stream::iter([Ok::<_, std::convert::Infallible>(input.to_vec())]);
    let events = bytes
        .eventsource()
        .collect::<Vec<_>>()
        .now_or_never()
        .expect("nothing to wait for");
    events
        .into_iter()
        .map(|event| {
            let event = event.expect("valid input");
            // It names the unnamed.
            let name = if event.event == "message" {
                String::new()
            } else {
                event.event
            };
            Ok((name, event.data))
        })
        .collect()
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "data: ?[a-zä你😀 :{}\"]{0,12}",
        1 => "data",
        2 => ": ?[a-z :]{0,5}",
        1 => "event: ?[a-ln-z]{0,5}",
        1 => "id: ?[0-9]{0,3}",
        1 => "[a-z{}\" ]{1,6}(: ?[a-z]{0,3})?",
        4 => Just(String::new()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Left out are inputs on which that crate is wrong or differs on purpose: a byte-order mark, invalid text, a lone CR at
    /// the end (it waits for more), an event without its blank line (it drops it).
    #[test]
    fn agrees_with_eventsource_stream(
        lines in prop::collection::vec((line(), prop_oneof![Just("\n"), Just("\r\n"), Just("\r")]), 0..24),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut text: String = lines.iter().flat_map(|(line, end)| [line.as_str(), end]).collect();
        text.push_str("\n\n\n");
        let input = text.as_bytes();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(input.len())).collect();
        places.extend([0, input.len()]);
        places.sort_unstable();
        let pieces: Vec<&[u8]> = places.windows(2).map(|pair| &input[pair[0]..pair[1]]).collect();
        prop_assert_eq!(split(&pieces, 1 << 20).0, other(input));
    }

    /// Any bytes, cut anywhere: no panic, and the cuts change nothing.
    #[test]
    fn cuts_never_matter(
        input in prop::collection::vec(prop_oneof![
            Just(b'\n'), Just(b'\r'), Just(b':'), Just(b' '), Just(b'd'), Just(b'a'), Just(b't'), Just(0xEF), Just(0xBB), Just(0xBF), any::<u8>(),
        ], 0..80),
        cut in any::<prop::sample::Index>(),
        limit in 4_usize..40,
    ) {
        let (left, right) = input.split_at(cut.index(input.len() + 1));
        prop_assert_eq!(split(&[left, right], limit).0, split(&[&input], limit).0);
    }
}
