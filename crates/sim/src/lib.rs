//! A simulated vLLM: bounded batch, chunked prefill, block prefix cache, answers shaped as the real ones, seeded.
//!
//! [`engine`] decides when each token comes, over [`prefix_cache`]'s blocks; [`tokens`] makes tokens of messages without a
//! tokenizer; [`Server`] puts both behind a socket, with vLLM's answers, metrics and errors; [`faults`] makes it misbehave on
//! demand, and its log says what it saw. Serves the demo, and tests of everything that needs a server.
//!
//! Never used to claim anything about a real server.

mod answer;
pub mod clock;
pub mod config;
pub mod engine;
pub mod faults;
pub mod log;
mod metrics;
mod mix;
pub mod prefix_cache;
pub mod refusal;
mod request;
mod serve;
pub mod tokens;

pub use config::Config;
pub use faults::{CutEnding, Fault, FaultKind};
pub use log::{Observation, Outcome};
pub use serve::Server;

/// Why a server did not start or stop.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A value that makes no server.
    #[error("{field} of the simulated server must be {expected}")]
    Config {
        /// The field of [`Config`] or one of its parts.
        field: &'static str,
        /// What would be right.
        expected: &'static str,
    },
    /// The address cannot be listened on.
    #[error("the simulated server cannot listen on {address}")]
    Listen {
        /// The address wanted.
        address: std::net::SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// The server's thread, runtime or timer could not be made.
    #[error("the simulated server cannot have a thread, a runtime or a timer")]
    Start {
        /// What the system says.
        source: std::io::Error,
    },
}

/// This crate's results.
pub type Result<T> = std::result::Result<T, Error>;
