//! From a recorded corpus to what a run sends: prompts built from block ids.
//!
//! Never opens a socket while a run is on, never holds the text of prompts.

pub mod prompt;
