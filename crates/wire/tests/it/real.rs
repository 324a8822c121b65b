//! Answers that a vLLM 0.32 server really gave, cut at every place.

use wire::answer::AnswerBody;
use wire::fold::{Answer, Arrival, BodyEnd, Verdict};
use wire::usage::Usage;

struct Expected {
    name: &'static str,
    contents: usize,
    usage: Usage,
    finish_reason: &'static str,
    done_seen: bool,
}

fn usage(prompt_tokens: u64, completion_tokens: u64, cached_tokens: u64) -> Usage {
    Usage {
        prompt_tokens: Some(prompt_tokens),
        completion_tokens: Some(completion_tokens),
        cached_tokens: Some(cached_tokens),
        reasoning_tokens: None,
    }
}

fn stream(name: &'static str, contents: usize, usage: Usage) -> Expected {
    Expected {
        name,
        contents,
        usage,
        finish_reason: "length",
        done_seen: true,
    }
}

/// The body of a recorded answer, header cut off.
fn body(name: &str) -> Option<Vec<u8>> {
    let file = testkit::shared(&format!("oracle/vllm-0.32/{name}.response.txt"))?;
    let answer = testkit::bytes(&file);
    let text = String::from_utf8(answer).expect("text");
    let (_, body) = text
        .split_once("\r\n\r\n")
        .or_else(|| text.split_once("\n\n"))
        .expect("a header");
    Some(body.as_bytes().to_vec())
}

fn read(pieces: &[&[u8]]) -> Answer {
    let mut answer = AnswerBody::default();
    for (read, piece) in (0..).zip(pieces) {
        answer.push(
            piece,
            Arrival {
                at_ns: 1000 + read,
                read,
            },
        );
    }
    answer.finish(BodyEnd::Whole)
}

fn check(expected: &Expected) {
    let Some(body) = body(expected.name) else { return };
    for cut in (0..body.len()).step_by(7) {
        let (left, right) = body.split_at(cut);
        let answer = read(&[left, right]);
        let name = expected.name;
        assert_eq!(answer.verdict, Verdict::Ok, "{name} cut at {cut}");
        assert_eq!(answer.contents.len(), expected.contents, "{name} cut at {cut}");
        assert_eq!(answer.usage, expected.usage, "{name} cut at {cut}");
        assert_eq!(
            answer.finish_reason.as_deref(),
            Some(expected.finish_reason),
            "{name} cut at {cut}"
        );
        assert_eq!(answer.done_seen, expected.done_seen, "{name} cut at {cut}");
        assert_eq!(answer.malformed_events, 0, "{name} cut at {cut}");
    }
}

#[test]
fn streams() {
    for expected in [
        stream("chat-stream-usage", 12, usage(40, 12, 0)),
        stream("chat-stream-usage-again", 12, usage(40, 12, 0)),
        stream("chat-stream-plain", 6, Usage::default()),
        stream("chat-stream-continuous", 6, usage(40, 6, 0)),
        stream("chat-one-token", 1, usage(40, 1, 0)),
        stream("chat-cached", 3, usage(778, 3, 768)),
        stream("chat-logprobs", 2, Usage::default()),
        stream("chat-n2", 6, usage(40, 6, 0)),
        // Its first content delta is empty: one chunk fewer.
        stream("error-unknown-field", 1, Usage::default()),
        stream("completions-return-ids", 3, usage(3, 3, 0)),
        Expected {
            done_seen: false,
            ..stream("chat-nonstream", 1, usage(40, 6, 0))
        },
    ] {
        check(&expected);
    }
}

#[test]
fn a_prompt_too_long() {
    let Some(body) = body("error-prompt-too-long") else {
        return;
    };
    // The same text is an overflow as the body of a 400 and inside a 200.
    assert!(wire::error::is_context_overflow(&String::from_utf8_lossy(&body)));
    let Verdict::Overflow(text) = read(&[&body]).verdict else {
        panic!("an overflow");
    };
    assert!(text.starts_with("This model's maximum context length is 131072 tokens."));
    for other in [
        "error-max-tokens",
        "error-zero-tokens",
        "error-bad-json",
        "error-not-found",
    ] {
        let text = crate::real::body(other).unwrap();
        assert!(
            !wire::error::is_context_overflow(&String::from_utf8_lossy(&text)),
            "{other}"
        );
    }
}

/// Reads of a busy server, from their recorded event counts: which content chunks shared a read.
#[test]
fn recorded_socket_reads() {
    #[derive(serde::Deserialize)]
    struct Recorded {
        streams: Vec<Vec<(f64, u64, usize)>>,
    }
    let Some(file) = testkit::shared("oracle/vllm-0.32/socket-reads-c8.json") else {
        return;
    };
    let recorded: Recorded = testkit::json(&file);
    assert_eq!(recorded.streams.len(), 8);
    for reads in recorded.streams {
        // Role, 24 tokens, usage, [DONE]; the recording says how many of them each read brought.
        let mut events = vec![r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#];
        events.extend([r#"{"choices":[{"delta":{"content":"x"}}]}"#; 23]);
        events.push(r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"length"}]}"#);
        events.push(r#"{"choices":[],"usage":{"prompt_tokens":40,"completion_tokens":24}}"#);
        events.push("[DONE]");
        let mut events = events.into_iter();
        let mut answer = AnswerBody::default();
        for (read, (at_ms, _, count)) in (0..).zip(&reads) {
            let mut text = String::new();
            for data in events.by_ref().take(*count) {
                text.extend(["data: ", data, "\n\n"]);
            }
            let at_ns = (at_ms * 1e6) as u64;
            answer.push(text.as_bytes(), Arrival { at_ns, read });
        }
        assert_eq!(events.next(), None);
        let answer = answer.finish(BodyEnd::Whole);
        assert_eq!(answer.verdict, Verdict::Ok);
        assert_eq!(answer.contents.len(), 24);
        assert!(answer.contents.iter().all(|content| !content.same_read));
        // The role event does not count: the first token has the time of the read that brought it.
        let second_event_read = reads
            .iter()
            .scan(0, |seen, read| {
                *seen += read.2;
                Some((*seen, read.0))
            })
            .find(|(seen, _)| *seen >= 2)
            .unwrap();
        assert_eq!(answer.contents[0].at_ns, (second_event_read.1 * 1e6) as u64);
    }
}
