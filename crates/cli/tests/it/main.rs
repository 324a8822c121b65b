//! The program as people use it: whole commands, their output and exit codes, and runs against the simulated server.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]

mod architecture;
mod cases;
mod docs;
mod ends;
mod exports;
mod logging;
mod profile;
mod refusals;
mod replay_refusals;
mod replays;
mod round_trip;
mod runs;
mod schedules;
mod support;
mod traces;
