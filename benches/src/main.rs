//! What turnmill costs, measured as ratios within one run so that a noisy machine does not decide the outcome.
//!
//! Each part is a file: [`parser`], [`chunks`], [`prompts`], [`schedule`] measure one piece of the program in this
//! process, against the least that any program would have to do, in CPU time of the measuring thread; [`capture`]
//! looks at the clock, with the proxy and without in turn; [`stamps`] compares the client's stamps with the server's; [`load`], [`long`], [`reports`] and [`mod@trace`] run the built
//! program `turnmill` as a user does. What the figures mean and what they were: `docs/performance.md`.
//!
//! Never part of the program and never of the tests: a figure here fails nothing.

#![allow(clippy::print_stdout, reason = "the table is what this program is for")]

mod capture;
mod chunks;
mod contest;
mod control;
mod example;
mod files;
mod load;
mod long;
mod parser;
mod program;
mod prompts;
mod reports;
mod schedule;
mod stamps;
mod stream;
mod table;
mod trace;

use clap::{Parser, ValueEnum};
use table::Line;

/// Measures what turnmill costs. Build it and the program with `--release`, on a machine with nothing else to do.
#[derive(Debug, Parser)]
struct Options {
    /// Parts to measure; all when none is named.
    #[arg(value_enum)]
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Bytes of a stream to typed chunks, in memory.
    Parser,
    /// A streamed chunk from a socket to its record.
    Chunks,
    /// The first byte through the recording proxy.
    Capture,
    /// Request bodies.
    Prompts,
    /// The state machine in virtual time.
    Schedule,
    /// A big corpus: time to the first request, peak memory, lateness.
    Load,
    /// 512 lanes of prompts of 200,000 tokens: peak memory.
    Long,
    /// A thousand streams: stamps of the client against those of the server.
    Stamps,
    /// The report of a million requests.
    Reports,
    /// A trace file of five million rows: checking it, time to the first request, memory.
    Trace,
}

fn main() -> anyhow::Result<()> {
    if cfg!(debug_assertions) {
        anyhow::bail!("a build without optimization measures nothing; use `cargo run --release -p benches`");
    }
    let options = Options::parse();
    let parts = if options.parts.is_empty() {
        Part::value_variants().to_vec()
    } else {
        options.parts
    };
    for part in parts {
        let lines: Vec<Line> = match part {
            Part::Parser => parser::measure(),
            Part::Chunks => chunks::measure()?,
            Part::Capture => capture::measure()?,
            Part::Prompts => prompts::measure()?,
            Part::Schedule => schedule::measure()?,
            Part::Load => load::measure()?,
            Part::Long => long::measure()?,
            Part::Stamps => stamps::measure()?,
            Part::Reports => reports::measure()?,
            Part::Trace => trace::measure()?,
        };
        print!("{}", table::render(part, &lines));
    }
    Ok(())
}
