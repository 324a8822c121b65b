//! A client over a plain socket that sees what a library would hide: chunk borders, and how a body ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;
use sim::{Config, Server};

/// A test that waits longer than this for a byte has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// How a body ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// As announced.
    Proper,
    /// By the end of the connection, too early.
    Dropped,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Header lines, lower case.
    pub(crate) head: Vec<String>,
    /// The chunks of a chunked body, or the body as one.
    pub(crate) chunks: Vec<String>,
    pub(crate) ending: Ending,
}

impl Answer {
    pub(crate) fn body(&self) -> String {
        self.chunks.concat()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body()).unwrap()
    }

    pub(crate) fn has_header(&self, line: &str) -> bool {
        self.head.iter().any(|header| header == line)
    }

    /// Payloads of the events.
    pub(crate) fn events(&self) -> Vec<String> {
        let body = self.body();
        let events = body.split_terminator("\n\n");
        events
            .map(|event| event.strip_prefix("data: ").unwrap().to_owned())
            .collect()
    }

    /// Events with choices that carry text, as JSON.
    pub(crate) fn tokens(&self) -> Vec<Value> {
        let events = self.events();
        let parsed = events
            .iter()
            .filter_map(|event| serde_json::from_str::<Value>(event).ok());
        parsed
            .filter(|event| {
                let choice = &event["choices"][0];
                choice["delta"]["role"].is_null()
                    && (choice["delta"]["content"].is_string() || choice["text"].is_string())
            })
            .collect()
    }

    /// The `usage` of the event that has no choices.
    pub(crate) fn usage(&self) -> Option<Value> {
        let events = self.events();
        let mut parsed = events
            .iter()
            .filter_map(|event| serde_json::from_str::<Value>(event).ok());
        let event = parsed.find(|event| event["choices"].as_array().is_some_and(Vec::is_empty))?;
        Some(event["usage"].clone())
    }
}

/// A connection that can be used again and again.
pub(crate) struct Connection(BufReader<TcpStream>);

impl Connection {
    pub(crate) fn open(server: &Server) -> Self {
        let socket = TcpStream::connect(server.addr()).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_nodelay(true).unwrap();
        Self(BufReader::new(socket))
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, headers: &str, body: &str) {
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: sim\r\n{headers}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        self.0.get_mut().write_all(request.as_bytes()).unwrap();
    }

    /// One more byte, or the end of the connection (`None`), within `patience`; an error if neither comes.
    pub(crate) fn byte_within(&mut self, patience: Duration) -> std::io::Result<Option<u8>> {
        self.0.get_ref().set_read_timeout(Some(patience)).unwrap();
        let mut byte = [0];
        let n = self.0.read(&mut byte);
        self.0.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
        Ok((n? > 0).then_some(byte[0]))
    }

    pub(crate) fn head(&mut self) -> (u16, Vec<String>) {
        let mut lines = Vec::new();
        loop {
            let line = self.line().expect("a head");
            if line.is_empty() {
                break;
            }
            lines.push(line.to_lowercase());
        }
        let status = lines[0].split(' ').nth(1).unwrap().parse().unwrap();
        (status, lines)
    }

    /// The next chunk of a chunked body; empty at its proper end, `None` at the end of the connection.
    pub(crate) fn chunk(&mut self) -> Option<String> {
        let length = usize::from_str_radix(&self.line()?, 16).unwrap();
        let mut chunk = vec![0; length + 2];
        self.0.read_exact(&mut chunk).ok()?;
        chunk.truncate(length);
        Some(String::from_utf8(chunk).unwrap())
    }

    pub(crate) fn answer(&mut self) -> Answer {
        let (status, head) = self.head();
        let mut answer = Answer {
            status,
            head,
            chunks: Vec::new(),
            ending: Ending::Proper,
        };
        if answer.has_header("transfer-encoding: chunked") {
            loop {
                match self.chunk() {
                    Some(chunk) if chunk.is_empty() => return answer,
                    Some(chunk) => answer.chunks.push(chunk),
                    None => break,
                }
            }
            answer.ending = Ending::Dropped;
            return answer;
        }
        let lengths = answer
            .head
            .iter()
            .filter_map(|line| line.strip_prefix("content-length: "));
        let length: u64 = lengths.map(|length| length.parse::<u64>().unwrap()).sum();
        let mut body = String::new();
        (&mut self.0).take(length).read_to_string(&mut body).unwrap();
        if (body.len() as u64) < length {
            answer.ending = Ending::Dropped;
        }
        answer.chunks.push(body);
        answer
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let n = self.0.read_line(&mut line).unwrap_or(0);
        (n > 0).then(|| line.trim_end().to_owned())
    }
}

pub(crate) fn post(server: &Server, path: &str, body: &str) -> Answer {
    let mut connection = Connection::open(server);
    connection.send("POST", path, "", body);
    connection.answer()
}

pub(crate) fn get(server: &Server, path: &str) -> Answer {
    let mut connection = Connection::open(server);
    connection.send("GET", path, "", "");
    connection.answer()
}

/// A streamed chat of one message with usage.
pub(crate) fn chat(text: &str, rest: &str) -> String {
    format!(
        r#"{{"messages":[{{"role":"user","content":"{text}"}}],"stream":true,"stream_options":{{"include_usage":true}}{rest}}}"#
    )
}

pub(crate) const CHAT: &str = "/v1/chat/completions";
pub(crate) const COMPLETIONS: &str = "/v1/completions";

pub(crate) fn start(config: Config) -> Server {
    Server::start(config).unwrap()
}

/// Waits until `holds`, for what the server does a moment after the client has seen its answer.
pub(crate) fn eventually(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..2000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("never: {what}");
}
