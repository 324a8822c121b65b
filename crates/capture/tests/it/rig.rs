//! A server, a capture before it, and clients that see every byte.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use capture::{Capture, Finished, Options, Rotation, TracePaths};
use driver::clock::Clock;
use driver::tls::TlsOptions;
use serde_json::Value;
use sim::{Config, Server};
use testkit::{TempDir, tempdir};
use tokio::runtime::{Builder, Runtime};

/// Longest wait of a test for bytes that should be there at once.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A capture into a folder of its own.
pub(crate) struct Rig {
    pub(crate) folder: TempDir,
    runtime: Runtime,
    capture: Option<Capture>,
    addr: SocketAddr,
}

impl Rig {
    /// Before the server at `upstream`.
    pub(crate) fn new(upstream: &str) -> Self {
        Self::with(upstream, |_| ())
    }

    pub(crate) fn with(upstream: &str, change: impl FnOnce(&mut Options)) -> Self {
        let folder = tempdir().unwrap();
        let mut options = Options {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            upstream: upstream.to_owned(),
            out: folder.path().join("out"),
            session_header: None,
            parent_header: None,
            keep_text: false,
            chunk_times: false,
            rotation: Rotation {
                bytes: capture::ROTATE_BYTES,
                after_ns: None,
            },
            trust: TlsOptions::default(),
        };
        change(&mut options);
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let capture = runtime
            .block_on(Capture::start(&options, Clock::start()))
            .unwrap();
        let addr = capture.addr();
        Self {
            folder,
            runtime,
            capture: Some(capture),
            addr,
        }
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    pub(crate) fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    /// Stops the capture and gives back the traces it left.
    pub(crate) fn stop(&mut self) -> Vec<Finished> {
        let capture = self.capture.take().expect("a rig is stopped once");
        let outcome = self
            .runtime
            .block_on(capture.stop(std::future::pending()))
            .unwrap();
        assert_eq!(outcome.lost_notes, 0);
        outcome.traces
    }

    /// Waits until the data file has so many rows.
    pub(crate) fn await_rows(&self, n: usize) {
        let data = TracePaths::new(&self.out(), 1).data();
        eventually("rows", || {
            std::fs::read_to_string(&data).unwrap().lines().count() > n
        });
    }
}

pub(crate) fn eventually(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..2_000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("not in 10 s: {what}");
}

/// A simulated server that answers at once.
pub(crate) fn simulated() -> Server {
    Server::start(Config::instant()).unwrap()
}

pub(crate) fn connect(addr: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(addr).unwrap();
    socket.set_nodelay(true).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// Sends `request` and reads until the server closes; an error of the connection ends the bytes with its kind.
pub(crate) fn exchange(addr: SocketAddr, request: &[u8]) -> Vec<u8> {
    let mut socket = connect(addr);
    socket.write_all(request).unwrap();
    let mut answer = Vec::new();
    if let Err(error) = socket.read_to_end(&mut answer) {
        answer.extend_from_slice(format!("<{:?}>", error.kind()).as_bytes());
    }
    answer
}

/// A request whose connection ends with its answer.
pub(crate) fn post(path: &str, headers: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{headers}Connection: close\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Sends a chat request through `addr` and gives back status and body text (chunk framing left in).
pub(crate) fn chat(addr: SocketAddr, headers: &str, body: &Value) -> String {
    let answer = exchange(addr, &post("/v1/chat/completions", headers, body));
    String::from_utf8(answer).unwrap()
}

/// A server that reads a request up to the bytes `END` or `END"}`, writes the pieces one by one and closes, or resets, the connection; once for
/// each connection. What it read comes over the channel.
pub(crate) fn scripted(pieces: &'static [&'static [u8]], reset: bool) -> (SocketAddr, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let (seen, received) = channel();
    std::thread::spawn(move || {
        while let Ok((mut socket, _)) = listener.accept() {
            socket.set_nodelay(true).unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            while !request.ends_with(b"END") && !request.ends_with(b"END\"}") {
                match socket.read(&mut buffer) {
                    Ok(0) | Err(_) => break,
                    Ok(n) => request.extend_from_slice(&buffer[..n]),
                }
            }
            for piece in pieces {
                let _ = socket.write_all(piece);
                std::thread::sleep(Duration::from_millis(2));
            }
            if reset {
                // Unread bytes make a close a reset.
                let _ = socket.shutdown(Shutdown::Read);
                reset_on_close(&socket);
            }
            if seen.send(request).is_err() {
                return;
            }
        }
    });
    (addr, received)
}

fn reset_on_close(socket: &TcpStream) {
    let _ = rustix::net::sockopt::set_socket_linger(socket, Some(Duration::ZERO));
}

/// The cells of a data file by column.
pub(crate) fn rows(path: &Path) -> Vec<Vec<(String, String)>> {
    let mut rows = Vec::new();
    let mut reader = csv::Reader::from_path(path).unwrap();
    let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    for record in reader.records() {
        let record = record.unwrap();
        rows.push(
            names
                .iter()
                .cloned()
                .zip(record.iter().map(str::to_owned))
                .collect(),
        );
    }
    rows
}

pub(crate) fn cell<'a>(row: &'a [(String, String)], name: &str) -> &'a str {
    &row.iter()
        .find(|(known, _)| known == name)
        .unwrap_or_else(|| panic!("no column {name}"))
        .1
}

/// The JSON lines of a file.
pub(crate) fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
