//! Taking connections, serving each in a task of its own, and ending.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::alarm::Alarm;
use super::floor::{Shared, drive};
use super::routes;

/// How long running answers may go on after the order to end.
pub(super) const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);
/// Pause after the system had no connection for us (out of file descriptors, mostly).
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Whether and how to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    No,
    Gracefully,
    AtOnce,
}

/// Serves until told to stop. Tasks still running then end with the runtime.
pub(super) async fn serve(
    shared: Arc<Shared>,
    listener: TcpListener,
    alarm: Alarm,
    mut stop: watch::Receiver<Stop>,
) {
    let engine = tokio::spawn(drive(Arc::clone(&shared), alarm));
    let mut connections = JoinSet::new();
    let mut n_accepted = 0;
    while *stop.borrow_and_update() == Stop::No {
        tokio::select! {
            changed = stop.changed() => if changed.is_err() { break },
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) if connections.len() < shared.config.connections_max => {
                    n_accepted += 1;
                    connections.spawn(connection(Arc::clone(&shared), socket, n_accepted, stop.clone()));
                }
                Ok(_) => tracing::warn!(limit = shared.config.connections_max, "connection refused"),
                Err(error) => {
                    tracing::warn!(%error, "no connection accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
    drop(listener);
    let all_ended = async { while connections.join_next().await.is_some() {} };
    let at_once = async { stop.wait_for(|stop| *stop == Stop::AtOnce).await.is_ok() };
    tokio::select! {
        () = all_ended => {}
        _ = at_once => {}
        () = tokio::time::sleep(SHUTDOWN_GRACE) => {}
    }
    engine.abort();
}

async fn connection(shared: Arc<Shared>, socket: TcpStream, number: u64, mut stop: watch::Receiver<Stop>) {
    // Without it small events would wait for the acknowledgement of earlier ones.
    let _ = socket.set_nodelay(true);
    let service = service_fn(move |request| routes::answer(Arc::clone(&shared), number, request));
    let serving = http1::Builder::new().serve_connection(TokioIo::new(socket), service);
    let mut serving = std::pin::pin!(serving);
    let stopping = async { stop.wait_for(|stop| *stop != Stop::No).await.is_ok() };
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        _ = stopping => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        // Clients that go away and cut streams end here; the log has them.
        tracing::debug!(number, %error, "connection broken off");
    }
}
