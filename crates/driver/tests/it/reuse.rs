//! Connections: how many, in which order, and what happens to those that are no good any more.

use std::sync::Arc;
use std::time::Duration;

use driver::body::WholeBody;
use driver::cancel::Cancellation;
use driver::client::{Client, ClientOptions, Outgoing};
use driver::clock::Clock;
use driver::endpoint::{CHAT_PATH, Endpoint};
use driver::tls::TlsOptions;
use record::request::{FailureKind, Outcome};

use crate::script::{
    CHUNKED, DONE, LAST_CHUNK, STOP, Server, Slices, Step, TOKEN, chunk, client, good, planned, send, sized,
    write,
};

fn connections(server: &Server) -> Vec<usize> {
    server.requests().iter().map(|got| got.connection).collect()
}

#[tokio::test]
async fn one_connection_serves_turn_after_turn() {
    let answers = [
        good(),
        sized("400 Bad Request", "no"),
        sized("200 OK", "{\"choices\":[{\"message\":{\"content\":\"x\"}}]}"),
        write(&[CHUNKED, &chunk(TOKEN), &chunk(STOP), LAST_CHUNK]),
        good(),
    ];
    let script = answers
        .into_iter()
        .flat_map(|answer| [Step::Request, answer])
        .collect();
    let server = Server::start(vec![script]);
    let client = client(&server);
    for turn in 0..5 {
        let record = send(&client).await;
        assert_eq!(record.outcome == Outcome::Ok, turn != 1);
        assert_eq!(record.stamps.connected_ns.is_some(), turn == 0);
        assert!(record.stamps.headers_written_ns.unwrap() >= record.stamps.start_ns);
    }
    assert_eq!(connections(&server), [0; 5]);
    assert_eq!(client.opened_connections(), 1);
    assert_eq!(client.replaced_connections(), 0);
}

#[tokio::test]
async fn the_end_of_the_framing_may_come_by_itself() {
    let server = Server::start(vec![vec![
        Step::Request,
        write(&[CHUNKED, &chunk(TOKEN), &chunk(STOP), &chunk(DONE)]),
        write(&[LAST_CHUNK]),
        Step::Request,
        good(),
    ]]);
    let client = client(&server);
    assert_eq!(send(&client).await.outcome, Outcome::Ok);
    assert_eq!(send(&client).await.outcome, Outcome::Ok);
    assert_eq!(client.opened_connections(), 1);
}

#[tokio::test]
async fn a_socket_left_open_after_done_is_given_up() {
    // 19.
    let left_open = vec![
        Step::Request,
        write(&[CHUNKED, &chunk(TOKEN), &chunk(STOP), &chunk(DONE)]),
        Step::AwaitClose,
    ];
    let server = Server::start(vec![left_open, vec![Step::Request, good()]]);
    let client = client(&server);
    let record = send(&client).await;
    assert_eq!(record.outcome, Outcome::Ok);
    let stamps = record.stamps;
    assert_eq!(
        stamps.stream_end_ns, stamps.last_content_ns,
        "it ended with `[DONE]`"
    );
    server.await_closed(1);
    assert_eq!(send(&client).await.outcome, Outcome::Ok);
    assert_eq!(connections(&server), [0, 1]);
}

#[tokio::test]
async fn last_in_first_out() {
    let kept = || {
        vec![
            Step::Request,
            Step::Wait(300),
            good(),
            Step::Request,
            good(),
            Step::Request,
            good(),
        ]
    };
    let server = Server::start(vec![kept(), kept()]);
    let client = client(&server);
    tokio::join!(send(&client), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        send(&client).await
    });
    for _ in 0..2 {
        send(&client).await;
    }
    assert_eq!(connections(&server), [0, 1, 1, 1]);
}

#[tokio::test]
async fn closed_while_idle() {
    let once = || vec![Step::Request, good()];
    let server = Server::start(vec![once(), once(), once()]);
    let client = client(&server);
    for turn in 0..3 {
        let record = send(&client).await;
        assert_eq!(record.outcome, Outcome::Ok);
        assert!(record.stamps.connected_ns.is_some(), "{turn}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(client.opened_connections(), 3);
    assert_eq!(client.replaced_connections(), 0, "seen before anything was sent");
}

#[tokio::test]
async fn closed_under_the_request() {
    for end in [vec![], vec![Step::Reset]] {
        let first = [vec![Step::Request, good(), Step::Request], end].concat();
        let server = Server::start(vec![first, vec![Step::Request, good()]]);
        let client = client(&server);
        send(&client).await;
        let body = Slices::new(100_000);
        let whole = body.whole();
        let record = client
            .send(planned(), Outgoing::new(body), Cancellation::never())
            .await;
        assert_eq!(record.outcome, Outcome::Ok);
        assert_eq!(client.replaced_connections(), 1);
        assert_eq!(connections(&server), [0, 0, 1]);
        assert!(server.requests()[1..].iter().all(|got| got.body == whole));
        let stamps = record.stamps;
        assert!(
            stamps.headers_written_ns >= stamps.connected_ns,
            "stamps are those of the new one"
        );
    }
}

#[tokio::test]
async fn only_a_kept_connection_is_replaced_and_only_once_and_only_without_a_byte() {
    let broken = |outcome: Outcome, kind| {
        assert_eq!(outcome, Outcome::Failed);
        assert_eq!(kind, Some(FailureKind::BrokenStream));
    };
    // New.
    let server = Server::start(vec![vec![Step::Request], vec![Step::Request, good()]]);
    let record = send(&client(&server)).await;
    broken(record.outcome, record.failure_kind);
    assert_eq!(connections(&server), [0]);
    // Kept, but a byte came.
    let started = vec![Step::Request, good(), Step::Request, write(&["H"])];
    let server = Server::start(vec![started, vec![Step::Request, good()]]);
    let client = client(&server);
    send(&client).await;
    let record = send(&client).await;
    broken(record.outcome, record.failure_kind);
    assert_eq!(client.replaced_connections(), 0);
    // The new one breaks too.
    let server = Server::start(vec![
        vec![Step::Request, good(), Step::Request],
        vec![Step::Request],
        vec![Step::Request, good()],
    ]);
    let client = crate::script::client(&server);
    send(&client).await;
    let record = send(&client).await;
    broken(record.outcome, record.failure_kind);
    assert_eq!(client.replaced_connections(), 1);
    assert_eq!(connections(&server), [0, 0, 1]);
}

#[tokio::test]
async fn a_server_that_closes_every_connection() {
    // 35, in small.
    const REQUESTS: usize = 300;
    let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\n";
    let script = vec![Step::Request, write(&[closing, TOKEN, STOP, DONE])];
    let server = Server::start(vec![script; REQUESTS]);
    let client = client(&server);
    for _ in 0..REQUESTS {
        assert_eq!(send(&client).await.outcome, Outcome::Ok);
    }
    assert_eq!(client.opened_connections(), REQUESTS as u64);
    assert_eq!(client.replaced_connections(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once() {
    const STREAMS: usize = 100;
    let script = vec![
        Step::Request,
        Step::Wait(300),
        good(),
        Step::Request,
        Step::Wait(300),
        good(),
    ];
    let server = Server::start(vec![script; 2 * STREAMS]);
    let client = Arc::new(client(&server));
    for _round in 0..2 {
        let mut streams = tokio::task::JoinSet::new();
        for _ in 0..STREAMS {
            let client = client.clone();
            streams.spawn(async move { send(&client).await });
        }
        let records = streams.join_all().await;
        assert!(records.iter().all(|record| record.outcome == Outcome::Ok));
    }
    assert_eq!(server.requests().len(), 2 * STREAMS);
    // On a very busy machine a stream may end before another starts, and leave it its connection.
    assert!(client.opened_connections() <= STREAMS as u64 + client.replaced_connections());
    assert!(client.opened_connections() > STREAMS as u64 / 2);
}

/// Many tasks on several threads take each other's connections as soon as they are free.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn stamps_are_those_of_the_request_whoever_has_the_connection_next() {
    const TASKS: usize = 16;
    const REQUESTS: usize = 250;
    let server = sim::Server::start(sim::Config::instant()).unwrap();
    let client = Arc::new(
        Client::new(
            ClientOptions::new(
                Endpoint::new(&server.url(), CHAT_PATH).unwrap(),
                TlsOptions::default().client_config().unwrap(),
            ),
            Clock::start(),
        )
        .unwrap(),
    );
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..TASKS {
        let client = client.clone();
        tasks.spawn(async move {
            for _ in 0..REQUESTS {
                let body = r#"{"messages":[{"role":"user","content":"a"}],"model":"sim","stream":true,"max_completion_tokens":1}"#;
                let record = client.send(planned(), Outgoing::new(WholeBody::new(body)), Cancellation::never()).await;
                assert_eq!(record.error, None);
                let stamps = record.stamps;
                let order = [
                    Some(stamps.start_ns),
                    stamps.headers_written_ns,
                    stamps.body_written_ns,
                    stamps.first_byte_ns,
                    stamps.first_content_ns,
                    stamps.stream_end_ns,
                ];
                assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{stamps:?}");
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    assert!(
        client.opened_connections() < (TASKS * REQUESTS / 4) as u64,
        "connections are used again"
    );
}
