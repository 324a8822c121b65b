//! A run's records in the file formats of other benchmark tools, so that whatever reads those can read a run of ours.
//!
//! [`aiperf`] writes the artifact files of aiperf 0.12.0, [`vllm`] the result file of `vllm bench serve`. Each figure bears the
//! other tool's name and follows that tool's definition, also where ours differs; our own words are in `summary.json`.
//! What those tools lose (a request that was cut off at the end, say) is lost in these files only.
//!
//! Everything is computed from a run's folder, so the files can be made again at any time. Never reads a clock, opens a socket or
//! changes a file of the run.

pub mod aiperf;
mod error;
mod figures;
mod folder;
mod gaps;
mod sweep;
pub mod vllm;

pub use error::ExportError;
pub use figures::{Figures, Quantity};
