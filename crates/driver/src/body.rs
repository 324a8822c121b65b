//! A request body that is made while it is sent.
//!
//! The prompt's text is never held whole: a [`BodySource`] gives it slice by slice, with its exact length known
//! beforehand. Small slices are gathered, so that a prompt of thousands of blocks does not cost thousands of system calls.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::oneshot;

use crate::stamped::Marks;

/// Slices are gathered until there is this much; a larger slice goes as it is.
pub const GATHER_BYTES: usize = 32 << 10;

/// Where a request body comes from.
pub trait BodySource: Send + 'static {
    /// Its exact length in bytes; becomes `Content-Length`.
    fn content_length(&self) -> u64;
    /// Its next slice, `None` at its end. Must be quick: it runs between the first and the last byte of the request.
    fn next_chunk(&mut self) -> Option<Bytes>;
    /// Starts it over, for a request that has to go out on another connection.
    fn rewind(&mut self);
}

/// A body that is at hand as a whole.
#[derive(Clone, Debug)]
pub struct WholeBody {
    bytes: Bytes,
    sent: bool,
}

impl WholeBody {
    /// A body of these bytes.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        Self {
            bytes: bytes.into(),
            sent: false,
        }
    }
}

impl BodySource for WholeBody {
    fn content_length(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn next_chunk(&mut self) -> Option<Bytes> {
        let first = !std::mem::replace(&mut self.sent, true);
        first.then(|| self.bytes.clone())
    }

    fn rewind(&mut self) {
        self.sent = false;
    }
}

/// A source on its way through the HTTP library, which owns it meanwhile. Dropped, it comes back to who sent it.
pub(crate) struct Outflow {
    source: Option<Box<dyn BodySource>>,
    home: Option<oneshot::Sender<Box<dyn BodySource>>>,
    left: u64,
    /// Told when the last byte has been taken.
    marks: Arc<Marks>,
    gather: BytesMut,
}

/// Where the source of an [`Outflow`] comes back to.
pub(crate) type Returned = oneshot::Receiver<Box<dyn BodySource>>;

impl Outflow {
    pub(crate) fn new(source: Box<dyn BodySource>, marks: Arc<Marks>) -> (Self, Returned) {
        let (home, returned) = oneshot::channel();
        let outflow = Self {
            left: source.content_length(),
            source: Some(source),
            home: Some(home),
            marks,
            gather: BytesMut::new(),
        };
        outflow.note_end();
        (outflow, returned)
    }

    fn note_end(&self) {
        if self.left == 0 {
            self.marks.hand_over_body();
        }
    }

    fn next_piece(&mut self) -> Option<Bytes> {
        let source = self.source.as_mut()?;
        let first = source.next_chunk()?;
        if first.len() >= GATHER_BYTES {
            return Some(first);
        }
        self.gather.reserve(GATHER_BYTES);
        self.gather.extend_from_slice(&first);
        while self.gather.len() < GATHER_BYTES
            && let Some(more) = source.next_chunk()
        {
            self.gather.extend_from_slice(&more);
        }
        Some(self.gather.split().freeze())
    }
}

impl Body for Outflow {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.next_piece();
        if let Some(piece) = &piece {
            debug_assert!(piece.len() as u64 <= self.left, "a source gives what it promised");
            self.left = self.left.saturating_sub(piece.len() as u64);
            self.note_end();
        }
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

impl Drop for Outflow {
    fn drop(&mut self) {
        if let (Some(source), Some(home)) = (self.source.take(), self.home.take()) {
            // An error means that nobody wants it back.
            let _ = home.send(source);
        }
    }
}

impl fmt::Debug for Outflow {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Outflow")
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}
