//! The fixtures of scenario, catalog and Sweeper documents, and properties that hold for any document.

// Everything here is a test, helpers included.
#![allow(clippy::unwrap_used)]

mod fixtures;
mod locks;
mod messages;
mod places;
mod properties;
mod resolving;
mod scenarios;
mod schema;
mod structure;
mod support;
mod sweeper;
