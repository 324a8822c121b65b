//! Sockets and the clock: carries out what `replay` decides, and measures it.
//!
//! From the outside in: [`endpoint`] knows where a server's paths are, [`tls`] and [`server`] whom to trust and what is
//! served there; [`client`] sends one request and gives back its record. Below it, [`body`] streams a prompt that is
//! never held whole, a connection is driven in the task that uses it (no task of its own stands between socket and
//! stamp), and [`clock`] is the only reader of time. [`cancel`] calls a request off and says why; [`descriptors`] asks
//! for enough files before a run needs them; [`scrape`] reads the server's metrics beside it; [`secrets`] keeps
//! keys out of what a server's words become.
//!
//! Never decides what is sent next, never parses a scenario, writes no file. Nothing is retried, with one exception:
//! a kept connection that turns out to be closed before a byte of the answer came is replaced once (see [`client`]).

pub mod body;
pub mod cancel;
mod causes;
pub mod client;
pub mod clock;
mod conn;
pub mod connect;
pub mod descriptors;
pub mod endpoint;
mod exchange;
pub mod key;
mod outcome;
mod pool;
pub mod prompts;
pub mod run;
pub mod scrape;
pub mod secrets;
pub mod server;
mod stamped;
pub mod tls;

pub use exchange::{DRAIN_BYTES_MAX, DRAIN_DEADLINE, REFUSAL_BYTES_MAX};
pub use pool::{IDLE_AGE_MAX, IDLE_CONNECTIONS_MAX};
