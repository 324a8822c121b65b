//! What the recording proxy adds to the first byte: a client without a library asks the simulated server directly and through
//! `capture`, in turn, on two kept connections, and looks at the clock.
//!
//! Server, proxy and client share this machine; the server answers at once, so that there is nothing but the way.

use crate::table::Line;
use capture::{Capture, Options, ROTATE_BYTES, Rotation};
use driver::clock::Clock;
use driver::endpoint::CHAT_PATH;
use driver::tls::TlsOptions;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

/// Pairs of requests whose times count.
const PAIRS: usize = 4_000;
/// Pairs before them.
const PAIRS_BEFORE: usize = 200;
/// Sizes of prompts in bytes.
const PROMPTS: [(&str, usize); 2] = [("2 KB prompt", 2 << 10), ("64 KB prompt", 64 << 10)];
/// How a chunked answer ends.
const END: &[u8] = b"0\r\n\r\n";

pub(crate) fn measure() -> anyhow::Result<Vec<Line>> {
    let folder = testkit::tempdir()?;
    let server = sim::Server::start(sim::Config::instant())?;
    let clock = Clock::start();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let capture = runtime.block_on(Capture::start(
        &Options {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            upstream: server.url(),
            out: folder.path().to_owned(),
            session_header: None,
            parent_header: None,
            keep_text: false,
            chunk_times: false,
            rotation: Rotation {
                bytes: ROTATE_BYTES,
                after_ns: None,
            },
            trust: TlsOptions::default(),
        },
        clock,
    ))?;
    let mut lines = Vec::new();
    for (name, bytes) in PROMPTS {
        let [direct, through] = first_bytes([server.addr(), capture.addr()], bytes, clock)?;
        for (quantile, share) in [("p50", 0.5), ("p99", 0.99)] {
            let at = |times: &[u64]| times[((times.len() - 1) as f64 * share) as usize] as f64 / 1e3;
            let (direct, through) = (at(&direct), at(&through));
            lines.push(Line::new(
                format!("first byte direct, {quantile}, {name}"),
                direct,
                "µs",
            ));
            let added = Line::new(
                format!("added by capture, {quantile}, {name}"),
                through - direct,
                "µs",
            );
            lines.push(if quantile == "p99" {
                added.at_most(200.0)
            } else {
                added
            });
        }
    }
    let outcome = runtime.block_on(capture.stop(std::future::pending()))?;
    let rows: u64 = outcome.traces.iter().map(|trace| trace.rows).sum();
    let sent = PROMPTS.len() * (PAIRS_BEFORE + PAIRS);
    anyhow::ensure!(rows == sent as u64, "{rows} rows of {sent} requests");
    Ok(lines)
}

/// Nanoseconds from the first byte sent to the first byte read at each address, ascending.
fn first_bytes(
    addresses: [SocketAddr; 2],
    prompt_bytes: usize,
    clock: Clock,
) -> anyhow::Result<[Vec<u64>; 2]> {
    let prompt = "word ".repeat(prompt_bytes / 5);
    let body = format!(
        r#"{{"messages":[{{"role":"user","content":"{prompt}"}}],"max_tokens":4,"ignore_eos":true,"stream":true}}"#
    );
    let request = format!(
        "POST {CHAT_PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut sockets = Vec::new();
    for address in addresses {
        let socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        sockets.push(socket);
    }
    let mut times = [Vec::new(), Vec::new()];
    let mut answer = vec![0; 64 << 10];
    for pair in 0..PAIRS_BEFORE + PAIRS {
        for (socket, times) in sockets.iter_mut().zip(&mut times) {
            let sent_ns = clock.now_ns();
            socket.write_all(request.as_bytes())?;
            let mut length = socket.read(&mut answer)?;
            if pair >= PAIRS_BEFORE {
                times.push(clock.now_ns() - sent_ns);
            }
            anyhow::ensure!(answer.starts_with(b"HTTP/1.1 200 "), "an answer is no 200");
            while !answer[..length].ends_with(END) {
                let more = socket.read(&mut answer[length..])?;
                anyhow::ensure!(more > 0, "the answer was cut");
                length += more;
            }
        }
    }
    Ok(times.map(|mut times| {
        times.sort_unstable();
        times
    }))
}
