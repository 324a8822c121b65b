//! `run`: replay a scenario against a server.

use crate::args::{Format, RunArgs};
use crate::exit::Exit;
use crate::session::{self, PromptText, Session, Target};
use crate::workload::{self, Read};
use crate::{folder, output};
use driver::endpoint::CHAT_PATH;
use driver::run::Ended;
use record::summary::Summary;
use std::path::Path;

pub(crate) fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let clock = super::start_clock();
    let Read::Scenario(scenario) = workload::read(&args.scenario)? else {
        return Ok(Exit::Invalid);
    };
    let out = folder::for_run(args.out.as_deref(), &clock)?;
    super::runtime()?.block_on(async {
        let target = Target::ask(&args.send, CHAT_PATH).await?;
        let limit = workload::context_limit(&args.scenario, &scenario.replay, target.max_model_len())?;
        let text = PromptText::load(&args.prompt)?;
        let file =
            workload::corpus_file(&args.scenario, &scenario.replay, args.send.proxy_from_env, clock).await?;
        let corpus = workload::load(&file, &scenario.replay, limit)?;
        let session = Session::prepare(&scenario, &args.scenario, &args.send, target, text, corpus, clock)?;
        session.announce();
        let (ended, summary) = session.run(&out).await?;
        show(&ended, &summary, &out, args.format)?;
        let exit = session::exit(&ended, &summary, args.require_valid);
        Ok(super::export::settle(
            super::export::write(&args.export, &out),
            exit,
        ))
    })
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
