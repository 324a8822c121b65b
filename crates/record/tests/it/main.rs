//! Tests of the record files and of every statistic.

// Test helpers stop at the first surprise, and exact figures are what is asked for.
#![allow(clippy::unwrap_used, clippy::float_cmp)]

mod aiperf_figures;
mod damage;
mod documented;
mod goodput;
mod round_trip;
mod samples;
mod server_metrics;
mod statistics;
mod summary;
mod timelines;
mod verdicts;
