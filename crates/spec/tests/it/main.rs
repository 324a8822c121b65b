//! The fixtures of scenario, catalog and Sweeper documents, and properties that hold for any document.

mod fixtures;
mod support;
