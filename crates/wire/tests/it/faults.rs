//! Answers that broke other clients, as tables: what came at which millisecond, and what it must be taken for.

use wire::answer::AnswerBody;
use wire::fold::{Answer, AnswerFault, Arrival, BodyEnd, Verdict};

const DONE: &str = "data: [DONE]\n\n";
const STOP: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

/// One event whose delta is `{inner}`.
fn e(inner: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{{inner}}}}}]}}\n\n")
}

fn token() -> String {
    e("\"content\":\"x\"")
}

fn usage(prompt: u64, completion: u64) -> String {
    format!(
        "data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":{prompt},\"completion_tokens\":{completion}}}}}\n\n"
    )
}

/// Text that came at a millisecond, one read each.
fn play(reads: &[(u64, String)], end: BodyEnd) -> Answer {
    let mut body = AnswerBody::default();
    for (read, (at_ms, text)) in (0..).zip(reads) {
        body.push(text.as_bytes(), arrival(*at_ms, read));
    }
    body.finish(end)
}

/// Texts that came ten milliseconds apart.
fn play_evenly(reads: &[String]) -> Answer {
    let timed: Vec<_> = (1..).map(|n| n * 10).zip(reads.iter().cloned()).collect();
    play(&timed, BodyEnd::Whole)
}

fn arrival(at_ms: u64, read: u64) -> Arrival {
    Arrival {
        at_ns: at_ms * 1_000_000,
        read,
    }
}

fn content_ms(answer: &Answer) -> Vec<u64> {
    answer
        .contents
        .iter()
        .map(|content| content.at_ns / 1_000_000)
        .collect()
}

fn texts(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

#[test]
fn case_1_usage_without_choices() {
    let answer = play_evenly(&[token(), token(), STOP.into(), usage(3, 5), DONE.into()]);
    assert_eq!(answer.verdict, Verdict::Ok);
    assert_eq!(answer.usage.prompt_tokens, Some(3));
    assert_eq!(answer.usage.completion_tokens, Some(5));
    assert_eq!(content_ms(&answer), [10, 20]);
    assert_eq!(answer.end_ns, Some(50_000_000));
}

#[test]
fn case_2_usage_on_every_chunk() {
    let chunk = |n| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"content\":\"x\"}}}}],\"usage\":{{\"prompt_tokens\":3,\"completion_tokens\":{n}}}}}\n\n"
        )
    };
    let null = "data: {\"choices\":null,\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":9}}\n\n";
    let empty = "data: {\"choices\":null,\"usage\":{}}\n\ndata: {\"choices\":[],\"usage\":null}\n\n";
    let answer = play_evenly(&[
        chunk(1),
        chunk(2),
        STOP.into(),
        null.into(),
        empty.into(),
        DONE.into(),
    ]);
    assert_eq!(answer.verdict, Verdict::Ok);
    assert_eq!(answer.usage.completion_tokens, Some(9));
    assert_eq!(answer.contents.len(), 2);
}

#[test]
fn case_3_finish_without_content() {
    let answer = play_evenly(&[token(), STOP.into(), DONE.into()]);
    assert_eq!(answer.verdict, Verdict::Ok);
    assert_eq!(answer.finish_reason.as_deref(), Some("stop"));
    assert_eq!(content_ms(&answer), [10]);
}

#[test]
fn cases_4_5_no_output_is_no_token() {
    for nothing in [
        "\"content\":null,\"tool_calls\":null,\"reasoning_content\":null",
        "\"role\":\"assistant\",\"content\":\"\"",
        "\"role\":\"assistant\"",
        "\"tool_calls\":[]",
        "\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"\",\"arguments\":\"\"}}]",
        "\"tool_calls\":[{\"index\":0,\"function\":null},{}]",
        "\"reasoning\":\"\",\"refusal\":\"no\"",
        "\"function_call\":{\"name\":\"f\"}",
        "\"content\":[]",
    ] {
        let reads = [
            (50, e(nothing)),
            (900, token()),
            (950, e(nothing)),
            (990, STOP.into()),
        ];
        let answer = play(&reads, BodyEnd::Whole);
        assert_eq!(answer.verdict, Verdict::Ok, "{nothing}");
        assert_eq!(content_ms(&answer), [900], "{nothing}");
        assert_eq!(answer.malformed_events, 0, "{nothing}");
    }
}

#[test]
fn case_6_reasoning_then_content() {
    for name in ["reasoning_content", "reasoning"] {
        let mut reads: Vec<_> = (0..20)
            .map(|n| (100 + n, e(&format!("\"{name}\":\"x\""))))
            .collect();
        reads.extend((0..5).map(|n| (500 + n, token())));
        reads.push((600, STOP.into()));
        let answer = play(&reads, BodyEnd::Whole);
        assert_eq!(answer.contents.len(), 25);
        assert_eq!(answer.reasoning_chunks, 20);
        assert_eq!(answer.contents[0].at_ns, 100_000_000);
        assert_eq!(answer.first_output_ns, Some(500_000_000));
    }
    // A chunk that carries both is output.
    let answer = play_evenly(&[e("\"reasoning\":\"r\",\"content\":\"c\""), STOP.into()]);
    assert_eq!(answer.reasoning_chunks, 0);
    assert_eq!(answer.first_output_ns, Some(10_000_000));
}

#[test]
fn case_7_only_tool_calls() {
    let call = e("\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\"}}]");
    let named =
        e("\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"f\"}}]");
    let answer = play_evenly(&[named, call.clone(), call, STOP.into(), usage(3, 12), DONE.into()]);
    assert_eq!(answer.verdict, Verdict::Ok);
    assert_eq!(answer.contents.len(), 3);
    assert_eq!(answer.first_output_ns, Some(10_000_000));
    assert_eq!(answer.usage.completion_tokens, Some(12));
}

#[test]
fn output_in_odd_forms() {
    for odd in [
        "\"content\":[{\"type\":\"text\",\"text\":\"x\"}]",
        "\"tool_calls\":[{\"function\":{\"arguments\":{\"a\":1}}}]",
        "\"content\":\"\\u00e9\"",
    ] {
        let answer = play_evenly(&[e(odd), STOP.into()]);
        assert_eq!(answer.verdict, Verdict::Ok, "{odd}");
        assert_eq!(answer.contents.len(), 1, "{odd}");
    }
}

#[test]
fn cases_8_9_10_what_is_no_event() {
    let mut reads: Vec<(u64, String)> = (1..30).map(|n| (n * 100, ": keep-alive\n\n".into())).collect();
    reads.push((
        2950,
        "data:\n\nevent: ping\ndata: \"\"\n\nevent: ping\ndata: {}\n\n".into(),
    ));
    reads.push((3000, format!("id: 7\n{}: ping\n\n", token())));
    reads.push((3010, STOP.into()));
    reads.push((3020, DONE.into()));
    let answer = play(&reads, BodyEnd::Whole);
    assert_eq!(answer.verdict, Verdict::Ok);
    assert_eq!(content_ms(&answer), [3000]);
    assert_eq!(answer.malformed_events, 0);
}

#[test]
fn case_11_no_space_after_the_colon() {
    let answer = play_evenly(&texts(&[
        "data:{\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n",
        "data:[DONE]\n\n",
    ]));
    assert_eq!(answer.verdict, Verdict::Ok);
    assert!(answer.done_seen);
}

#[test]
fn case_12_characters_in_pieces() {
    let text = format!("{}{STOP}", e("\"content\":\"你好😀\""));
    let mut body = AnswerBody::default();
    for (read, byte) in (0..).zip(text.as_bytes()) {
        body.push(&[*byte], arrival(read, read));
    }
    let answer = body.finish(BodyEnd::Whole);
    assert_eq!(answer.verdict, Verdict::Ok);
    assert_eq!(answer.contents.len(), 1);
}

#[test]
fn case_13_long_lines() {
    for length in [300 << 10, 5 << 20] {
        let long = e(&format!("\"content\":\"{}\"", "y".repeat(length)));
        let mut body = AnswerBody::default();
        for (read, piece) in (0..).zip(long.as_bytes().chunks(8192)) {
            body.push(piece, arrival(read, read));
        }
        body.push(STOP.as_bytes(), arrival(9999, 9999));
        let answer = body.finish(BodyEnd::Whole);
        assert_eq!(answer.verdict, Verdict::Ok);
        assert_eq!(answer.contents.len(), 1);
    }
}

#[test]
fn cases_14_15_errors_inside_a_success() {
    let failed = |text: &str| Verdict::Failed(AnswerFault::ErrorObject, text.into());
    let overflow = |text: &str| Verdict::Overflow(text.into());
    for (event, verdict) in [
        (
            "data: {\"error\":{\"message\":\"TimeoutError\",\"code\":504}}\n\n",
            failed("TimeoutError (code 504)"),
        ),
        ("data: {\"error\":\"boom\"}\n\n", failed("boom")),
        ("data: {\"error\":{\"detail\":1}}\n\n", failed("{\"detail\":1}")),
        (
            "event: error\ndata: {\"error\":{\"message\":\"boom\"}}\n\n",
            failed("boom"),
        ),
        ("event: Error\ndata: plain words\n\n", failed("plain words")),
        (
            "event: error\ndata: {\"message\":\"boom\",\"code\":\"bad\"}\n\n",
            failed("boom (code bad)"),
        ),
        (
            "data: {\"object\":\"error\",\"message\":\"boom\",\"code\":400}\n\n",
            failed("boom (code 400)"),
        ),
        (
            "data: {\"choices\":null,\"error_type\":\"BadRequestError\",\"error_message\":\"context length exceeded: 400\"}\n\n",
            overflow("context length exceeded: 400"),
        ),
        (
            "data: {\"error\":{\"message\":\"too big\",\"code\":\"context_length_exceeded\"}}\n\n",
            overflow("too big (code context_length_exceeded)"),
        ),
        (
            "event: error\ndata: Prompt is too long\n\n",
            overflow("Prompt is too long"),
        ),
    ] {
        let answer = play_evenly(&[token(), token(), token(), event.into(), token(), DONE.into()]);
        assert_eq!(answer.verdict, verdict, "{event}");
        assert_eq!(answer.contents.len(), 3, "nothing counts behind the error");
        assert_eq!(answer.end_ns, Some(40_000_000), "{event}");
        assert!(!answer.done_seen);
    }
    let answer = play_evenly(&[
        "data: {\"error\":null,\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n".into(),
        DONE.into(),
    ]);
    assert_eq!(answer.verdict, Verdict::Ok);
}

#[test]
fn cases_16_17_18_how_a_stream_ends() {
    let three = || vec![(10, token()), (20, token()), (30, token())];
    let finish = |mut reads: Vec<(u64, String)>, more: &str, end| {
        reads.push((40, more.into()));
        play(&reads, end).verdict
    };
    assert_eq!(finish(three(), STOP, BodyEnd::Whole), Verdict::Ok);
    assert_eq!(finish(three(), DONE, BodyEnd::Whole), Verdict::Ok);
    assert_eq!(finish(three(), DONE, BodyEnd::Cut), Verdict::Ok);
    // Half an event is none, and no malformed one either.
    let half = play(&[(10, token()), (20, token()[..30].into())], BodyEnd::Cut);
    assert_eq!(half.malformed_events, 0);
    // Unterminated, but there.
    assert_eq!(finish(three(), "data: [DONE]", BodyEnd::Whole), Verdict::Ok);
    for end in [BodyEnd::Whole, BodyEnd::Cut] {
        let Verdict::Failed(AnswerFault::Truncated, text) = finish(three(), ": nothing\n\n", end) else {
            panic!("truncated");
        };
        assert!(text.contains("after 3 content chunks"), "{text}");
    }
}

#[test]
fn case_20_a_cut_event() {
    let cut = "data: {\"choices\":[{\"delta\":{\"content\":\n: ping\n\n\"x\"}}]}\n\n";
    let answer = play_evenly(&[token(), cut.into(), token(), STOP.into(), DONE.into()]);
    assert_eq!(answer.verdict, Verdict::Ok);
    assert_eq!(answer.malformed_events, 1);
    assert_eq!(answer.contents.len(), 2);
    for odd in [
        "data: []\n\n",
        "data: 5\n\n",
        "data: {\"choices\":5}\n\n",
        "data: \u{1}\n\n",
    ] {
        let answer = play_evenly(&[token(), odd.into(), DONE.into()]);
        assert_eq!(answer.malformed_events, 1, "{odd}");
    }
}

#[test]
fn case_23_events_in_pairs() {
    let pair = format!("{}{}", token(), token());
    let answer = play_evenly(&[pair.clone(), pair, STOP.into()]);
    let same: Vec<bool> = answer.contents.iter().map(|content| content.same_read).collect();
    assert_eq!(same, [false, true, false, true]);
    assert_eq!(content_ms(&answer), [10, 10, 20, 20]);
}

#[test]
fn case_43_a_success_without_output() {
    for nothing in [
        "{\"id\":\"x\",\"object\":\"chat.completion\"}",
        "{\"choices\":[]}",
        "data: {\"choices\":[]}\n\ndata: [DONE]\n\n",
        "data: {broken\n\ndata: [DONE]\n\n",
        "<html>busy</html>",
        "{not json",
    ] {
        let Verdict::Failed(AnswerFault::Malformed, text) = play_evenly(&texts(&[nothing])).verdict else {
            panic!("{nothing}");
        };
        assert!(!text.is_empty());
    }
    assert!(matches!(
        play_evenly(&[]).verdict,
        Verdict::Failed(AnswerFault::Truncated, _)
    ));
}

/// A token may decode to no text (half a character, a special token). What the server counted decides then.
#[test]
fn tokens_without_text_are_output() {
    let silent = || e("\"role\":\"assistant\",\"content\":\"\"");
    let stop_with = |count: &str| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"stop\"}}],\"usage\":{{{count}}}}}\n\n"
        )
    };
    for (name, reads, tokens) in [
        (
            "one token",
            vec![silent(), STOP.into(), usage(3, 1), DONE.into()],
            1,
        ),
        (
            "several",
            vec![silent(), silent(), STOP.into(), usage(3, 7), DONE.into()],
            7,
        ),
        ("no chunk at all", vec![usage(3, 1), DONE.into()], 1),
        (
            "another name",
            vec![silent(), stop_with("\"output_tokens\":2")],
            2,
        ),
    ] {
        let answer = play_evenly(&reads);
        assert_eq!(answer.verdict, Verdict::Ok, "{name}");
        assert_eq!(answer.usage.completion_tokens, Some(tokens), "{name}");
        assert_eq!(answer.contents, [], "{name}: no chunk carries a token's time");
        assert_eq!(answer.first_output_ns, None, "{name}");
    }
    for (name, reads) in [
        (
            "none counted",
            vec![silent(), STOP.into(), usage(3, 0), DONE.into()],
        ),
        ("no count", vec![silent(), STOP.into(), DONE.into()]),
        (
            "prompt tokens only",
            vec![silent(), stop_with("\"prompt_tokens\":3"), DONE.into()],
        ),
    ] {
        let verdict = play_evenly(&reads).verdict;
        assert!(
            matches!(verdict, Verdict::Failed(AnswerFault::Malformed, _)),
            "{name}: {verdict:?}"
        );
    }
    // The count does not excuse a missing end or an error.
    let verdict = play_evenly(&[silent(), usage(3, 1)]).verdict;
    assert!(
        matches!(verdict, Verdict::Failed(AnswerFault::Truncated, _)),
        "{verdict:?}"
    );
    let error = "data: {\"error\":{\"message\":\"boom\"}}\n\n";
    let verdict = play_evenly(&[silent(), usage(3, 1), error.into(), DONE.into()]).verdict;
    assert_eq!(verdict, Verdict::Failed(AnswerFault::ErrorObject, "boom".into()));
}

#[test]
fn a_reply_that_was_not_streamed() {
    let reply = "\n {\"object\":\"chat.completion\",\"choices\":[{\"message\":{\"content\":\"hello\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}";
    let (left, right) = reply.split_at(40);
    let answer = play_evenly(&texts(&[left, right]));
    assert_eq!(answer.verdict, Verdict::Ok);
    assert_eq!(content_ms(&answer), [20]);
    assert_eq!(answer.usage.completion_tokens, Some(2));
    let cut = play(&[(10, left.into())], BodyEnd::Cut);
    assert!(matches!(cut.verdict, Verdict::Failed(AnswerFault::Truncated, _)));
    let error = play_evenly(&texts(&["{\"error\":{\"message\":\"boom\"}}"]));
    assert_eq!(
        error.verdict,
        Verdict::Failed(AnswerFault::ErrorObject, "boom".into())
    );
}
