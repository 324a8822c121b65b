//! A recording proxy between any OpenAI-style client and a server.
//!
//! [`Capture::start`] listens, forwards every byte unchanged ([`proxy`]), and leaves a trace that can be replayed. What
//! passes is copied aside ([`tap`]) for a recorder on a thread of its own, which reads prompts ([`prompt`]) and answers
//! ([`answer`]), says whose a request is ([`session`]), turns prompts into block ids ([`blocks`]) and appends rows
//! ([`rows`], [`files`]). What can be derived is derived when a trace is full or the capture stops ([`finish`], [`weka`]).
//!
//! Never delays, changes or buffers an answer; never writes a key; never writes text of a prompt or an answer unless asked
//! to ([`Options::keep_text`]).

mod answer;
mod blocks;
mod error;
mod files;
mod finish;
mod http1;
mod prompt;
mod proxy;
mod recorder;
mod responses;
mod rows;
mod session;
mod tap;
mod weka;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;

use driver::clock::Clock;
use driver::secrets::SECRET_HEADERS;
use driver::tls::TlsOptions;
use tokio::net::TcpListener;
use tokio::sync::watch;

pub use blocks::BLOCK_TOKENS;
pub use error::CaptureError;
pub use files::{Rotation, TracePaths};
pub use finish::Finished;
pub use proxy::{CONNECT_DEADLINE, CONNECTIONS_MAX, DRAIN_DEADLINE, UpstreamError};
pub use responses::SAID_BYTES_MAX;
pub use session::{LISTS_MAX, OPEN_TURN_NS_MAX, SESSIONS_MAX};
pub use tap::{ANSWER_BYTES_MAX, PROMPT_BYTES_MAX, WAITING_BYTES_MAX, WAITING_NOTES_MAX};

use proxy::{Shared, Stop, Upstream};
use recorder::Recorder;
use tap::{SessionHeaders, Tap};

/// Size at which a trace is finished unless told otherwise: 256 MiB of rows and prompt structure.
pub const ROTATE_BYTES: u64 = 256 << 20;

/// A capture, as wanted.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The server's base URL, with `/v1` or without.
    pub upstream: String,
    /// Folder of the traces; made when it is not there.
    pub out: PathBuf,
    /// Header that names a request's session.
    pub session_header: Option<String>,
    /// Header that names the session that started a request's session.
    pub parent_header: Option<String>,
    /// Also write prompts and answers as text.
    pub keep_text: bool,
    /// Also write when each content chunk came.
    pub chunk_times: bool,
    /// When a trace is finished and the next begun.
    pub rotation: Rotation,
    /// Whom to trust, where the server speaks TLS.
    pub trust: TlsOptions,
}

/// What a capture leaves behind.
#[derive(Debug)]
pub struct Outcome {
    /// The traces, in order; those of an earlier capture that was killed come first.
    pub traces: Vec<Finished>,
    /// Notes that the recorder had no room for: rows that may be missing.
    pub lost_notes: u64,
}

/// A capture that runs until it is stopped.
pub struct Capture {
    addr: SocketAddr,
    stop: watch::Sender<Stop>,
    serving: tokio::task::JoinHandle<()>,
    recorder: JoinHandle<Result<Vec<Finished>, CaptureError>>,
    lost: Arc<AtomicU64>,
    recovered: Vec<Finished>,
}

impl Capture {
    /// Checks the options, begins a trace and listens. To be called inside of a runtime.
    ///
    /// # Errors
    /// When an option is unusable, the address is taken, or the folder cannot be written. Nothing has been forwarded then.
    pub async fn start(options: &Options, clock: Clock) -> Result<Self, CaptureError> {
        let headers = SessionHeaders {
            session: header_name(options.session_header.as_deref())?,
            parent: header_name(options.parent_header.as_deref())?,
        };
        let upstream = Upstream::new(&options.upstream, &options.trust)?;
        let about = finish::About {
            created_at: rfc3339(clock),
            upstream: upstream.host_header.clone(),
        };
        let on_request = files::OnRequest {
            text: options.keep_text,
            chunk_times: options.chunk_times,
        };
        let (files, recovered) = files::Files::begin(&options.out, on_request, about, clock.now_ns())?;
        let address = options.listen;
        let failed = |source| CaptureError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let addr = listener.local_addr().map_err(failed)?;
        let (notes, noted) = sync_channel(tap::WAITING_NOTES_MAX);
        let recorder = Recorder::new(clock, files, options.rotation, options.keep_text);
        let recorder = std::thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || recorder.run(&noted))
            .map_err(|error| CaptureError::Recorder(error.to_string()))?;
        let lost = Arc::new(AtomicU64::new(0));
        let shared = Arc::new(Shared {
            clock,
            upstream,
            tap: Tap::new(notes, headers, Arc::clone(&lost)),
        });
        let (stop, stopped) = watch::channel(Stop::No);
        let serving = tokio::spawn(proxy::serve(listener, shared, stopped));
        Ok(Self {
            addr,
            stop,
            serving,
            recorder,
            lost,
            recovered,
        })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Base URL for clients, without `/v1`.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Traces of an earlier capture into the same folder that was killed, finished now.
    pub fn recovered(&self) -> &[Finished] {
        &self.recovered
    }

    /// Takes nothing new, lets requests under way end for up to [`DRAIN_DEADLINE`] or until `at_once` is ready, and finishes
    /// the files.
    ///
    /// # Errors
    /// When a file could not be written, now or before.
    pub async fn stop(self, at_once: impl Future<Output = ()>) -> Result<Outcome, CaptureError> {
        self.stop.send_replace(Stop::Drain);
        let mut serving = self.serving;
        let joined = tokio::select! {
            joined = &mut serving => joined,
            () = at_once => {
                self.stop.send_replace(Stop::AtOnce);
                serving.await
            }
        };
        joined.map_err(|error| CaptureError::Recorder(error.to_string()))?;
        // With the proxy gone, the recorder comes to the end of its queue.
        let finished = tokio::task::spawn_blocking(move || self.recorder.join()).await;
        let finished = finished
            .map_err(|error| CaptureError::Recorder(error.to_string()))?
            .map_err(|_| CaptureError::Recorder("it panicked".to_owned()))??;
        let mut traces = self.recovered;
        traces.extend(finished);
        Ok(Outcome {
            traces,
            lost_notes: self.lost.load(Relaxed),
        })
    }
}

fn header_name(name: Option<&str>) -> Result<Option<String>, CaptureError> {
    let name = name.map(|name| name.trim().to_ascii_lowercase());
    match name {
        Some(name) if SECRET_HEADERS.contains(&name.as_str()) => Err(CaptureError::SecretHeader { name }),
        name => Ok(name),
    }
}

fn rfc3339(clock: Clock) -> String {
    let seconds = i64::try_from(clock.wall_anchor_ns() / 1_000_000_000).unwrap_or_default();
    jiff::Timestamp::from_second(seconds).map_or_else(|_| String::new(), |time| time.to_string())
}
