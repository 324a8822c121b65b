//! A streamed chunk from a loopback socket to its record: the client of `driver` against a reader that throws the bytes
//! away, against the HTTP library's framing alone, and against reqwest with `eventsource-stream`.
//!
//! The server's threads write a prepared answer: as fast as they can, by single events or in large writes, or an event at a
//! time to many streams, as real servers do. Only the reading thread's CPU time counts. Chunks per read are stated, since
//! with many of them system calls vanish from the comparison.

use crate::contest::{Way, cpu_ns, least};
use crate::table::Line;
use crate::{example, stream};
use driver::body::WholeBody;
use driver::cancel::Cancellation;
use driver::client::{Client, ClientOptions, Outgoing};
use driver::clock::Clock;
use driver::endpoint::{CHAT_PATH, Endpoint};
use driver::tls::TlsOptions;
use eventsource_stream::Eventsource;
use futures_util::StreamExt;
use futures_util::future::join_all;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use std::cell::Cell;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Runtime;

const LARGE_WRITE_BYTES: usize = 64 << 10;
const ASK: &str = r#"{"messages":[]}"#;
/// Connections that a server takes; more than all rounds of all ways make.
const CONNECTIONS_MAX: usize = 4096;

/// How a server sends.
#[derive(Clone, Copy)]
struct Feed {
    how: &'static str,
    streams: usize,
    /// Content chunks of each stream.
    chunks: usize,
    large: bool,
    pause: Option<Duration>,
}

const FEEDS: [Feed; 3] = [
    Feed {
        how: "64 streams, an event every 5 ms",
        streams: 64,
        chunks: 200,
        large: false,
        pause: Some(Duration::from_millis(5)),
    },
    Feed {
        how: "one stream, a write an event",
        streams: 1,
        chunks: 30_000,
        large: false,
        pause: None,
    },
    Feed {
        how: "one stream, 64 KB writes",
        streams: 1,
        chunks: 30_000,
        large: true,
        pause: None,
    },
];

pub(crate) fn measure() -> anyhow::Result<Vec<Line>> {
    let mut lines = Vec::new();
    for feed in FEEDS {
        lines.extend(under(feed)?);
    }
    Ok(lines)
}

fn under(feed: Feed) -> anyhow::Result<Vec<Line>> {
    let answer = Arc::new(http_answer(feed));
    let whole = answer.iter().map(Vec::len).sum();
    let server = serve(answer, feed.pause)?;
    let clock = Clock::start();
    let tls = TlsOptions::default().client_config()?;
    let endpoint = Endpoint::new(&format!("http://{server}"), CHAT_PATH)?;
    let client = Client::new(ClientOptions::new(endpoint, tls.clone()), clock)?;
    let usual_client = reqwest::Client::builder()
        .tls_backend_preconfigured((*tls).clone())
        .no_proxy()
        .build()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (per_read, clock) = (Cell::new(0.0), &clock);
    let ways: [Way<'_>; 4] = [
        ("raw", Box::new(|| cost_of(feed, &runtime, || raw(server, whole)))),
        (
            "framing",
            Box::new(|| cost_of(feed, &runtime, || framing(server))),
        ),
        (
            "turnmill",
            Box::new(|| cost_of(feed, &runtime, || ours(feed, &client, &per_read))),
        ),
        (
            "usual",
            Box::new(|| cost_of(feed, &runtime, || usual(feed, &usual_client, server, *clock))),
        ),
    ];
    let [raw, framing, ours, usual] = least(ways);
    let line = |what: &str, value, unit| Line::new(format!("{what}; {}", feed.how), value, unit);
    let own = line("turnmill's client", ours, "ns/chunk");
    Ok(vec![
        line("chunks a socket read", per_read.get(), ""),
        // What a core takes is only told by a reader that never waits.
        if feed.pause.is_none() {
            own.at_most(1250.0)
        } else {
            own
        },
        line("turnmill ÷ raw reader", ours / raw, "×"),
        line("turnmill ÷ hyper's framing alone", ours / framing, "×").at_most(1.15),
        line(
            "turnmill ÷ reqwest + eventsource-stream + serde_json",
            ours / usual,
            "×",
        )
        .at_most(0.5),
    ])
}

/// CPU nanoseconds a chunk of reading all streams of the feed at once.
fn cost_of<F: Future<Output = anyhow::Result<()>>>(
    feed: Feed,
    runtime: &Runtime,
    read: impl Fn() -> F,
) -> f64 {
    let before = cpu_ns();
    let ended = runtime.block_on(join_all((0..feed.streams).map(|_| read())));
    let spent = cpu_ns() - before;
    for one in ended {
        one.expect("a server of ours answers in full");
    }
    spent / (feed.streams * feed.chunks) as f64
}

/// turnmill's client, from the request to its record.
async fn ours(feed: Feed, client: &Client, per_read: &Cell<f64>) -> anyhow::Result<()> {
    let body = Outgoing::new(WholeBody::new(ASK));
    let record = client.send(example::record(0), body, Cancellation::never()).await;
    anyhow::ensure!(
        record.chunks.len() == feed.chunks,
        "it misses chunks: {:?}",
        record.error
    );
    let reads = record.chunks.iter().filter(|chunk| !chunk.same_read).count();
    per_read.set(feed.chunks as f64 / reads.max(1) as f64);
    Ok(())
}

/// The writes of the answer: head, and one HTTP chunk an event.
fn http_answer(feed: Feed) -> Vec<Vec<u8>> {
    let mut writes = vec![
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec(),
    ];
    for event in stream::events(feed.chunks) {
        writes.push(format!("{:x}\r\n{event}\r\n", event.len()).into_bytes());
    }
    writes.push(b"0\r\n\r\n".to_vec());
    if feed.large {
        let whole = writes.concat();
        writes = whole.chunks(LARGE_WRITE_BYTES).map(<[u8]>::to_vec).collect();
    }
    writes
}

/// A server that gives this answer to every request, until the process ends.
fn serve(writes: Arc<Vec<Vec<u8>>>, pause: Option<Duration>) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for socket in listener.incoming().take(CONNECTIONS_MAX).flatten() {
            let writes = writes.clone();
            // A client that goes away ends its connection's thread.
            std::thread::spawn(move || answer_all(&socket, &writes, pause));
        }
    });
    Ok(address)
}

fn answer_all(socket: &TcpStream, writes: &[Vec<u8>], pause: Option<Duration>) -> std::io::Result<()> {
    socket.set_nodelay(true)?;
    let mut reader = BufReader::new(socket);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            if line == "\r\n" {
                break;
            }
        }
        reader.read_exact(&mut vec![0; length])?;
        for write in writes {
            (&*socket).write_all(write)?;
            if let Some(pause) = pause {
                std::thread::sleep(pause);
            }
        }
    }
}

/// Reads the answer and throws it away.
async fn raw(server: SocketAddr, whole: usize) -> anyhow::Result<()> {
    let mut socket = tokio::net::TcpStream::connect(server).await?;
    socket.set_nodelay(true)?;
    let ask = format!(
        "POST {CHAT_PATH} HTTP/1.1\r\nHost: {server}\r\nContent-Length: {}\r\n\r\n{ASK}",
        ASK.len()
    );
    socket.write_all(ask.as_bytes()).await?;
    let mut buffer = vec![0; LARGE_WRITE_BYTES];
    let mut read = 0;
    while read < whole {
        match socket.read(&mut buffer).await? {
            0 => anyhow::bail!("the answer was cut"),
            more => read += more,
        }
    }
    Ok(())
}

/// The HTTP library alone: frames are counted and thrown away.
async fn framing(server: SocketAddr) -> anyhow::Result<()> {
    let socket = tokio::net::TcpStream::connect(server).await?;
    socket.set_nodelay(true)?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(socket)).await?;
    let driven = tokio::spawn(connection);
    let request = hyper::Request::post(CHAT_PATH)
        .header("host", server.to_string())
        .body(Full::new(bytes::Bytes::from_static(ASK.as_bytes())))?;
    let mut body = sender.send_request(request).await?.into_body();
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        bytes += frame?.data_ref().map_or(0, bytes::Bytes::len);
    }
    driven.abort();
    anyhow::ensure!(bytes > 0, "the answer is empty");
    Ok(())
}

/// As a program with the usual libraries reads it: stamped when the event comes out, typed.
async fn usual(feed: Feed, client: &reqwest::Client, server: SocketAddr, clock: Clock) -> anyhow::Result<()> {
    let answer = client
        .post(format!("http://{server}{CHAT_PATH}"))
        .body(ASK)
        .send()
        .await?;
    let mut events = answer.bytes_stream().eventsource();
    let mut stamps = Vec::new();
    while let Some(event) = events.next().await {
        let at_ns = clock.now_ns();
        if stream::has_content(&event?.data) {
            stamps.push(at_ns);
        }
    }
    anyhow::ensure!(stamps.len() == feed.chunks, "it misses chunks");
    Ok(())
}
