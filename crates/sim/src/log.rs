//! What the server saw and did, request by request, for tests that compare it with what a client claims.
//!
//! All times are nanoseconds of the server's own clock. Bounded: see `LogConfig::entries_max`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::clock::Clock;
use crate::config::LogConfig;

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Not over yet.
    Open,
    /// Answered in full.
    Answered,
    /// Answered with this HTTP status, an error.
    Refused(u16),
    /// Broken off by a fault: cut, error object, stall or silence.
    Faulted,
    /// The client closed the connection first.
    Disconnected,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// Number of the connection it came on, from 1.
    pub connection: u64,
    /// Number among the chat and completions requests, from 1; 0 for any other.
    pub nth: u64,
    /// HTTP method.
    pub method: String,
    /// Path with query.
    pub path: String,
    /// Headers in the order of arrival, repeated names side by side; names in lower case.
    pub headers: Vec<(String, String)>,
    /// `X-Request-ID`.
    pub x_request_id: Option<String>,
    /// `X-Correlation-ID`.
    pub x_correlation_id: Option<String>,
    /// When its head was read.
    pub arrived_ns: u64,
    /// When its body was read.
    pub body_read_ns: u64,
    /// Length of its body.
    pub body_bytes: usize,
    /// SHA-256 of its body.
    pub body_sha256: [u8; 32],
    /// The body, with `LogConfig::keep_bodies`.
    pub body: Option<Bytes>,
    /// Prompt tokens by our count.
    pub prompt_tokens: usize,
    /// Prompt tokens that the prefix cache had.
    pub cached_tokens: usize,
    /// Output limit in force.
    pub max_tokens: usize,
    /// Output tokens handed to the socket, over all choices.
    pub output_tokens: usize,
    /// When the first token was handed to the socket.
    pub first_token_ns: Option<u64>,
    /// When the latest one was.
    pub last_token_ns: Option<u64>,
    /// When the engine meant the first token to be there.
    pub planned_first_token_ns: Option<u64>,
    /// Each write that carried tokens, with `LogConfig::keep_chunk_times`: when, and how many tokens.
    pub chunks: Vec<(u64, u32)>,
    /// When the last byte of the answer was handed over, or the request was given up.
    pub ended_ns: Option<u64>,
    /// What became of it.
    pub outcome: Outcome,
}

/// The bounded list of observations.
pub(crate) struct Log {
    config: LogConfig,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    kept: Vec<Observation>,
    n_dropped: u64,
}

impl Log {
    pub(crate) fn new(config: LogConfig) -> Self {
        Self {
            config,
            entries: Mutex::default(),
        }
    }

    pub(crate) fn config(&self) -> LogConfig {
        self.config
    }

    /// Takes the first lines on a request; whoever answers it writes the rest through the witness.
    pub(crate) fn open(self: &Arc<Self>, clock: Clock, observation: Observation) -> Witness {
        let mut entries = self.lock();
        let is_kept = entries.kept.len() < self.config.entries_max;
        let place = is_kept.then_some(entries.kept.len());
        if is_kept {
            entries.kept.push(observation);
        } else {
            entries.n_dropped += 1;
        }
        drop(entries);
        Witness {
            log: Arc::clone(self),
            clock,
            place,
        }
    }

    pub(crate) fn snapshot(&self) -> Vec<Observation> {
        self.lock().kept.clone()
    }

    pub(crate) fn n_dropped(&self) -> u64 {
        self.lock().n_dropped
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        // A panic while an entry is written leaves at worst a half-written entry.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes down what becomes of one request. Dropped before [`Witness::end`], it says that the client went away.
pub(crate) struct Witness {
    log: Arc<Log>,
    clock: Clock,
    /// `None` if the log was full.
    place: Option<usize>,
}

impl Witness {
    /// `tokens` output tokens were handed over; `about` adds what else is known.
    pub(crate) fn tokens(&self, tokens: u64, about: impl FnOnce(&mut Observation)) {
        let now_ns = self.clock.now_ns();
        let keep_chunks = self.log.config.keep_chunk_times;
        self.update(|seen| {
            seen.first_token_ns.get_or_insert(now_ns);
            seen.last_token_ns = Some(now_ns);
            seen.output_tokens += tokens as usize;
            if keep_chunks {
                seen.chunks.push((now_ns, tokens as u32));
            }
            about(seen);
        });
    }

    /// It is over; only the first call counts.
    pub(crate) fn end(&self, outcome: Outcome) {
        let now_ns = self.clock.now_ns();
        self.update(|seen| {
            if seen.outcome == Outcome::Open {
                seen.outcome = outcome;
                seen.ended_ns = Some(now_ns);
            }
        });
    }

    fn update(&self, change: impl FnOnce(&mut Observation)) {
        if let Some(place) = self.place
            && let Some(observation) = self.log.lock().kept.get_mut(place)
        {
            change(observation);
        }
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.end(Outcome::Disconnected);
    }
}
