//! Whatever a body holds and wherever it is cut: no panic, and always the same answer.

use proptest::prelude::*;
use wire::answer::AnswerBody;
use wire::fold::{Answer, Arrival, BodyEnd};

const ARRIVAL: Arrival = Arrival { at_ns: 7, read: 1 };

/// Pieces that a body is made of, sound and unsound.
const PIECES: &[&[u8]] = &[
    b"data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n",
    b"data: {\"choices\":[{\"delta\":{\"reasoning\":\"x\"}}]}\r\n\r\n",
    b"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3}}\n\n",
    b"data: {\"error\":{\"message\":\"context length\"}}\n\n",
    b"data: {\"error\":\"no\"}\n\n",
    b"event: error\ndata: ",
    b"data: [DONE]\n\n",
    b"data: {\"choices\":",
    b": ping\n",
    b"\n",
    b"\r",
    b" ",
    b"\xEF\xBB\xBF",
    b"\xFF",
    b"{\"choices\":[{\"message\":{\"content\":\"x\"}}]}",
    b"[{]}\"",
    b"\xE4\xBD\xA0",
];

fn read(pieces: &[&[u8]], end: BodyEnd) -> Answer {
    let mut body = AnswerBody::default();
    for piece in pieces {
        body.push(piece, ARRIVAL);
    }
    body.finish(end)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn change_nothing(
        parts in prop::collection::vec(prop::sample::select(PIECES), 0..12),
        first in any::<prop::sample::Index>(),
        second in any::<prop::sample::Index>(),
        is_whole in any::<bool>(),
    ) {
        let body = parts.concat();
        let end = if is_whole { BodyEnd::Whole } else { BodyEnd::Cut };
        let (left, rest) = body.split_at(first.index(body.len() + 1));
        let (middle, right) = rest.split_at(second.index(rest.len() + 1));
        let whole = read(&[&body], end);
        prop_assert_eq!(read(&[left, middle, right], end), whole.clone());
        let bytes: Vec<&[u8]> = body.chunks(1).collect();
        prop_assert_eq!(read(&bytes, end), whole);
    }
}
