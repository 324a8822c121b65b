//! A raw TCP server that does what a script says and notes what it got, and what tests of a client share.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use driver::body::{BodySource, WholeBody};
use driver::cancel::Cancellation;
use driver::client::{Client, ClientOptions, Outgoing};
use driver::clock::Clock;
use driver::endpoint::{CHAT_PATH, Endpoint};
use driver::tls::TlsOptions;
use record::request::{Outcome, RequestRecord, Stamps, Usage};

/// What the server does next on a connection. At the end of its script it closes it.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Read a whole request.
    Request,
    /// Read a request's head and leave its body.
    Head,
    /// Write these bytes in one call.
    Write(Vec<u8>),
    /// Do nothing for so many milliseconds.
    Wait(u64),
    /// Wait until the client closes, and note that it did.
    AwaitClose,
    /// Close with a reset.
    Reset,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Got {
    pub(crate) connection: usize,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

#[derive(Debug, Default)]
struct Log {
    requests: Vec<Got>,
    closed_by_client: usize,
}

#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    log: Arc<Mutex<Log>>,
}

impl Server {
    /// One script for each connection, in the order of accepting.
    pub(crate) fn start(scripts: Vec<Vec<Step>>) -> Self {
        Self::start_slowly(Duration::ZERO, scripts)
    }

    /// Accepts each connection only after a while.
    pub(crate) fn start_slowly(wait: Duration, scripts: Vec<Vec<Step>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let log = Arc::new(Mutex::new(Log::default()));
        let noted = log.clone();
        thread::spawn(move || {
            for (connection, script) in scripts.into_iter().enumerate() {
                thread::sleep(wait);
                let (socket, _) = listener.accept().unwrap();
                let log = noted.clone();
                thread::spawn(move || play(connection, socket, script, &log));
            }
        });
        Self { address, log }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn requests(&self) -> Vec<Got> {
        self.log.lock().unwrap().requests.clone()
    }

    /// Waits until the client has closed so many connections that wait for it.
    pub(crate) fn await_closed(&self, count: usize) {
        for _ in 0..500 {
            if self.log.lock().unwrap().closed_by_client >= count {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("the client keeps its connection open");
    }
}

fn play(connection: usize, mut socket: TcpStream, script: Vec<Step>, log: &Mutex<Log>) {
    socket.set_nodelay(true).unwrap();
    for step in script {
        match step {
            Step::Request | Step::Head => {
                let with_body = matches!(step, Step::Request);
                let Some((head, body)) = read_request(&mut socket, with_body) else {
                    return;
                };
                let got = Got {
                    connection,
                    head,
                    body,
                };
                log.lock().unwrap().requests.push(got);
            }
            // A client that has gone is no failure of the server.
            Step::Write(bytes) => drop(socket.write_all(&bytes)),
            Step::Wait(ms) => thread::sleep(Duration::from_millis(ms)),
            Step::AwaitClose => {
                let mut rest = [0; 4096];
                while !matches!(socket.read(&mut rest), Ok(0) | Err(_)) {}
                log.lock().unwrap().closed_by_client += 1;
            }
            Step::Reset => rustix::net::sockopt::set_socket_linger(&socket, Some(Duration::ZERO)).unwrap(),
        }
    }
}

fn read_request(socket: &mut TcpStream, with_body: bool) -> Option<(String, Vec<u8>)> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match socket.read(&mut byte) {
            Ok(0) => return None,
            Ok(_) => head.push(byte[0]),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
            Err(error) => panic!("{error}"),
        }
    }
    let head = String::from_utf8(head).unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "))
        .filter(|_| with_body)
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    socket.read_exact(&mut body).ok()?;
    Some((head, body))
}

/// A head of status 200 for a chunked event stream.
pub(crate) const CHUNKED: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
/// The end of a chunked body.
pub(crate) const LAST_CHUNK: &str = "0\r\n\r\n";
/// Events.
pub(crate) const ROLE: &str =
    "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
pub(crate) const TOKEN: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n";
pub(crate) const STOP: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
pub(crate) const USAGE: &str =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":5}}\n\n";
pub(crate) const DONE: &str = "data: [DONE]\n\n";

/// One HTTP chunk.
pub(crate) fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// Some texts, written in one call.
pub(crate) fn write(parts: &[&str]) -> Step {
    Step::Write(parts.concat().into_bytes())
}

/// A complete answer of two tokens, whose connection can be used again.
pub(crate) fn good() -> Step {
    let text: String = [ROLE, TOKEN, TOKEN, STOP, USAGE, DONE].map(chunk).concat();
    write(&[CHUNKED, &text, LAST_CHUNK])
}

/// An answer with a length.
pub(crate) fn sized(status: &str, body: &str) -> Step {
    write(&[
        &format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len()),
        body,
    ])
}

pub(crate) fn options(base: &str) -> ClientOptions {
    let endpoint = Endpoint::new(base, CHAT_PATH).unwrap();
    ClientOptions::new(endpoint, TlsOptions::default().client_config().unwrap())
}

pub(crate) fn client(server: &Server) -> Client {
    client_with(options(&server.address().to_string()))
}

pub(crate) fn client_with(options: ClientOptions) -> Client {
    Client::new(options, Clock::start()).unwrap()
}

pub(crate) const BODY: &str = "{\"messages\":[]}";

pub(crate) fn body() -> Outgoing {
    Outgoing::new(WholeBody::new(Bytes::from_static(BODY.as_bytes())))
}

/// Sends one small request.
pub(crate) async fn send(client: &Client) -> RequestRecord {
    client.send(planned(), body(), Cancellation::never()).await
}

/// A body of many slices of unequal length.
#[derive(Debug)]
pub(crate) struct Slices {
    slices: Vec<Bytes>,
    next: usize,
}

impl Slices {
    /// About `bytes` long.
    pub(crate) fn new(bytes: usize) -> Self {
        let mut slices = Vec::new();
        let mut left = bytes;
        for n in 0_usize.. {
            let length = (n * 37 % 512 + 1).min(left);
            let letter = b'a' + u8::try_from(n % 26).unwrap();
            slices.push(Bytes::from(vec![letter; length]));
            left -= length;
            if left == 0 {
                break;
            }
        }
        Self { slices, next: 0 }
    }

    pub(crate) fn whole(&self) -> Vec<u8> {
        self.slices.concat()
    }
}

impl BodySource for Slices {
    fn content_length(&self) -> u64 {
        self.slices.iter().map(|slice| slice.len() as u64).sum()
    }

    fn next_chunk(&mut self) -> Option<Bytes> {
        let slice = self.slices.get(self.next).cloned();
        self.next += 1;
        slice
    }

    fn rewind(&mut self) {
        self.next = 0;
    }
}

/// A request as the run loop plans it. What the answer decides holds nonsense, which must be overwritten.
pub(crate) fn planned() -> RequestRecord {
    RequestRecord {
        request_id: "6e8bc430-9c3a-4f0e-8a53-0123456789ab".into(),
        conversation_id: "t".into(),
        trace_id: "t".into(),
        session_id: "11111111-2222-3333-4444-555555555555".into(),
        turns_total: 1,
        isl_planned: 3,
        osl_planned: 2,
        response_bytes: 99,
        stamps: Stamps {
            stream_end_ns: Some(1),
            first_content_ns: Some(1),
            ..Stamps::default()
        },
        reasoning_chunks: 99,
        http_status: Some(99),
        finish_reason: Some("nonsense".into()),
        done_seen: true,
        malformed_events: 99,
        usage: Usage {
            prompt_tokens: Some(99),
            ..Usage::default()
        },
        outcome: Outcome::Cancelled,
        error: Some("nonsense".into()),
        ..RequestRecord::due(0)
    }
}
