//! Scenario, catalog and Sweeper documents: read with the place of every value, checked in full, resolved.
//!
//! [`read`] turns text into a [`Document`] and all its [`Problem`]s; [`resolve`] puts defaults in place and
//! follows references; [`render`] shows problems. A document is read in two stages: its structure (keys and types, [`schema`] says which), and
//! then its meaning, one module for each arm. Everything after this crate works with checked values.
//!
//! Never opens a socket, never prints, never stops at the first problem; only [`catalog`] opens files.

#![forbid(unsafe_code)]

pub mod catalog;
mod check;
mod document;
mod effective;
mod grammar;
pub mod loaders;
pub mod problem;
pub mod render;
pub mod replay;
mod resolve;
pub mod scenario;
pub mod schema;
pub mod shape;
pub mod sweeper;
pub mod terms;
pub mod trace;
mod view;
pub mod vocabulary;
mod yaml;

pub use document::{Document, Kind, read, read_bytes, validate};
pub use effective::Setting;
pub use problem::{Place, Problem, Severity};
pub use replay::{Origin, Replay};
pub use resolve::{Effective, resolve};
pub use scenario::{Scenario, Workload};
pub use sweeper::Sweeper;
