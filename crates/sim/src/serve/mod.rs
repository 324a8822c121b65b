//! The socket side: one thread with a runtime of its own, so that neither the caller's load nor its runtime delays a token.
//!
//! `accept` takes connections, `routes` answers requests (`generate` those for tokens), `floor` holds the engine that all of them share and the task that
//! drives it, `feed` hands tokens from there to one answer, `stream` is the body of a streamed answer, `alarm` waits exactly.

mod accept;
mod alarm;
mod feed;
mod floor;
mod generate;
mod routes;
mod stream;

use std::io;
use std::net::{self, SocketAddr};
use std::sync::{Arc, PoisonError};
use std::thread;

use tokio::net::TcpListener;
use tokio::runtime::{self, Runtime};
use tokio::sync::{oneshot, watch};

use crate::clock::Clock;
use crate::config::Config;
use crate::faults::Fault;
use crate::log::Observation;
use crate::{Error, Result};
use accept::Stop;
use alarm::Alarm;
use floor::Shared;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;

/// A simulated server that runs until [`Server::shutdown`], or until it is dropped, which stops it on the spot.
pub struct Server {
    addr: SocketAddr,
    shared: Arc<Shared>,
    stop: watch::Sender<Stop>,
    ended: Option<oneshot::Receiver<()>>,
}

impl Server {
    /// Checks `config`, listens and serves. Works inside and outside of an async runtime.
    ///
    /// # Panics
    /// If the server's thread dies before it has reported; nothing on its way there can fail without a report.
    pub fn start(config: Config) -> Result<Self> {
        config.check()?;
        let address = config.listen;
        let failed = |source| Error::Listen { address, source };
        let listener = listen(address).map_err(failed)?;
        let addr = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared::new(config, Clock::start()));
        let (stop, stopped) = watch::channel(Stop::No);
        let (end, ended) = oneshot::channel();
        let (report, started) = std::sync::mpsc::sync_channel(1);
        let own = Arc::clone(&shared);
        let run = move || {
            match prepare(listener) {
                Ok((runtime, listener, alarm)) => {
                    let _ = report.send(Ok(()));
                    runtime.block_on(accept::serve(own, listener, alarm, stopped));
                }
                Err(source) => {
                    let _ = report.send(Err(source));
                }
            }
            // Nobody listens when the server was dropped instead of shut down.
            let _ = end.send(());
        };
        let without = |source| Error::Start { source };
        thread::Builder::new()
            .name("sim".to_owned())
            .spawn(run)
            .map_err(without)?;
        let prepared = started
            .recv()
            .expect("the thread reports before it does anything else");
        prepared.map_err(without)?;
        Ok(Self {
            addr,
            shared,
            stop,
            ended: Some(ended),
        })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Base URL, without `/v1`.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// The clock of all stamps in the log.
    pub fn clock(&self) -> Clock {
        self.shared.clock
    }

    /// What it has seen so far, in order of arrival of the whole request; one whose body never came whole is not in it.
    pub fn log(&self) -> Vec<Observation> {
        self.shared.log.snapshot()
    }

    /// Requests that the log had no room for.
    pub fn log_dropped(&self) -> u64 {
        self.shared.log.n_dropped()
    }

    /// Sequences in the batch and in the queue.
    pub fn load(&self) -> (usize, usize) {
        self.shared.load()
    }

    /// The text that `/metrics` would answer now.
    pub fn metrics(&self) -> String {
        self.shared.metrics()
    }

    /// Misbehaves like this from the next request on.
    pub fn set_faults(&self, faults: Vec<Fault>) {
        *self.shared.faults.lock().unwrap_or_else(PoisonError::into_inner) = faults;
    }

    /// Takes no more connections, lets running answers end for up to [`Self::SHUTDOWN_GRACE`], then closes everything.
    pub async fn shutdown(mut self) {
        self.stop.send_replace(Stop::Gracefully);
        if let Some(ended) = self.ended.take() {
            // An error says that the thread is gone, which is what we wait for.
            let _ = ended.await;
        }
    }

    /// How long [`Self::shutdown`] waits for running answers.
    pub const SHUTDOWN_GRACE: std::time::Duration = accept::SHUTDOWN_GRACE;
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.send_replace(Stop::AtOnce);
    }
}

fn listen(address: SocketAddr) -> io::Result<net::TcpListener> {
    let listener = net::TcpListener::bind(address)?;
    // The standard library's own backlog of 128 makes a burst of connections wait for a second SYN.
    rustix::net::listen(&listener, BACKLOG)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// What needs a runtime, made on the thread that runs it.
fn prepare(listener: net::TcpListener) -> io::Result<(Runtime, TcpListener, Alarm)> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let inside = runtime.enter();
    let listener = TcpListener::from_std(listener)?;
    let alarm = Alarm::new()?;
    drop(inside);
    Ok((runtime, listener, alarm))
}
