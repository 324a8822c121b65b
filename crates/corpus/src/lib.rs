//! Recorded corpora: fetched, verified, read, selected and reconstructed into session trees; and prompts made of them.
//!
//! [`pin`] names the corpora that are known, [`fetch`] brings one from a Hugging Face dataset repository, [`synth`] makes
//! a small one of our own. A [`Corpus`] is loaded from one local file: [`verify`] hashes it before anything is parsed,
//! [`formats`] turn the bytes of a row into a checked row, [`select`] keeps the traces that fit, [`reconstruct`] makes
//! session trees of them, [`dump`] writes those trees down for comparison, and [`prompt`] makes request bodies of their turns
//! while they are sent; [`recorded`] says what the prompts of a trace file consist of. [`convert`] makes files of crate `trace` of Weka traces and back, [`survey`] says what a corpus holds.
//!
//! Never parses a file whose digest has not matched, never opens a socket while a run is on, and never holds prompt text of
//! a whole corpus in memory.

pub mod convert;
pub mod draws;
pub mod dump;
mod error;
pub mod fetch;
pub mod formats;
mod load;
pub mod pin;
pub mod prompt;
pub mod reconstruct;
pub mod recorded;
mod rows;
pub mod select;
pub mod survey;
pub mod synth;
pub mod verify;
mod warning;

pub use error::Error;
pub use load::{Corpus, LoadOptions, Progress, Stage};
pub use warning::{HashIdMismatch, Warning, WarningKind};
