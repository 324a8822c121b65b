//! One file a subcommand. Each decides what to do and in which order; the work is done by the crates below.

mod capture;
mod contents;
mod convert;
mod corpus;
mod demo;
mod documents;
mod export;
mod plan;
mod profile;
mod report;
mod run;
mod sim;
mod simulate;

use crate::args::{Cli, Command};
use crate::exit::Exit;
use clap::CommandFactory;
use driver::clock::Clock;
use tokio::runtime::{Builder, Runtime};

pub(crate) fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Demo(args) => demo::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Profile(args) => profile::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Corpus(command) => corpus::run(&command),
        Command::Convert(args) => convert::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Capture(args) => capture::run(&args),
        Command::Sim(args) => sim::run(&args),
        Command::Validate(args) => documents::validate(&args),
        Command::ValidateCatalog(args) => documents::validate_catalog(&args),
        Command::Resolve(args) => documents::resolve(&args),
        Command::Schema(args) => documents::schema(&args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "turnmill", &mut script);
            crate::output::with_stdout(|out| out.write_all(&script))?;
            Ok(Exit::Done)
        }
    }
}

/// The process's one clock. To be asked for before the runtime starts its threads, which take over the timer slack.
fn start_clock() -> Clock {
    // A kernel that refuses leaves wake-ups some tens of microseconds later; that shows as lateness.
    let _ = driver::clock::tighten_timer_slack();
    Clock::start()
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_multi_thread().enable_all().build()
}
