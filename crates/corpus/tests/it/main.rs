//! The corpus side against what aiperf 0.12.0 itself made of the same rows.

#![allow(clippy::unwrap_used)] // clippy allows it in `#[test]` functions only, not in what they share

mod captures;
mod dumps;
mod hostile;
mod loading;
mod malformed;
mod rows;
mod vectors;
