//! Stamps: their order, their truth where a lower bound is certain, and which chunks shared a read.

use std::time::Duration;

use driver::cancel::Cancellation;
use driver::client::Outgoing;
use record::request::{Outcome, RequestRecord};

use crate::script::{
    CHUNKED, DONE, LAST_CHUNK, ROLE, STOP, Server, Slices, Step, TOKEN, USAGE, chunk, client, good, planned,
    send, write,
};

const MS: u64 = 1_000_000;

async fn answer(steps: &[Step]) -> RequestRecord {
    let script = [&[Step::Request], steps].concat();
    let record = send(&client(&Server::start(vec![script]))).await;
    assert_eq!(record.outcome, Outcome::Ok, "{record:#?}");
    record
}

fn same_reads(record: &RequestRecord) -> Vec<bool> {
    record.chunks.iter().map(|chunk| chunk.same_read).collect()
}

/// Gaps between content chunks.
fn gaps(record: &RequestRecord) -> Vec<u64> {
    record
        .chunks
        .windows(2)
        .map(|pair| pair[1].at_ns - pair[0].at_ns)
        .collect()
}

#[tokio::test]
async fn in_order() {
    let record = answer(&[
        Step::Wait(120),
        write(&[CHUNKED, &chunk(ROLE)]),
        Step::Wait(120),
        write(&[&chunk(TOKEN)]),
        Step::Wait(120),
        write(&[&chunk(TOKEN), &chunk(STOP), &chunk(USAGE)]),
        Step::Wait(80),
        write(&[&chunk(DONE), LAST_CHUNK]),
    ])
    .await;
    let stamps = record.stamps;
    let times = [
        Some(stamps.start_ns),
        stamps.connected_ns,
        stamps.headers_written_ns,
        stamps.body_written_ns,
        stamps.first_byte_ns,
        stamps.first_content_ns,
        stamps.last_content_ns,
        stamps.stream_end_ns,
    ]
    .map(|time| time.expect("it came"));
    assert!(times.is_sorted(), "{times:?}");
    let [_, _, _, body, first_byte, first_content, last_content, end] = times;
    assert!(first_byte - body > 20 * MS, "{times:?}");
    // The role event is no token.
    assert!(first_content - first_byte > 20 * MS, "{times:?}");
    assert!(last_content - first_content > 20 * MS, "{times:?}");
    assert!(end - last_content > 10 * MS, "{times:?}");
    assert_eq!(stamps.last_byte_ns, stamps.stream_end_ns);
    assert_eq!(stamps.first_output_ns, stamps.first_content_ns);
    assert!(record.parse_lag_max_ns > 0);
}

#[tokio::test]
async fn two_events_in_one_write() {
    // 23. Once as one HTTP chunk, once as two.
    for pair in [chunk(&TOKEN.repeat(2)), chunk(TOKEN).repeat(2)] {
        let record = answer(&[
            write(&[CHUNKED]),
            Step::Wait(80),
            write(&[&pair]),
            Step::Wait(150),
            write(&[&pair]),
            Step::Wait(80),
            write(&[&chunk(STOP), &chunk(DONE), LAST_CHUNK]),
        ])
        .await;
        assert_eq!(same_reads(&record), [false, true, false, true]);
        let gaps = gaps(&record);
        assert_eq!(gaps[0], 0);
        assert!(gaps[1] > 40 * MS, "{gaps:?}");
        assert_eq!(gaps[2], 0);
    }
}

#[tokio::test]
async fn an_event_in_two_writes_counts_when_it_is_whole() {
    let text = chunk(TOKEN);
    let (left, right) = text.split_at(30);
    let record = answer(&[
        write(&[CHUNKED, &chunk(TOKEN), left]),
        Step::Wait(150),
        write(&[right, &chunk(STOP), &chunk(DONE), LAST_CHUNK]),
    ])
    .await;
    assert_eq!(same_reads(&record), [false, false]);
    assert!(gaps(&record)[0] > 40 * MS);
}

#[tokio::test]
async fn a_finish_chunk_is_no_token() {
    let record = answer(&[
        write(&[CHUNKED, &chunk(TOKEN)]),
        Step::Wait(150),
        write(&[&chunk(STOP), &chunk(USAGE), &chunk(DONE), LAST_CHUNK]),
    ])
    .await;
    let stamps = record.stamps;
    assert_eq!(stamps.first_content_ns, stamps.last_content_ns);
    assert!(stamps.stream_end_ns.unwrap() - stamps.last_content_ns.unwrap() > 40 * MS);
}

#[tokio::test]
async fn keep_alive_comments_are_no_tokens() {
    // 8.
    let mut steps = vec![write(&[CHUNKED])];
    for _ in 0..5 {
        steps.extend([Step::Wait(20), write(&[&chunk(": keep-alive\n\n")])]);
    }
    steps.extend([
        Step::Wait(20),
        write(&[&chunk(TOKEN), &chunk(STOP), &chunk(DONE), LAST_CHUNK]),
    ]);
    let record = answer(&steps).await;
    assert_eq!(record.chunks.len(), 1);
    assert!(record.stamps.first_content_ns.unwrap() - record.stamps.first_byte_ns.unwrap() > 30 * MS);
}

#[tokio::test]
async fn a_long_body_is_written_when_its_last_byte_is() {
    const BYTES: usize = 24 << 20;
    let body = Slices::new(BYTES);
    let whole = body.whole();
    // Does not read for a while: the kernel's buffers fill.
    let server = Server::start(vec![vec![Step::Wait(300), Step::Request, good()]]);
    let record = client(&server)
        .send(planned(), Outgoing::new(body), Cancellation::never())
        .await;
    assert_eq!(record.outcome, Outcome::Ok);
    assert_eq!(record.body_bytes, BYTES as u64);
    assert!(server.requests()[0].body == whole, "the body came as it was");
    let stamps = record.stamps;
    let sending_ns = stamps.body_written_ns.unwrap() - stamps.headers_written_ns.unwrap();
    assert!(sending_ns > 40 * MS, "{sending_ns}");
    assert!(stamps.first_byte_ns >= stamps.body_written_ns);
}

#[tokio::test]
async fn slow_accept() {
    let server = Server::start_slowly(Duration::from_millis(300), vec![vec![Step::Request, good()]]);
    let record = send(&client(&server)).await;
    assert_eq!(record.outcome, Outcome::Ok);
    assert!(record.stamps.first_byte_ns.unwrap() - record.stamps.start_ns > 50 * MS);
}
