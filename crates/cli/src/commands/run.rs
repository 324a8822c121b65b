//! `run`: replay a scenario or a trace file against a server.

use crate::args::{Format, RunArgs};
use crate::exit::Exit;
use crate::session::{self, Chosen, PromptText, Session, Target, TraceSession};
use crate::trace_input::TraceDocument;
use crate::workload::{self, Read, Scenario};
use crate::{folder, output};
use anyhow::bail;
use driver::clock::Clock;
use driver::endpoint::CHAT_PATH;
use driver::run::Ended;
use record::summary::Summary;
use std::path::Path;

pub(crate) fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let clock = super::start_clock();
    match workload::read(&args.scenario)? {
        Read::Invalid => Ok(Exit::Invalid),
        Read::Scenario(scenario) => run_trees(args, &scenario, clock),
        Read::Trace(document) => run_requests(args, *document, clock),
    }
}

fn run_trees(args: &RunArgs, scenario: &Scenario, clock: Clock) -> anyhow::Result<Exit> {
    let given = args.trace.given();
    if !given.is_empty() {
        bail!(
            "{} replays session trees; of a trace file alone are: {}",
            args.scenario.scenario.display(),
            given.join(", ")
        );
    }
    let out = folder::for_run(args.out.as_deref(), &clock)?;
    super::runtime()?.block_on(async {
        let target = Target::ask(&args.send, CHAT_PATH).await?;
        let limit = workload::context_limit(&args.scenario, &scenario.replay, target.max_model_len())?;
        let text = PromptText::load(&args.prompt)?;
        let file =
            workload::corpus_file(&args.scenario, &scenario.replay, args.send.proxy_from_env, clock).await?;
        let corpus = workload::load(&file, &scenario.replay, limit)?;
        let session = Session::prepare(scenario, &args.scenario, &args.send, target, text, corpus, clock)?;
        session.announce();
        let (ended, summary) = session.run(&out).await?;
        close(args, &ended, &summary, &out)
    })
}

fn run_requests(args: &RunArgs, document: TraceDocument, clock: Clock) -> anyhow::Result<Exit> {
    let chosen = Chosen::new(args, document)?;
    let out = folder::for_run(args.out.as_deref(), &clock)?;
    super::runtime()?.block_on(async {
        let target = Target::ask(&args.send, chosen.path()).await?;
        let session = TraceSession::prepare(chosen, args, target, clock)?;
        session.announce();
        let (ended, summary) = session.run(&out).await?;
        close(args, &ended, &summary, &out)
    })
}

fn close(args: &RunArgs, ended: &Ended, summary: &Summary, out: &Path) -> anyhow::Result<Exit> {
    show(ended, summary, out, args.format)?;
    let exit = session::exit(ended, summary, args.require_valid);
    Ok(super::export::settle(
        super::export::write(&args.export, out),
        exit,
    ))
}

/// Prints the summary as data, and where everything lies.
pub(super) fn show(ended: &Ended, summary: &Summary, out: &Path, format: Format) -> anyhow::Result<()> {
    super::report::print(summary, format)?;
    if !ended.reason.is_empty() {
        output::say(&format!("the run ended early: {}", ended.reason));
    }
    output::say(&format!("everything lies in {}", out.display()));
    Ok(())
}
