//! What one request left behind, the files of a run that hold it, and every statistic computed from them.
//!
//! A [`request::RequestRecord`] is what the driver knows about a request. A [`folder::Recorder`] appends it to the run's
//! folder the moment the request ends: one row in `requests.jsonl` ([`schema`]), one frame of chunk stamps in `chunks.bin`
//! ([`chunks`]); what a run only learns on the way stands in `marks.jsonl` ([`marks`]), what it knew before in `run.json`
//! ([`header`]). A [`folder::RunReader`] gives them back, also from a run that was killed, and [`summary::Summary`] is
//! computed from that reader alone, with the definitions of [`timeline`] and [`stats`]. What the server said about itself
//! meanwhile stands in `server_metrics.jsonl` ([`server_metrics`]), and what a scenario claims of it is put beside that ([`stated`]).
//!
//! Never averages averages, never puts a zero where a value is missing, never reads a clock or opens a socket. Only
//! [`folder`], [`append`], [`header`] and [`server_metrics`] touch files.

pub mod append;
pub mod chunks;
mod error;
pub mod folder;
pub mod header;
pub mod lines;
pub mod marks;
pub mod request;
pub mod schema;
pub mod server_metrics;
pub mod stated;
pub mod stats;
pub mod summary;
pub mod timeline;
pub mod validity;
pub mod words;

pub use error::RecordError;
