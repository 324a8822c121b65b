//! Each kind of misbehaviour as a client meets it.

use std::time::Duration;

use sim::{Config, CutEnding, Fault, FaultKind, Outcome, Server};

use crate::client::{Answer, CHAT, Connection, Ending, chat, eventually, post, start};

const REST: &str = r#","max_tokens":6,"ignore_eos":true"#;
/// Long enough to say that nothing comes.
const NOTHING: Duration = Duration::from_millis(150);

fn with(kind: FaultKind) -> Server {
    let server = start(Config::paced(300_000));
    server.set_faults(vec![Fault::always(kind)]);
    server
}

fn ask(server: &Server) -> Answer {
    post(server, CHAT, &chat("hello", REST))
}

fn outcome(server: &Server) -> Outcome {
    server.log().last().unwrap().outcome
}

#[test]
fn every_third_request_is_refused_as_told() {
    let server = start(Config::instant());
    for (status, kind) in [
        (400, "BadRequestError"),
        (429, "RateLimitError"),
        (500, "InternalServerError"),
    ] {
        server.set_faults(vec![Fault::every(
            FaultKind::Refuse {
                status,
                message: "no".to_owned(),
                retry_after_s: Some(2),
            },
            3,
        )]);
        let statuses = [(); 3].map(|()| ask(&server).status);
        assert_eq!(statuses, [200, 200, status]);
        let last = post(&server, CHAT, "{}");
        assert_eq!(last.status, 400, "faults or not, a request has messages");
        let _ = (ask(&server), kind);
        let refused = ask(&server);
        assert_eq!(refused.json()["error"]["type"], kind);
        assert!(refused.has_header("retry-after: 2"));
        assert_eq!(outcome(&server), Outcome::Refused(status));
    }
}

#[test]
fn streams_end_wrongly_in_every_way() {
    // (how, tokens seen, ending, [DONE] seen)
    let cut = |ending| FaultKind::Cut {
        after_tokens: 3,
        ending,
    };
    let error = FaultKind::ErrorInStream {
        after_tokens: 2,
        message: "TimeoutError".to_owned(),
        code: 504,
    };
    let cases = [
        (cut(CutEnding::Terminated), 3, Ending::Proper, false),
        (cut(CutEnding::Dropped), 3, Ending::Dropped, false),
        (cut(CutEnding::ShortOfLength), 3, Ending::Dropped, false),
        (error, 2, Ending::Proper, true),
    ];
    for (kind, tokens, ending, done) in cases {
        let server = with(kind.clone());
        let answer = ask(&server);
        assert_eq!(answer.status, 200);
        assert_eq!(answer.tokens().len(), tokens, "{kind:?}");
        assert_eq!(answer.ending, ending, "{kind:?}");
        assert_eq!(answer.body().contains("[DONE]"), done, "{kind:?}");
        assert_eq!(answer.usage(), None);
        assert!(!answer.body().contains(r#""finish_reason":"length""#));
        assert_eq!(
            answer
                .body()
                .contains(r#"data: {"error":{"message":"TimeoutError""#),
            done
        );
        assert_eq!(outcome(&server), Outcome::Faulted);
        eventually("the engine is empty", || server.load() == (0, 0));
    }
}

#[test]
fn a_break_behind_the_last_token_of_a_short_answer_never_comes() {
    let server = with(FaultKind::Cut {
        after_tokens: 7,
        ending: CutEnding::Dropped,
    });
    let answer = ask(&server);
    assert_eq!(answer.ending, Ending::Proper);
    assert!(answer.usage().is_some());
}

#[test]
fn silence_and_stalls_last_until_the_client_leaves() {
    for (kind, n_tokens) in [
        (FaultKind::Silence, None),
        (FaultKind::Stall { after_tokens: 2 }, Some(2)),
    ] {
        let server = with(kind);
        let mut connection = Connection::open(&server);
        connection.send("POST", CHAT, "", &chat("hello", REST));
        if let Some(n_tokens) = n_tokens {
            connection.head();
            let mut seen = 0;
            while seen < n_tokens + 1 {
                seen += connection.chunk().unwrap().matches("data: ").count();
            }
        }
        assert!(
            connection.byte_within(NOTHING).is_err(),
            "nothing comes, and nobody hangs up"
        );
        drop(connection);
        eventually("the engine is empty", || server.load() == (0, 0));
        assert_eq!(outcome(&server), Outcome::Faulted);
    }
}

#[test]
fn the_rest_of_the_catalogue() {
    let early = ask(&with(FaultKind::EarlyFinish { tokens: 4 }));
    assert_eq!(early.usage().unwrap()["completion_tokens"], 4);
    assert!(early.body().contains(r#""finish_reason":"stop""#));

    let bare = ask(&with(FaultKind::NoUsage));
    assert_eq!(bare.usage(), None);
    assert_eq!(bare.tokens().len(), 6);

    let role = ask(&with(FaultKind::EarlyRole));
    assert_eq!(role.chunks[0].matches("data: ").count(), 1);
    assert!(role.chunks[0].contains(r#""role":"assistant""#));
    assert_eq!(role.body().matches(r#""role":"assistant""#).count(), 1);

    let clumps = ask(&with(FaultKind::Clumps { tokens: 3 }));
    let tokens = |chunk: &String| chunk.matches(r#""token_ids":null"#).count();
    let sizes: Vec<_> = clumps.chunks.iter().map(tokens).filter(|n| *n > 0).collect();
    assert_eq!(sizes, [3, 3]);

    let undone = ask(&with(FaultKind::NoDone));
    assert_eq!(undone.ending, Ending::Proper);
    assert!(!undone.body().contains("[DONE]"));
    assert!(undone.usage().is_some());
}

#[test]
fn connections_close_or_stay_as_told() {
    let server = with(FaultKind::ConnectionClose);
    let mut connection = Connection::open(&server);
    connection.send("POST", CHAT, "", &chat("hello", REST));
    assert!(connection.answer().has_header("connection: close"));
    assert_eq!(connection.byte_within(Duration::from_secs(5)).unwrap(), None);

    let server = with(FaultKind::OpenAfterDone);
    let mut connection = Connection::open(&server);
    connection.send("POST", CHAT, "", &chat("hello", REST));
    connection.head();
    while !connection.chunk().unwrap().contains("[DONE]") {}
    assert!(connection.byte_within(NOTHING).is_err());
    assert_eq!(outcome(&server), Outcome::Answered);
}
