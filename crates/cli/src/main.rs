//! The program `turnmill`: arguments, a command, an exit code.
//!
//! Only this crate prints. Each command is a file of [`commands`]; what several of them need stands beside it.

mod args;
mod commands;
mod exit;
mod files;
mod folder;
mod logging;
mod output;
mod plan_digest;
mod profile;
mod progress;
mod render;
mod session;
mod stop;
mod trace_files;
mod trace_input;
mod workload;

use clap::Parser;
use exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match args::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers, all else is wrong usage; clap prints each where it belongs.
            let exit = if error.use_stderr() {
                Exit::Refused
            } else {
                Exit::Done
            };
            return error.print().map_or(Exit::Refused, |()| exit).into();
        }
    };
    match logging::start().and_then(|()| commands::run(cli.command)) {
        Ok(exit) => exit.into(),
        Err(error) => {
            output::say(&format!("error: {}", output::told(&error)));
            Exit::Refused.into()
        }
    }
}
