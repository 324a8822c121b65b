//! What leaves the proxy for the recorder: bodies as they passed, with the times at which they did.
//!
//! Nothing here can make a client wait. Bodies are kept as the very buffers that were forwarded, up to named limits, and
//! queued without blocking. When a limit is reached, or the recorder lags behind, bytes are left out of the *record*, and
//! [`Collected::left_out`] says why; the row that comes of it says so, too.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::SyncSender;

use bytes::Bytes;
use driver::secrets::{SECRET_HEADERS, Secrets};

use crate::http1::head::RequestHead;

/// Longest request body that is recorded: 64 MiB.
pub const PROMPT_BYTES_MAX: usize = 64 << 20;
/// Longest answer body that is recorded: 32 MiB.
pub const ANSWER_BYTES_MAX: usize = 32 << 20;
/// Most bytes that wait for the recorder or lie in open requests, all together: 1 GiB.
pub const WAITING_BYTES_MAX: usize = 1 << 30;
/// Most notes that wait for the recorder.
pub const WAITING_NOTES_MAX: usize = 16_384;

/// The protocols that are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Endpoint {
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/completions`.
    Completions,
    /// `/v1/responses`.
    Responses,
    /// `/v1/messages`.
    Messages,
}

impl Endpoint {
    /// Which one a request is for, if it is to be recorded.
    pub(crate) fn of(head: &RequestHead) -> Option<Self> {
        if head.method != "POST" {
            return None;
        }
        let path = head.path().trim_end_matches('/');
        // The longer name ends with the shorter one.
        [
            ("/v1/chat/completions", Self::Chat),
            ("/v1/completions", Self::Completions),
            ("/v1/responses", Self::Responses),
            ("/v1/messages", Self::Messages),
        ]
        .into_iter()
        .find_map(|(tail, endpoint)| path.ends_with(tail).then_some(endpoint))
    }
}

/// A stretch of a body.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// When the read that brought it returned.
    pub(crate) at_ns: u64,
    pub(crate) bytes: Bytes,
}

/// A body as far as it is recorded.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) pieces: Vec<Piece>,
    /// Why it is not all here.
    pub(crate) left_out: Option<&'static str>,
    /// When its first and its latest bytes passed, recorded or not.
    pub(crate) span_ns: Option<(u64, u64)>,
    length: usize,
    limit: usize,
    waiting: Arc<AtomicUsize>,
}

impl Collected {
    fn new(limit: usize, waiting: &Arc<AtomicUsize>) -> Self {
        Self {
            pieces: Vec::new(),
            left_out: None,
            span_ns: None,
            length: 0,
            limit,
            waiting: Arc::clone(waiting),
        }
    }

    /// Takes what has passed.
    pub(crate) fn take(&mut self, at_ns: u64, bytes: Bytes) {
        self.span_ns = Some((self.span_ns.map_or(at_ns, |(first, _)| first), at_ns));
        if self.left_out.is_some() {
            return;
        }
        let length = bytes.len();
        if self.length + length > self.limit {
            return self.leave_out("longer than is recorded");
        }
        if self.waiting.fetch_add(length, Relaxed) + length > WAITING_BYTES_MAX {
            self.waiting.fetch_sub(length, Relaxed);
            return self.leave_out("the recorder lagged behind");
        }
        self.length += length;
        self.pieces.push(Piece { at_ns, bytes });
    }

    /// Gives up what is here.
    pub(crate) fn leave_out(&mut self, why: &'static str) {
        self.left_out.get_or_insert(why);
        self.pieces = Vec::new();
        self.release();
    }

    /// Lets the bytes go, once they have been read. Their room stays taken: what was read from them is as large.
    pub(crate) fn forget_pieces(&mut self) {
        self.pieces = Vec::new();
    }

    /// All of it in one piece.
    pub(crate) fn joined(&self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.length);
        for piece in &self.pieces {
            all.extend_from_slice(&piece.bytes);
        }
        all
    }

    fn release(&mut self) {
        self.waiting.fetch_sub(self.length, Relaxed);
        self.length = 0;
    }
}

impl Drop for Collected {
    fn drop(&mut self) {
        self.release();
    }
}

/// A request whose body has passed, or will not pass any further.
#[derive(Debug)]
pub(crate) struct Begun {
    /// Number in order of arrival, from 0.
    pub(crate) request_id: u64,
    pub(crate) endpoint: Endpoint,
    /// When the first bytes of its head were read.
    pub(crate) arrival_ns: u64,
    /// Tells clients apart, by address, key and program; means nothing outside of this process.
    pub(crate) client: u64,
    pub(crate) session: Option<String>,
    pub(crate) parent: Option<String>,
    pub(crate) x_request_id: Option<String>,
    /// Values that must not appear in any file.
    pub(crate) secrets: Secrets,
    pub(crate) content_encoding: Option<String>,
    pub(crate) body: Collected,
}

/// How an exchange ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The answer came whole.
    Whole,
    /// The server, or the way to it, broke the answer off.
    Cut,
    /// The client went away.
    ClientGone,
    /// There was no connection to the server.
    NoServer(String),
    /// The capture was stopped first.
    Stopped,
}

/// A request that is over.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) request_id: u64,
    /// When its first byte was handed to the server's socket.
    pub(crate) sent_ns: Option<u64>,
    pub(crate) status: Option<u16>,
    pub(crate) content_encoding: Option<String>,
    pub(crate) answer: Collected,
    pub(crate) ending: Ending,
    /// When.
    pub(crate) at_ns: u64,
}

/// What the recorder is told.
#[derive(Debug)]
pub(crate) enum Note {
    Begun(Box<Begun>),
    Ended(Box<Ended>),
}

/// Which headers say whose a request is.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionHeaders {
    /// In lower case.
    pub(crate) session: Option<String>,
    /// In lower case.
    pub(crate) parent: Option<String>,
}

/// The proxy's end of the queue. Shared by all connections.
#[derive(Debug)]
pub(crate) struct Tap {
    notes: SyncSender<Note>,
    headers: SessionHeaders,
    waiting: Arc<AtomicUsize>,
    next_id: AtomicU64,
    lost: Arc<AtomicU64>,
    identities: RandomState,
}

impl Tap {
    pub(crate) fn new(notes: SyncSender<Note>, headers: SessionHeaders, lost: Arc<AtomicU64>) -> Self {
        Self {
            notes,
            headers,
            waiting: Arc::default(),
            next_id: AtomicU64::new(0),
            lost,
            identities: RandomState::new(),
        }
    }

    /// Starts recording a request, when it is one to record.
    pub(crate) fn begin(&self, head: &RequestHead, peer: IpAddr, arrival_ns: u64) -> Option<Begun> {
        let endpoint = Endpoint::of(head)?;
        let text = |name: &str| {
            head.header(name)
                .map(str::trim)
                .filter(|value| !value.is_empty())
                .map(str::to_owned)
        };
        let named = |name: &Option<String>| name.as_deref().and_then(text);
        let keys: Vec<_> = SECRET_HEADERS.iter().map(|name| text(name)).collect();
        Some(Begun {
            request_id: self.next_id.fetch_add(1, Relaxed),
            endpoint,
            arrival_ns,
            client: self.identities.hash_one((peer, &keys, text("user-agent"))),
            session: named(&self.headers.session),
            parent: named(&self.headers.parent),
            x_request_id: text("x-request-id"),
            secrets: secrets(head),
            content_encoding: text("content-encoding").map(|coding| coding.to_ascii_lowercase()),
            body: Collected::new(PROMPT_BYTES_MAX, &self.waiting),
        })
    }

    /// A place for the answer's body.
    pub(crate) fn answer(&self) -> Collected {
        Collected::new(ANSWER_BYTES_MAX, &self.waiting)
    }

    /// Hands a note over. Returns at once; a full queue loses it, and it is counted.
    pub(crate) fn tell(&self, note: Note) {
        if self.notes.try_send(note).is_err() {
            self.lost.fetch_add(1, Relaxed);
        }
    }
}

fn secrets(head: &RequestHead) -> Secrets {
    let headers = head
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_ref()));
    let query = head.target.split_once('?').map_or("", |(_, query)| query);
    Secrets::of_head(headers, query)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> RequestHead {
        RequestHead::read(text.as_bytes()).unwrap().expect("a whole head")
    }

    #[test]
    fn four_endpoints_are_recorded_below_any_base() {
        let cases = [
            ("POST /v1/chat/completions", Some(Endpoint::Chat)),
            ("POST /m/v1/chat/completions/?x=1", Some(Endpoint::Chat)),
            ("POST /v1/completions", Some(Endpoint::Completions)),
            ("POST /v1/responses", Some(Endpoint::Responses)),
            ("POST /v1/messages?beta=true", Some(Endpoint::Messages)),
            ("POST /v1/messages/count_tokens", None),
            ("GET /v1/responses", None),
            ("POST /v1/embeddings", None),
        ];
        for (line, expected) in cases {
            assert_eq!(
                Endpoint::of(&head(&format!("{line} HTTP/1.1\r\n\r\n"))),
                expected,
                "{line}"
            );
        }
    }

    #[test]
    fn keys_are_known_in_headers_and_target() {
        let head = head(
            "POST /v1/messages?api_key=query-secret HTTP/1.1\r\nAuthorization: Bearer sk-abcdef\r\n\r\n",
        );
        assert_eq!(secrets(&head).hide("query-secret sk-abcdef"), "[key] [key]");
    }

    #[test]
    fn a_body_beyond_its_limit_is_left_out_and_gives_its_room_back() {
        let waiting = Arc::default();
        let mut body = Collected::new(5, &waiting);
        body.take(1, Bytes::from_static(b"abc"));
        assert_eq!((waiting.load(Relaxed), body.joined()), (3, b"abc".to_vec()));
        body.take(2, Bytes::from_static(b"def"));
        body.take(3, Bytes::from_static(b"g"));
        assert_eq!((waiting.load(Relaxed), body.joined()), (0, Vec::new()));
        assert_eq!(
            (body.left_out, body.span_ns),
            (Some("longer than is recorded"), Some((1, 3)))
        );
    }
}
