//! A streamed chunk from a loopback socket to its record: the client of `driver` against a reader that throws the bytes
//! away, against the HTTP library's framing alone, and against reqwest with `eventsource-stream`.
//!
//! The server is a thread that writes one prepared answer, by single events or in large writes. Only the reading thread's
//! CPU time counts. `per read` says how many chunks one read brought: with many, system calls vanish from the comparison.

use crate::contest::{Way, cpu_ns, least};
use crate::table::Line;
use crate::{example, stream};
use driver::body::WholeBody;
use driver::cancel::Cancellation;
use driver::client::{Client, ClientOptions};
use driver::clock::Clock;
use driver::endpoint::{CHAT_PATH, Endpoint};
use driver::tls::TlsOptions;
use eventsource_stream::Eventsource;
use futures_util::StreamExt;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const CHUNKS: usize = 30_000;
const LARGE_WRITE_BYTES: usize = 64 << 10;
const ASK: &str = r#"{"messages":[]}"#;
/// Connections that a server takes; more than all ways make.
const CONNECTIONS_MAX: usize = 64;

pub(crate) fn measure() -> anyhow::Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (how, large) in [("one write an event", false), ("64 KB writes", true)] {
        let answer = Arc::new(http_answer(large));
        let server = serve(answer.clone())?;
        let clock = Clock::start();
        let mut per_read = f64::INFINITY;
        let whole: usize = answer.iter().map(Vec::len).sum();
        let tls = TlsOptions::default().client_config()?;
        let client = Client::new(
            ClientOptions::new(
                Endpoint::new(&format!("http://{server}"), CHAT_PATH)?,
                tls.clone(),
            ),
            clock,
        )?;
        let usual_client = reqwest::Client::builder()
            .tls_backend_preconfigured((*tls).clone())
            .no_proxy()
            .build()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let on = |work: &dyn Fn() -> usize| {
            let before = cpu_ns();
            let seen = work();
            assert_eq!(seen, CHUNKS, "every way sees every chunk");
            (cpu_ns() - before) / CHUNKS as f64
        };
        let ways: [Way<'_>; 4] = [
            (
                "raw",
                Box::new(|| on(&|| runtime.block_on(raw(server, whole)).unwrap_or(0))),
            ),
            (
                "framing",
                Box::new(|| on(&|| runtime.block_on(framing(server)).unwrap_or(0))),
            ),
            (
                "turnmill",
                Box::new(|| {
                    on(&|| {
                        let record = runtime.block_on(client.send(
                            example::record(0),
                            Box::new(WholeBody::new(ASK)),
                            Cancellation::never(),
                        ));
                        let reads = record.chunks.iter().filter(|chunk| !chunk.same_read).count();
                        let shared = record.chunks.len() as f64 / reads.max(1) as f64;
                        PER_READ.set(shared);
                        record.chunks.len()
                    })
                }),
            ),
            (
                "usual",
                Box::new(|| on(&|| runtime.block_on(usual(&usual_client, server, clock)).unwrap_or(0))),
            ),
        ];
        let [raw, framing, ours, usual] = least(ways);
        per_read = per_read.min(PER_READ.get());
        lines.extend([
            Line::new(format!("chunks per socket read, {how}"), per_read, ""),
            Line::new(format!("turnmill's client, {how}"), ours, "ns/chunk").at_most(1250.0),
            Line::new(format!("turnmill ÷ raw reader, {how}"), ours / raw, "×"),
            Line::new(
                format!("turnmill ÷ hyper's framing alone, {how}"),
                ours / framing,
                "×",
            )
            .at_most(1.15),
            Line::new(
                format!("turnmill ÷ reqwest + eventsource-stream + serde_json, {how}"),
                ours / usual,
                "×",
            )
            .at_most(0.5),
        ]);
    }
    Ok(lines)
}

thread_local! {
    /// Chunks that a read of the last answer brought.
    static PER_READ: std::cell::Cell<f64> = const { std::cell::Cell::new(0.0) };
}

/// The writes of the answer: head, and one HTTP chunk an event.
fn http_answer(large: bool) -> Vec<Vec<u8>> {
    let mut writes = vec![
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec(),
    ];
    for event in stream::events(CHUNKS) {
        writes.push(format!("{:x}\r\n{event}\r\n", event.len()).into_bytes());
    }
    writes.push(b"0\r\n\r\n".to_vec());
    if large {
        let whole = writes.concat();
        writes = whole.chunks(LARGE_WRITE_BYTES).map(<[u8]>::to_vec).collect();
    }
    writes
}

/// A server that gives this answer to every request, until the process ends.
fn serve(writes: Arc<Vec<Vec<u8>>>) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for socket in listener.incoming().take(CONNECTIONS_MAX).flatten() {
            let writes = writes.clone();
            // A client that goes away ends its connection's thread.
            std::thread::spawn(move || answer_all(&socket, &writes));
        }
    });
    Ok(address)
}

fn answer_all(socket: &TcpStream, writes: &[Vec<u8>]) -> std::io::Result<()> {
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
        }
    }
}

/// Reads the answer and throws it away.
async fn raw(server: SocketAddr, whole: usize) -> anyhow::Result<usize> {
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
    Ok(CHUNKS)
}

/// The HTTP library alone: frames are counted and thrown away.
async fn framing(server: SocketAddr) -> anyhow::Result<usize> {
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
    Ok(CHUNKS)
}

/// As a program with the usual libraries reads it: stamped when the event comes out, typed.
async fn usual(client: &reqwest::Client, server: SocketAddr, clock: Clock) -> anyhow::Result<usize> {
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
    Ok(stamps.len())
}
