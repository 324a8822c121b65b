//! Weka traces into the files of crate `trace`, and back; and prompts of session trees as pieces that block ids can be
//! made of.
//!
//! Both ways are rules of ours: what a Weka trace says and a data CSV cannot hold is counted as lost, and the other way
//! round. Request for request both hold start, duration, lengths, model and which blocks are equal.

mod from_weka;
mod pieces;
mod to_weka;

pub use from_weka::from_weka;
pub use pieces::pieces;
pub use to_weka::to_weka;

/// Why a conversion stopped.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// The Weka file is wrong.
    #[error(transparent)]
    Corpus(#[from] crate::Error),
    /// A trace file is wrong, or cannot be read or written.
    #[error(transparent)]
    Trace(#[from] trace::TraceError),
}
