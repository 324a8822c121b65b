//! One file a subcommand. Each decides what to do and in which order; the work is done by the crates below.

mod corpus;
mod documents;
mod plan;
mod simulate;

use crate::args::{Cli, Command};
use crate::exit::Exit;
use clap::CommandFactory;

pub(crate) fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Plan(args) => plan::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Corpus(command) => corpus::run(&command),
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
        Command::Demo(_) | Command::Run(_) | Command::Report(_) | Command::Sim(_) => todo!(),
    }
}
