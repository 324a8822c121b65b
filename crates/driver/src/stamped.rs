//! A socket that notes when bytes pass through it.
//!
//! The stamp is taken inside the poll that moved the bytes, before anything above has seen them: below TLS and below the
//! HTTP framing, whose queues would otherwise be counted as the server's time.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::clock::Clock;

/// No such thing happened yet. A stamp of the anchor itself cannot be: connections are made later.
const NEVER: u64 = 0;

/// What passed through a socket since [`Marks::reset`]. Written and read by the one task that owns the connection, and by no
/// other: who gives a connection away keeps [`Marks::copy`]. The atomics are for sharing it with the HTTP library's half.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    first_write_ns: AtomicU64,
    last_write_ns: AtomicU64,
    /// The HTTP library has the whole body; some of it may still be in its buffer.
    body_handed_over: AtomicBool,
    body_written_ns: AtomicU64,
    first_read_ns: AtomicU64,
    last_read_ns: AtomicU64,
    /// Reads that brought bytes.
    reads: AtomicU64,
    /// When a read found the end of the connection.
    end_ns: AtomicU64,
}

impl Marks {
    /// Forgets everything, for the next request on the connection.
    pub(crate) fn reset(&self) {
        for mark in [
            &self.first_write_ns,
            &self.last_write_ns,
            &self.body_written_ns,
            &self.first_read_ns,
            &self.last_read_ns,
            &self.reads,
            &self.end_ns,
        ] {
            mark.store(NEVER, Relaxed);
        }
        self.body_handed_over.store(false, Relaxed);
    }

    /// What is marked so far, which the connection's next request will not change.
    pub(crate) fn copy(&self) -> Self {
        let same = |mark: &AtomicU64| AtomicU64::new(mark.load(Relaxed));
        Self {
            first_write_ns: same(&self.first_write_ns),
            last_write_ns: same(&self.last_write_ns),
            body_handed_over: AtomicBool::new(self.body_handed_over.load(Relaxed)),
            body_written_ns: same(&self.body_written_ns),
            first_read_ns: same(&self.first_read_ns),
            last_read_ns: same(&self.last_read_ns),
            reads: same(&self.reads),
            end_ns: same(&self.end_ns),
        }
    }

    /// The last of the body has been handed to the HTTP library.
    pub(crate) fn hand_over_body(&self) {
        self.body_handed_over.store(true, Relaxed);
    }

    pub(crate) fn first_write_ns(&self) -> Option<u64> {
        stamp(&self.first_write_ns)
    }

    /// When the last byte of the body was written.
    pub(crate) fn body_written_ns(&self) -> Option<u64> {
        stamp(&self.body_written_ns)
    }

    pub(crate) fn first_read_ns(&self) -> Option<u64> {
        stamp(&self.first_read_ns)
    }

    pub(crate) fn last_read_ns(&self) -> Option<u64> {
        stamp(&self.last_read_ns)
    }

    pub(crate) fn reads(&self) -> u64 {
        self.reads.load(Relaxed)
    }

    pub(crate) fn end_ns(&self) -> Option<u64> {
        stamp(&self.end_ns)
    }

    fn wrote(&self, now_ns: u64) {
        if self.first_write_ns.load(Relaxed) == NEVER {
            self.first_write_ns.store(now_ns, Relaxed);
        }
        self.last_write_ns.store(now_ns, Relaxed);
    }

    /// Everything above has passed on what it held.
    fn flushed(&self) {
        if self.body_handed_over.load(Relaxed) && self.body_written_ns.load(Relaxed) == NEVER {
            self.body_written_ns
                .store(self.last_write_ns.load(Relaxed), Relaxed);
        }
    }

    fn brought(&self, bytes: usize, now_ns: u64) {
        if bytes == 0 {
            self.end_ns.store(now_ns, Relaxed);
            return;
        }
        let reads = self.reads.load(Relaxed);
        if reads == 0 {
            self.first_read_ns.store(now_ns, Relaxed);
        }
        self.last_read_ns.store(now_ns, Relaxed);
        self.reads.store(reads + 1, Relaxed);
    }
}

fn stamp(mark: &AtomicU64) -> Option<u64> {
    Some(mark.load(Relaxed)).filter(|ns| *ns != NEVER)
}

/// A TCP connection that keeps [`Marks`].
#[derive(Debug)]
pub(crate) struct Stamped {
    socket: TcpStream,
    clock: Clock,
    marks: Arc<Marks>,
}

impl Stamped {
    pub(crate) fn new(socket: TcpStream, clock: Clock, marks: Arc<Marks>) -> Self {
        Self { socket, clock, marks }
    }

    /// The stamp of a write is taken before it: the kernel may have sent the bytes by the time it returns.
    fn write_with(
        &mut self,
        write: impl FnOnce(Pin<&mut TcpStream>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let now_ns = self.clock.now_ns();
        let written = ready!(write(Pin::new(&mut self.socket)))?;
        if written > 0 {
            self.marks.wrote(now_ns);
        }
        Poll::Ready(Ok(written))
    }
}

impl AsyncRead for Stamped {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.socket).poll_read(context, buffer))?;
        let now_ns = self.clock.now_ns();
        self.marks.brought(buffer.filled().len() - before, now_ns);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stamped {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write_with(|socket| socket.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write_with(|socket| socket.poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.socket).poll_flush(context))?;
        self.marks.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
