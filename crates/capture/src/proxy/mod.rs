//! The proxy: takes connections, gives each one of its own to the server, and moves bytes between the two.
//!
//! One client connection is one server connection, opened as soon as the client connects. So everything that HTTP says
//! about a connection (keeping it, pipelining, `100 Continue`, upgrades, half-closing, an end that is the end of a body)
//! means between client and server what it means without a proxy, and nothing has to be made up. Bytes are forwarded as
//! they are read and looked at afterwards.
//!
//! Never buffers a body, never changes an answer, never waits for the recorder.

mod connect;
mod exchanges;
mod relay;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use driver::clock::Clock;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::tap::Tap;
pub(crate) use connect::Upstream;
pub use connect::{CONNECT_DEADLINE, UpstreamError};

/// Most client connections at once; more wait until one ends.
pub const CONNECTIONS_MAX: usize = 16_384;
/// How long requests under way may go on after the wish to stop.
pub const DRAIN_DEADLINE: Duration = Duration::from_secs(60);
/// Pause after the system had no connection for us (out of file descriptors, mostly).
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Whether and how to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    No,
    /// Take nothing new, let requests under way end.
    Drain,
    /// End now.
    AtOnce,
}

/// What every connection needs.
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    pub(crate) upstream: Upstream,
    pub(crate) tap: Tap,
}

/// Serves until told to stop, and returns when the last connection has ended.
pub(crate) async fn serve(listener: TcpListener, shared: Arc<Shared>, mut stop: watch::Receiver<Stop>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    while *stop.borrow_and_update() == Stop::No {
        tokio::select! {
            changed = stop.changed() => if changed.is_err() { break },
            Some(_) = connections.join_next() => {}
            accepted = accept(&listener, &room) => {
                let (socket, peer, place) = accepted;
                let (shared, stop) = (Arc::clone(&shared), stop.clone());
                connections.spawn(async move {
                    relay::connection(&shared, socket, peer.ip(), stop).await;
                    drop(place);
                });
            }
        }
    }
    drop(listener);
    let all_ended = async { while connections.join_next().await.is_some() {} };
    let at_once = async { stop.wait_for(|stop| *stop == Stop::AtOnce).await.is_ok() };
    tokio::select! {
        () = all_ended => {}
        _ = at_once => {}
        () = tokio::time::sleep(DRAIN_DEADLINE) => {}
    }
    // Dropped connections tell the recorder that they were stopped.
    connections.shutdown().await;
}

async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> (TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit) {
    let place = Arc::clone(room).acquire_owned().await;
    let place = place.expect("the semaphore is never closed");
    loop {
        match listener.accept().await {
            Ok((socket, peer)) => return (socket, peer, place),
            Err(error) => {
                tracing::warn!(%error, "no connection accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}
