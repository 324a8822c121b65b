//! Every kind of answer, and what its request must be taken for. Numbers are those of the list of cases that broke
//! other clients.

use driver::cancel::Cancellation;
use driver::client::Outgoing;
use record::request::{FailureKind, Outcome, RequestRecord};

use crate::script::{
    CHUNKED, DONE, LAST_CHUNK, ROLE, STOP, Server, Slices, Step, TOKEN, USAGE, chunk, client, client_with,
    good, options, planned, send, sized, write,
};

struct Expected {
    outcome: Outcome,
    kind: Option<FailureKind>,
    status: Option<u16>,
    contents: usize,
    /// Part of the error's text.
    error: &'static str,
}

const OK: Expected = Expected {
    outcome: Outcome::Ok,
    kind: None,
    status: Some(200),
    contents: 2,
    error: "",
};

const fn failed(kind: FailureKind, contents: usize, error: &'static str) -> Expected {
    Expected {
        outcome: Outcome::Failed,
        kind: Some(kind),
        status: Some(200),
        contents,
        error,
    }
}

const fn refused(status: u16, error: &'static str) -> Expected {
    Expected {
        outcome: Outcome::Failed,
        kind: Some(FailureKind::Refused),
        status: Some(status),
        contents: 0,
        error,
    }
}

/// The answer of a server that reads the request and then does `steps`.
async fn answer(steps: &[Step]) -> RequestRecord {
    let script = [&[Step::Request], steps].concat();
    send(&client(&Server::start(vec![script]))).await
}

async fn check(name: &str, steps: &[Step], expected: &Expected) -> RequestRecord {
    let record = answer(steps).await;
    let shown = format!("{name}: {record:#?}");
    assert_eq!(record.outcome, expected.outcome, "{shown}");
    assert_eq!(record.failure_kind, expected.kind, "{shown}");
    assert_eq!(record.cancel_cause, None, "{shown}");
    assert_eq!(record.http_status, expected.status, "{shown}");
    assert_eq!(record.chunks.len(), expected.contents, "{shown}");
    match &record.error {
        Some(error) => assert!(
            !expected.error.is_empty() && error.contains(expected.error),
            "{shown}"
        ),
        None => assert_eq!(expected.error, "", "{shown}"),
    }
    record
}

#[tokio::test]
async fn a_good_answer_fills_the_record() {
    let record = check("good", &[good()], &OK).await;
    assert_eq!(record.usage.prompt_tokens, Some(3));
    assert_eq!(record.usage.completion_tokens, Some(5));
    assert_eq!(record.finish_reason.as_deref(), Some("stop"));
    assert!(record.done_seen);
    assert_eq!(record.malformed_events, 0);
    assert_eq!(record.reasoning_chunks, 0);
    assert_eq!(record.body_bytes, 15);
    let events = [ROLE, TOKEN, TOKEN, STOP, USAGE, DONE].concat();
    assert_eq!(record.response_bytes, events.len() as u64);
}

#[tokio::test]
async fn ends_that_are_fine() {
    let events = [TOKEN, TOKEN, STOP].concat();
    let sized_head = |length: usize| {
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {length}\r\n\r\n")
    };
    for (name, steps) in [
        // 16, in all framings; 41.
        ("chunked", vec![write(&[CHUNKED, &chunk(&events), LAST_CHUNK])]),
        ("length", vec![write(&[&sized_head(events.len()), &events])]),
        ("1.0", vec![write(&["HTTP/1.0 200 OK\r\n\r\n", &events])]),
        (
            "close",
            vec![write(&["HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", &events])],
        ),
        // A terminal event was seen: what is missing is only framing.
        ("no last chunk", vec![write(&[CHUNKED, &chunk(&events)])]),
        (
            "done, then reset",
            vec![
                write(&[CHUNKED, &chunk(&events), &chunk(DONE)]),
                Step::Wait(20),
                Step::Reset,
            ],
        ),
        // 19.
        (
            "done, then nothing",
            vec![write(&[CHUNKED, &chunk(&events), &chunk(DONE)]), Step::Wait(3000)],
        ),
        // An informational answer first.
        ("100", vec![write(&["HTTP/1.1 100 Continue\r\n\r\n"]), good()]),
        // Wrong content type.
        (
            "json type",
            vec![write(&[
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n",
                &events,
            ])],
        ),
    ] {
        check(name, &steps, &OK).await;
    }
}

#[tokio::test]
async fn streams_that_are_cut() {
    // 17, 18.
    let events = TOKEN.repeat(3);
    let truncated = failed(FailureKind::Truncated, 3, "after 3 content chunks");
    for (name, steps) in [
        ("fin", vec![write(&[CHUNKED, &chunk(&events), LAST_CHUNK])]),
        ("no last chunk", vec![write(&[CHUNKED, &chunk(&events)])]),
        ("inside a chunk", vec![write(&[CHUNKED, "fff\r\n", &events])]),
        (
            "too long a length",
            vec![write(&[
                "HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n",
                &events,
            ])],
        ),
        ("1.0", vec![write(&["HTTP/1.0 200 OK\r\n\r\n", &events])]),
        ("later", vec![write(&[CHUNKED, &chunk(&events)]), Step::Wait(150)]),
    ] {
        let record = check(name, &steps, &truncated).await;
        let stamps = record.stamps;
        assert!(stamps.last_byte_ns >= stamps.last_content_ns, "{name}");
        assert!(stamps.stream_end_ns >= stamps.last_byte_ns, "{name}");
        if name == "later" {
            let idle_ns = stamps.stream_end_ns.unwrap() - stamps.last_byte_ns.unwrap();
            assert!(
                idle_ns > 30_000_000,
                "the last byte came before the end: {idle_ns}"
            );
        }
    }
    let broken = failed(FailureKind::BrokenStream, 3, "broke while the answer came");
    let steps = [write(&[CHUNKED, &chunk(&events)]), Step::Wait(30), Step::Reset];
    check("reset", &steps, &broken).await;
    let nothing = failed(FailureKind::Truncated, 0, "without a finish reason");
    check("empty", &[sized("200 OK", "")], &nothing).await;
    check(
        "204",
        &[write(&["HTTP/1.1 204 No Content\r\n\r\n"])],
        &Expected {
            status: Some(204),
            ..nothing
        },
    )
    .await;
}

#[tokio::test]
async fn errors_inside_a_success() {
    // 14, 15.
    let events = |error: &str| {
        let texts = [TOKEN, TOKEN, TOKEN, error, DONE].map(chunk).concat();
        [write(&[CHUNKED, &texts, LAST_CHUNK])]
    };
    let timeout = events("data: {\"error\":{\"message\":\"TimeoutError\",\"code\":504}}\n\n");
    check(
        "14",
        &timeout,
        &failed(FailureKind::ErrorObject, 3, "TimeoutError"),
    )
    .await;
    let overflow = Expected {
        outcome: Outcome::Overflow,
        kind: None,
        ..failed(FailureKind::ErrorObject, 3, "maximum context length is 8")
    };
    let flat = events(
        "data: {\"choices\":null,\"error_type\":\"BadRequestError\",\"error_message\":\"maximum context length is 8\"}\n\n",
    );
    check("15", &flat, &overflow).await;
    let reply = [sized("200 OK", "{\"error\":{\"message\":\"boom\"}}")];
    check("reply", &reply, &failed(FailureKind::ErrorObject, 0, "boom")).await;
}

#[tokio::test]
async fn refusals() {
    // 43, 44.
    let busy = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 2\r\nContent-Length: 4\r\n\r\nbusy";
    check("429", &[write(&[busy])], &refused(429, "busy")).await;
    let unknown = sized(
        "400 Bad Request",
        "{\"error\":{\"message\":\"unknown field ignore_eos\"}}",
    );
    check("400", &[unknown], &refused(400, "unknown field ignore_eos")).await;
    check(
        "empty",
        &[sized("503 Service Unavailable", "")],
        &refused(503, "HTTP 503 Service Unavailable"),
    )
    .await;
    let moved = "HTTP/1.1 307 Temporary Redirect\r\nLocation: /v2\r\nContent-Length: 0\r\n\r\n";
    check("307", &[write(&[moved])], &refused(307, "redirected to /v2")).await;
    let cut = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 100\r\n\r\nsplutter";
    check("cut", &[write(&[cut])], &refused(500, "splutter")).await;
    let too_long = sized(
        "400 Bad Request",
        "{\"error\":{\"message\":\"Maximum Context reached\"}}",
    );
    let overflow = Expected {
        outcome: Outcome::Overflow,
        kind: None,
        ..refused(400, "Maximum Context reached")
    };
    check("overflow", &[too_long], &overflow).await;

    let long = "é".repeat(100_000);
    let record = check("long", &[sized("400 Bad Request", &long)], &refused(400, "éé")).await;
    assert!(record.error.unwrap().len() <= wire::error::ERROR_TEXT_BYTES_MAX);
    assert!(record.response_bytes <= driver::REFUSAL_BYTES_MAX as u64);
}

#[tokio::test]
async fn answers_that_are_none() {
    let malformed = |error| failed(FailureKind::Malformed, 0, error);
    let silent = Expected {
        status: None,
        ..failed(FailureKind::BrokenStream, 0, "before the answer came")
    };
    let noise = Expected {
        status: None,
        ..malformed("no HTTP/1.1")
    };
    check("closed", &[], &silent).await;
    check("reset", &[Step::Reset], &silent).await;
    check("cut head", &[write(&["HTTP/1.1 200 OK\r\nContent-"])], &silent).await;
    check("noise", &[write(&["SSH-2.0-OpenSSH_9.6\r\n\r\n"])], &noise).await;
    check(
        "page",
        &[sized("200 OK", "<html>busy</html>")],
        &malformed("<html>busy"),
    )
    .await;
    // 43: a success without choices.
    check(
        "no choices",
        &[sized("200 OK", "{\"id\":1}")],
        &malformed("no content"),
    )
    .await;
    let bad_chunk = [write(&[CHUNKED, &chunk(TOKEN), "zz\r\n"])];
    check(
        "bad chunk",
        &bad_chunk,
        &failed(FailureKind::Malformed, 1, "framing"),
    )
    .await;
}

#[tokio::test]
async fn a_reply_that_is_not_streamed() {
    let reply = "{\"choices\":[{\"message\":{\"content\":\"hello\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}";
    let one = Expected { contents: 1, ..OK };
    let record = check("reply", &[sized("200 OK", reply)], &one).await;
    assert_eq!(record.usage.completion_tokens, Some(1));
    assert_eq!(record.stamps.first_content_ns, record.stamps.last_content_ns);
}

#[tokio::test]
async fn a_cut_event_is_counted() {
    // 20.
    let cut = "data: {\"choices\":[{\"delta\":{\"content\":\n: ping\n\n\"x\"}}]}\n\n";
    let texts = [TOKEN, cut, TOKEN, STOP, DONE].map(chunk).concat();
    let record = check("20", &[write(&[CHUNKED, &texts, LAST_CHUNK])], &OK).await;
    assert_eq!(record.malformed_events, 1);
}

#[tokio::test]
async fn long_events_in_many_reads() {
    // 12, 13.
    let long = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n",
        "好".repeat(500_000)
    );
    let texts = [long.as_str(), TOKEN, STOP, DONE].map(chunk).concat();
    check("13", &[write(&[CHUNKED, &texts, LAST_CHUNK])], &OK).await;
    let small = [TOKEN.replace('x', "你好😀").as_str(), TOKEN, STOP, DONE]
        .map(chunk)
        .concat();
    let mut steps = vec![write(&[CHUNKED])];
    steps.extend(small.as_bytes().chunks(1).map(|byte| Step::Write(byte.to_vec())));
    check("12", &steps, &OK).await;
}

#[tokio::test]
async fn no_connection() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let record = send(&client_with(options(&gone.to_string()))).await;
    assert_eq!(record.outcome, Outcome::Failed);
    assert_eq!(record.failure_kind, Some(FailureKind::Connect));
    assert!(
        record
            .error
            .unwrap()
            .starts_with(&format!("cannot connect to {gone}: "))
    );
    assert_eq!(record.http_status, None);
    assert_eq!(record.stamps.headers_written_ns, None);
    assert_eq!(record.stamps.first_content_ns, None);
    assert!(record.stamps.stream_end_ns.unwrap() >= record.stamps.start_ns);

    let record = send(&client_with(options("http://no-such-host.invalid"))).await;
    assert_eq!(record.failure_kind, Some(FailureKind::Connect));
    assert!(record.error.unwrap().contains("no-such-host.invalid"));
}

#[tokio::test]
async fn out_of_time() {
    let deadline = std::time::Duration::from_millis(150);
    for (name, steps, contents) in [
        ("no answer", vec![Step::Request, Step::AwaitClose], 0),
        (
            "half",
            vec![Step::Request, write(&[CHUNKED, &chunk(TOKEN)]), Step::AwaitClose],
            1,
        ),
    ] {
        let server = Server::start(vec![steps]);
        let mut options = options(&server.address().to_string());
        options.deadline = deadline;
        let record = send(&client_with(options)).await;
        assert_eq!(record.outcome, Outcome::Failed, "{name}");
        assert_eq!(record.failure_kind, Some(FailureKind::TimedOut), "{name}");
        assert_eq!(
            record.error.as_deref(),
            Some("no end of the answer within 0.15 s")
        );
        assert_eq!(record.chunks.len(), contents, "{name}");
        let stamps = record.stamps;
        assert!(
            stamps.stream_end_ns.unwrap() - stamps.start_ns >= 150_000_000,
            "{name}"
        );
        server.await_closed(1);
    }
}

#[tokio::test]
async fn a_refusal_before_the_body_was_read() {
    let server = Server::start(vec![vec![
        Step::Head,
        sized("413 Content Too Large", "too large"),
        Step::Wait(300),
        Step::AwaitClose,
    ]]);
    let client = client(&server);
    let record = client
        .send(
            planned(),
            Outgoing::new(Slices::new(64 << 20)),
            Cancellation::never(),
        )
        .await;
    assert_eq!(record.failure_kind, Some(FailureKind::Refused));
    assert_eq!(record.http_status, Some(413));
    assert_eq!(record.error.as_deref(), Some("too large"));
    assert_eq!(record.stamps.body_written_ns, None);
    server.await_closed(1);
}
