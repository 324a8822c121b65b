//! A hub on loopback that does what a script says: raw TCP, so that it can also be slow, broken and lying.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What the hub does with one connection after it has read the request's head.
#[derive(Clone)]
pub(crate) enum Step {
    /// Writes bytes.
    Send(Vec<u8>),
    /// Waits.
    Pause(Duration),
    /// Keeps the connection open and says nothing more.
    Hang,
}

/// One request's head, as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) path: String,
    head: String,
}

impl Seen {
    /// The header called `name`, in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    /// Where the requested range starts.
    pub(crate) fn offset(&self) -> Option<usize> {
        self.header("range")?
            .strip_prefix("bytes=")?
            .strip_suffix('-')?
            .parse()
            .ok()
    }
}

/// A listening hub; ends with its runtime.
pub(crate) struct LoopbackHub {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl LoopbackHub {
    /// Answers the n-th request, from 0, with what `script` says about it.
    pub(crate) async fn start(script: impl Fn(usize, &Seen) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&seen);
        let script = Arc::new(script);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (record, script) = (Arc::clone(&record), Arc::clone(&script));
                tokio::spawn(async move {
                    // A client that goes away is part of the play.
                    let _ = serve(socket, &record, &*script).await;
                });
            }
        });
        Self { url, seen }
    }

    /// The requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

async fn serve(
    mut socket: TcpStream,
    record: &Mutex<Vec<Seen>>,
    script: &(impl Fn(usize, &Seen) -> Vec<Step> + Sync),
) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await?);
    }
    let head = String::from_utf8(head).unwrap();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let seen = Seen { path, head };
    let steps = {
        let mut record = record.lock().unwrap();
        record.push(seen.clone());
        script(record.len() - 1, &seen)
    };
    for step in steps {
        match step {
            Step::Send(bytes) => socket.write_all(&bytes).await?,
            Step::Pause(span) => tokio::time::sleep(span).await,
            Step::Hang => std::future::pending().await,
        }
    }
    socket.shutdown().await
}

/// A whole answer: status line, headers (none of them a length), body with its length.
pub(crate) fn answer(status: &str, headers: &[(&str, &str)], body: &[u8]) -> Step {
    let mut bytes = head(status, headers, body.len());
    bytes.extend_from_slice(body);
    Step::Send(bytes)
}

/// Only the head of an answer that promises `length` bytes.
pub(crate) fn head(status: &str, headers: &[(&str, &str)], length: usize) -> Vec<u8> {
    use std::fmt::Write as _;
    let mut text = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n");
    for (name, value) in headers {
        write!(text, "{name}: {value}\r\n").unwrap();
    }
    text.push_str("\r\n");
    text.into_bytes()
}
