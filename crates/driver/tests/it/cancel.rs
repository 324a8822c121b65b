//! Requests called off at every stage: each leaves a record that says so, and its connection is closed.

use std::time::Duration;

use driver::cancel::{Cancellation, cancellation};
use driver::client::{Client, Outgoing};
use record::request::{CancelCause, Outcome, RequestRecord};

use crate::script::{
    CHUNKED, DONE, ROLE, STOP, Server, Slices, Step, TOKEN, body, chunk, client, client_with, options,
    planned, write,
};

const LARGE: usize = 64 << 20;

async fn send_and_cancel(client: &Client, bytes: Option<usize>, cause: CancelCause) -> RequestRecord {
    let body = bytes.map_or_else(body, |bytes| Outgoing::new(Slices::new(bytes)));
    let (canceller, cancel) = cancellation();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(80)).await;
        canceller.cancel(cause);
    };
    tokio::join!(client.send(planned(), body, cancel), stop).0
}

fn assert_cancelled(record: &RequestRecord, cause: CancelCause) {
    assert_eq!(record.outcome, Outcome::Cancelled, "{record:#?}");
    assert_eq!(record.cancel_cause, Some(cause));
    assert_eq!(record.failure_kind, None);
    assert_eq!(record.error, None);
    assert_eq!(record.finish_reason, None);
    assert!(record.stamps.stream_end_ns.unwrap() >= record.stamps.start_ns);
}

#[tokio::test]
async fn before_it_starts() {
    let server = Server::start(vec![vec![Step::AwaitClose]]);
    let (canceller, cancel) = cancellation();
    canceller.cancel(CancelCause::Abort);
    let record = client(&server).send(planned(), body(), cancel).await;
    assert_cancelled(&record, CancelCause::Abort);
    assert_eq!(record.stamps.headers_written_ns, None);
}

#[tokio::test]
async fn while_connecting() {
    // Never answers the TLS handshake.
    let server = Server::start(vec![vec![Step::AwaitClose]]);
    let client = client_with(options(&format!("https://{}", server.address())));
    let record = send_and_cancel(&client, None, CancelCause::Interrupt).await;
    assert_cancelled(&record, CancelCause::Interrupt);
    assert_eq!(record.stamps.connected_ns, None);
    assert_eq!(record.stamps.headers_written_ns, None);
    server.await_closed(1);
}

#[tokio::test]
async fn while_sending() {
    let server = Server::start(vec![vec![Step::Wait(1000), Step::AwaitClose]]);
    let record = send_and_cancel(&client(&server), Some(LARGE), CancelCause::Grace).await;
    assert_cancelled(&record, CancelCause::Grace);
    assert!(record.stamps.headers_written_ns.is_some());
    assert_eq!(record.stamps.body_written_ns, None);
    assert_eq!(record.stamps.first_byte_ns, None);
    server.await_closed(1);
}

#[tokio::test]
async fn before_the_answer() {
    let server = Server::start(vec![vec![Step::Request, Step::AwaitClose]]);
    let record = send_and_cancel(&client(&server), None, CancelCause::Grace).await;
    assert_cancelled(&record, CancelCause::Grace);
    assert!(record.stamps.body_written_ns.is_some());
    assert_eq!(record.stamps.first_byte_ns, None);
    assert_eq!(record.http_status, None);
    server.await_closed(1);
}

#[tokio::test]
async fn inside_the_stream() {
    let half = write(&[CHUNKED, &chunk(ROLE), &chunk(TOKEN), &chunk(TOKEN)]);
    let server = Server::start(vec![vec![Step::Request, half, Step::AwaitClose]]);
    let client = client(&server);
    let record = send_and_cancel(&client, None, CancelCause::Grace).await;
    assert_cancelled(&record, CancelCause::Grace);
    assert_eq!(record.http_status, Some(200));
    assert_eq!(record.chunks.len(), 2, "what came is kept");
    assert!(record.stamps.first_content_ns.is_some());
    assert!(record.stamps.stream_end_ns > record.stamps.last_byte_ns);
    server.await_closed(1);
}

#[tokio::test]
async fn after_its_end() {
    // Only the framing's end is missing; what it says is said.
    let ended = write(&[CHUNKED, &chunk(TOKEN), &chunk(STOP), &chunk(DONE)]);
    let server = Server::start(vec![vec![Step::Request, ended, Step::AwaitClose]]);
    let record = send_and_cancel(&client(&server), None, CancelCause::Grace).await;
    assert_eq!(record.outcome, Outcome::Ok);
    assert_eq!(record.cancel_cause, None);
    server.await_closed(1);
}

#[tokio::test]
async fn a_dropped_canceller_cancels_nothing() {
    let server = Server::start(vec![
        vec![Step::Request, Step::Wait(30), crate::script::good()];
        2
    ]);
    let client = client(&server);
    let (canceller, cancel) = cancellation();
    drop(canceller);
    let record = client.send(planned(), body(), cancel).await;
    assert_eq!(record.outcome, Outcome::Ok);
    let record = client.send(planned(), body(), Cancellation::never()).await;
    assert_eq!(record.outcome, Outcome::Ok);
}

#[tokio::test]
async fn a_dropped_send_closes_its_connection() {
    let server = Server::start(vec![vec![Step::Request, Step::AwaitClose]]);
    let client = client(&server);
    let sent = client.send(planned(), body(), Cancellation::never());
    assert!(
        tokio::time::timeout(Duration::from_millis(50), sent)
            .await
            .is_err()
    );
    server.await_closed(1);
}
