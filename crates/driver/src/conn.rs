//! One HTTP/1.1 connection, driven by whoever uses it.
//!
//! The HTTP library's connection is a future of its own. It is polled in the task of the request that is on it, right
//! before the answer is looked at, so that no other task stands between a socket read and its parsing, and a frame
//! can be matched with the read that brought it: the library holds at most one frame that has not been taken.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{Connection, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::body::Outflow;
use crate::stamped::Marks;

/// A connection that carries one request at a time.
pub(crate) struct Conn {
    sender: SendRequest<Outflow>,
    driver: Connection<TokioIo<Transport>, Outflow>,
    marks: Arc<Marks>,
    over: bool,
}

/// The connection ended and left the request without an answer.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The HTTP library's error.
    Http(hyper::Error),
    /// The connection was over before it took the request.
    Closed,
}

impl Conn {
    pub(crate) fn new(
        sender: SendRequest<Outflow>,
        driver: Connection<TokioIo<Transport>, Outflow>,
        marks: Arc<Marks>,
    ) -> Self {
        Self {
            sender,
            driver,
            marks,
            over: false,
        }
    }

    pub(crate) fn marks(&self) -> &Arc<Marks> {
        &self.marks
    }

    /// Sends the request and waits for the answer's head.
    pub(crate) async fn head(&mut self, request: Request<Outflow>) -> Result<Response<Incoming>, Broken> {
        let mut head = std::pin::pin!(self.sender.send_request(request));
        let (driver, over) = (&mut self.driver, &mut self.over);
        poll_fn(|context| {
            drive(driver, over, context);
            match head.as_mut().poll(context) {
                Poll::Ready(head) => Poll::Ready(head.map_err(Broken::Http)),
                Poll::Pending if *over => Poll::Ready(Err(Broken::Closed)),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    /// The next bytes of the answer's body; they came with the last read of [`Self::marks`]. `None` at its end.
    pub(crate) async fn frame(&mut self, body: &mut Incoming) -> Option<Result<Bytes, hyper::Error>> {
        poll_fn(|context| {
            loop {
                drive(&mut self.driver, &mut self.over, context);
                return match Pin::new(&mut *body).poll_frame(context) {
                    Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                        Ok(bytes) => Poll::Ready(Some(Ok(bytes))),
                        // Trailers say nothing here.
                        Err(_trailers) => continue,
                    },
                    Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error))),
                    Poll::Ready(None) => Poll::Ready(None),
                    Poll::Pending => Poll::Pending,
                };
            }
        })
        .await
    }

    /// Waits, after the end of a body, until the connection can take another request; `false` when it never will.
    pub(crate) async fn settled(&mut self) -> bool {
        poll_fn(|context| {
            drive(&mut self.driver, &mut self.over, context);
            if self.over {
                return Poll::Ready(false);
            }
            self.sender.poll_ready(context).map(|ready| ready.is_ok())
        })
        .await
    }

    /// Whether a kept connection still stands, as far as can be seen without waiting.
    pub(crate) async fn is_alive(&mut self) -> bool {
        poll_fn(|context| {
            drive(&mut self.driver, &mut self.over, context);
            Poll::Ready(!self.over && !self.sender.is_closed())
        })
        .await
    }
}

fn drive(driver: &mut Connection<TokioIo<Transport>, Outflow>, over: &mut bool, context: &mut Context<'_>) {
    // Its error is also given to the request or body that waits, which is where it is looked at.
    *over = *over || Pin::new(driver).poll(context).is_ready();
}

/// The bytes' way to the server: a [`crate::stamped::Stamped`] socket, with TLS above it or without.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

pub(crate) type Transport = Box<dyn ByteStream>;
