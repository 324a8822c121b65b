//! The corpus side against what aiperf 0.12.0 itself made of the same rows.

mod dumps;
mod loading;
mod prompt;
mod vectors;
