//! Corpora: recorded agentic traffic, from its publisher's file to session trees and prompts.
//!
//! [`pin`] names the corpora that are known, [`fetch`] brings one from a Hugging Face dataset repository, [`synth`] makes
//! a small one of our own.
//!
//! Never parses a file whose digest has not matched, and never opens a socket while a run is on.

pub mod fetch;
pub mod pin;
pub mod synth;
