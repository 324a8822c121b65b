//! One request on one connection: from its first byte to the end of the answer.
//!
//! What has come so far is kept in [`Received`], outside the exchange, so that a request that is called off or runs out of
//! time leaves as much behind as one that ends by itself.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::header::LOCATION;
use record::request::FailureKind;
use wire::answer::AnswerBody;
use wire::fold::Arrival;

use crate::body::Outflow;
use crate::causes::in_full;
use crate::clock::Clock;
use crate::conn::{Broken, Conn};
use crate::stamped::Marks;

/// How long an answer that has ended (`[DONE]`, an error) may take to end its HTTP framing too, so that its connection
/// can be used again. Both usually come together. A connection that takes longer is closed.
pub const DRAIN_DEADLINE: Duration = Duration::from_millis(50);
/// Most bytes that are read over meanwhile.
pub const DRAIN_BYTES_MAX: usize = 1 << 20;
/// Most bytes that are read of the body of an HTTP error.
pub const REFUSAL_BYTES_MAX: usize = 64 << 10;

/// What an exchange has brought so far.
#[derive(Debug, Default)]
pub(crate) struct Received {
    /// Of the connection that the request is on.
    pub(crate) marks: Option<Arc<Marks>>,
    /// When that connection stood, if it was made for this request.
    pub(crate) connected_ns: Option<u64>,
    pub(crate) status: Option<u16>,
    pub(crate) location: Option<String>,
    pub(crate) answer: AnswerBody,
    /// Body of an HTTP error.
    pub(crate) refusal: Vec<u8>,
    pub(crate) last_byte_ns: Option<u64>,
    pub(crate) end_ns: Option<u64>,
    /// The answer is over; what remains is done for the connection's sake.
    pub(crate) is_over: bool,
    pub(crate) parse_lag_max_ns: u64,
}

/// How an exchange ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The answer is over, by its framing or by its own word.
    Whole,
    /// The connection ended before the answer's framing did.
    Cut,
    /// There is no answer, or no more of it.
    Failed(FailureKind, String),
}

impl Received {
    /// An HTTP status of success came.
    pub(crate) fn is_success(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }

    /// Looks at bytes of the body that came with the last read.
    fn take(&mut self, bytes: &[u8], marks: &Marks, clock: Clock) {
        // A read must have brought the bytes; should it not have been noted, now is the best that is known.
        let at_ns = marks.last_read_ns().unwrap_or_else(|| clock.now_ns());
        self.last_byte_ns = Some(at_ns);
        if self.is_success() {
            let read = marks.reads();
            self.answer.push(bytes, Arrival { at_ns, read });
        } else {
            let room = REFUSAL_BYTES_MAX - self.refusal.len();
            self.refusal.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        let lag_ns = clock.now_ns().saturating_sub(at_ns);
        self.parse_lag_max_ns = self.parse_lag_max_ns.max(lag_ns);
    }

    /// What follows is not looked at: the answer has ended by its own word, or enough of an error has been read.
    fn has_enough(&self) -> bool {
        self.answer.has_ended() || self.refusal.len() == REFUSAL_BYTES_MAX
    }
}

/// Sends `request` and reads the answer to its end. With it comes the rest of the body, when the answer ended before its
/// framing did.
pub(crate) async fn exchange(
    conn: &mut Conn,
    request: Request<Outflow>,
    received: &mut Received,
    clock: Clock,
) -> (End, Option<Incoming>) {
    let marks = conn.marks().clone();
    let response = match conn.head(request).await {
        Ok(response) => response,
        Err(broken) => {
            received.last_byte_ns = marks.last_read_ns();
            return (without_head(&broken), None);
        }
    };
    received.status = Some(response.status().as_u16());
    received.last_byte_ns = marks.last_read_ns();
    let location = response.headers().get(LOCATION);
    received.location = location.and_then(|value| value.to_str().ok().map(str::to_owned));
    let mut body = response.into_body();
    let end = loop {
        match conn.frame(&mut body).await {
            Some(Ok(bytes)) => received.take(&bytes, &marks, clock),
            Some(Err(error)) => break without_end(&error),
            None => break End::Whole,
        }
        if received.has_enough() {
            break End::Whole;
        }
    };
    received.end_ns = marks.end_ns().or(marks.last_read_ns());
    received.is_over = matches!(end, End::Whole);
    (end, Some(body))
}

/// Reads the answer's framing to its end within [`DRAIN_DEADLINE`]; whether the connection can take another request.
pub(crate) async fn drain(conn: &mut Conn, mut body: Incoming) -> bool {
    let rest = async {
        let mut bytes = 0;
        loop {
            match conn.frame(&mut body).await {
                Some(Ok(more)) => bytes += more.len(),
                Some(Err(_)) => return false,
                None => return conn.settled().await,
            }
            if bytes > DRAIN_BYTES_MAX {
                return false;
            }
        }
    };
    tokio::time::timeout(DRAIN_DEADLINE, rest).await.unwrap_or(false)
}

/// No head of an answer came.
fn without_head(broken: &Broken) -> End {
    match broken {
        Broken::Http(error) if error.is_parse() => End::Failed(
            FailureKind::Malformed,
            format!("the answer is no HTTP/1.1: {}", in_full(error)),
        ),
        Broken::Http(error) => End::Failed(
            FailureKind::BrokenStream,
            format!("the connection broke before the answer came: {}", in_full(error)),
        ),
        Broken::Closed => End::Failed(
            FailureKind::BrokenStream,
            String::from("the connection was closed before the answer came"),
        ),
    }
}

/// The body broke off.
fn without_end(error: &hyper::Error) -> End {
    let io = error
        .source()
        .and_then(|source| source.downcast_ref::<io::Error>());
    match io.map(io::Error::kind) {
        Some(io::ErrorKind::UnexpectedEof) => End::Cut,
        Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => End::Failed(
            FailureKind::Malformed,
            format!("the answer's HTTP framing is wrong: {}", in_full(error)),
        ),
        _ if error.is_incomplete_message() => End::Cut,
        _ => End::Failed(
            FailureKind::BrokenStream,
            format!("the connection broke while the answer came: {}", in_full(error)),
        ),
    }
}
