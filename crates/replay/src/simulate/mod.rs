//! A whole run in virtual time: the state machine against a stated service model.
//!
//! Answers come exactly when the model says, messages take no time, timers are exact. What is written down is what
//! aiperf's own event log holds (`aiperf-replay` §12).

mod event_loop;
mod heap;

use crate::machine::{Mark, Phase, Replay, Send};
use crate::{Plan, Seconds, Settings};
use event_loop::EventLoop;
use std::sync::Arc;
use tree::{Trace, Turn};

/// How long a request takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Service {
    /// Profiling request number *n* takes its recorded time, missing 0, plus 0.001 · (37·*n* mod 101) s.
    Recorded,
    /// Every profiling request takes this long.
    Fixed(Seconds),
    /// Every request, warm-up too, takes `ttft` + (output tokens − 1) · `itl`.
    Tokens {
        /// Time to the first token.
        ttft: Seconds,
        /// Time between two tokens.
        itl: Seconds,
    },
}

/// The server of a simulation.
#[derive(Clone, Debug)]
pub struct ServiceModel {
    /// For requests that nothing else names.
    pub service: Service,
    /// For conversations whose id matches a pattern; the first match counts.
    pub service_for: Vec<(Glob, Service)>,
    /// What a warm-up request takes, but under [`Service::Tokens`].
    pub warm_s: Seconds,
    /// Profiling requests that are answered with an error at their time; the first match counts.
    pub failures: Vec<Failure>,
}

/// Requests that fail.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Conversations, by id.
    pub conversation: Glob,
    /// The turn; any when `None`.
    pub turn: Option<usize>,
    /// The error's text.
    pub text: String,
    /// The text says that the prompt does not fit the context window.
    pub is_overflow: bool,
}

/// A pattern for conversation ids in which `*` stands for any text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(pub String);

impl Glob {
    /// Whether the whole of `text` matches.
    pub fn matches(&self, text: &str) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = text.strip_prefix(first) else {
            return false;
        };
        let Some(last) = parts.next_back() else {
            return rest.is_empty();
        };
        for part in parts {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.ends_with(last)
    }
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq)]
pub enum Logged {
    /// A request was sent.
    Sent(Send),
    /// A request was answered.
    Returned {
        /// When.
        at: Seconds,
        /// Which.
        sent: Send,
        /// The error it was answered with.
        error: Option<String>,
    },
    /// A request was cancelled.
    Cancelled {
        /// When.
        at: Seconds,
        /// Which.
        sent: Send,
    },
    /// A step of the run.
    Mark(Mark),
}

/// Runs `settings` over `traces` to the end.
pub fn simulate(
    traces: Arc<[Arc<Trace>]>,
    settings: Settings,
    plan: Plan,
    model: &ServiceModel,
) -> Vec<Logged> {
    let replay = Replay::new(traces.clone(), settings, plan).shown();
    let server = Server { traces, model };
    EventLoop::new(replay, server).run()
}

/// The simulated server.
struct Server<'a> {
    traces: Arc<[Arc<Trace>]>,
    model: &'a ServiceModel,
}

impl Server<'_> {
    fn turn(&self, sent: &Send) -> (&str, &Turn) {
        let conversation = &self.traces[sent.trace].conversations[sent.turn.conversation];
        (&conversation.id, &conversation.turns[sent.turn.turn])
    }

    fn duration(&self, sent: &Send) -> Seconds {
        let (id, turn) = self.turn(sent);
        let named = self.model.service_for.iter().find(|(glob, _)| glob.matches(id));
        match named.map_or(self.model.service, |(_, service)| *service) {
            Service::Tokens { ttft, itl } => {
                let tokens = sent.max_tokens_override.unwrap_or(turn.max_tokens);
                ttft + tokens.saturating_sub(1) as f64 * itl
            }
            _ if sent.phase == Phase::Warmup => self.model.warm_s,
            Service::Fixed(seconds) => seconds,
            Service::Recorded => {
                turn.api_time_ms.unwrap_or(0.0) / 1000.0 + 0.001 * ((sent.sequence * 37) % 101) as f64
            }
        }
    }

    fn failure(&self, sent: &Send) -> Option<&Failure> {
        let (id, _) = self.turn(sent);
        let hits = |failure: &&Failure| {
            failure.turn.is_none_or(|turn| turn == sent.turn.turn) && failure.conversation.matches(id)
        };
        self.model
            .failures
            .iter()
            .find(hits)
            .filter(|_| sent.phase == Phase::Profiling)
    }
}
