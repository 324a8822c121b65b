//! A body in chunks, whatever it is made of: measured before it is sent, gathered while it is.
//!
//! What a body consists of is a [`Walk`], which puts one small piece at a time. [`Chunked`] walks it twice, once counting
//! and once gathering; both walks are the same code, so the length is the one of the bytes. Never holds more than one
//! chunk and what the last piece added to it.

use bytes::{Bytes, BytesMut};

use super::escaped::{Length, Sink};

/// Most bytes that a body gives at once.
pub const CHUNK_BYTES: usize = 64 * 1024;

/// Room beyond a chunk for what its last piece adds; more is allocated where a piece needs it.
const CHUNK_SLACK_BYTES: usize = 2 * 1024;

/// Bytes that are made piece by piece, the same ones each time.
pub(super) trait Walk {
    /// How far a walk has come; the default is its beginning.
    type Cursor: Default;

    /// Puts the next piece, which should be small against a chunk; false when it was the last one.
    fn step(&self, cursor: &mut Self::Cursor, sink: &mut impl Sink) -> bool;
}

/// A walk's bytes, given out chunk by chunk.
pub(super) struct Chunked<W: Walk> {
    walk: W,
    length: u64,
    cursor: W::Cursor,
    /// The last piece has been put.
    done: bool,
    /// Gathered and not yet given out.
    buffer: BytesMut,
}

impl<W: Walk> Chunked<W> {
    /// Walks once to learn the length.
    pub(super) fn new(walk: W) -> Self {
        let mut cursor = W::Cursor::default();
        let mut length = Length(0);
        while walk.step(&mut cursor, &mut length) {}
        Self {
            walk,
            length: length.0,
            cursor: W::Cursor::default(),
            done: false,
            buffer: BytesMut::new(),
        }
    }

    /// What is walked.
    pub(super) fn walk(&self) -> &W {
        &self.walk
    }

    /// Bytes of the whole.
    pub(super) fn content_length(&self) -> u64 {
        self.length
    }

    /// The next bytes, at most [`CHUNK_BYTES`] of them; `None` after the last.
    pub(super) fn next_chunk(&mut self) -> Option<Bytes> {
        if self.buffer.len() < CHUNK_BYTES && !self.done {
            self.buffer
                .reserve(CHUNK_BYTES + CHUNK_SLACK_BYTES - self.buffer.len());
        }
        while self.buffer.len() < CHUNK_BYTES && !self.done {
            self.done = !self.walk.step(&mut self.cursor, &mut self.buffer);
        }
        let chunk = self.buffer.split_to(self.buffer.len().min(CHUNK_BYTES));
        (!chunk.is_empty()).then(|| chunk.freeze())
    }

    /// Starts over: the next chunk is the first again.
    pub(super) fn rewind(&mut self) {
        self.cursor = W::Cursor::default();
        self.done = false;
        self.buffer.clear();
    }
}
