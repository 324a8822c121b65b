//! A run's records to something a person reads.
//!
//! [`rebuild`] computes a run's summary from its record files, writes `summary.json` and `summary.txt` beside them, and works the same
//! for a run that was killed. [`text::render`] is what the terminal and `summary.txt` show.
//!
//! Never computes a statistic of its own: `record` does. Never prints, never needs the network.

mod rebuild;
pub mod text;

pub use rebuild::{ReportError, rebuild};
