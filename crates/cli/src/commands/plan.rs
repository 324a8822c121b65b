//! `plan`: what a scenario's lanes start with, without a server.

use crate::args::{Format, PlanArgs, ScenarioArgs};
use crate::exit::Exit;
use crate::output;
use crate::render;
use crate::workload;
use replay::{Plan, Settings};
use std::sync::Arc;
use tree::Trace;

pub(crate) fn run(args: &PlanArgs) -> anyhow::Result<Exit> {
    let Some(Drawn {
        plan,
        traces,
        settings,
    }) = draw(&args.scenario)?
    else {
        return Ok(Exit::Invalid);
    };
    match args.format {
        Format::Text => output::data(&render::plan::text(&plan, &traces, &settings))?,
        Format::Json => output::json(&render::plan::json(&plan, &traces, &settings))?,
    }
    Ok(Exit::Done)
}

/// What a scenario comes to before any server is asked.
pub(super) struct Drawn {
    pub(super) plan: Plan,
    pub(super) traces: Arc<[Arc<Trace>]>,
    pub(super) settings: Settings,
}

/// Draws the plan. `None` when the document is invalid, which has been shown.
pub(super) fn draw(args: &ScenarioArgs) -> anyhow::Result<Option<Drawn>> {
    let Some(scenario) = workload::read_trees(args)? else {
        return Ok(None);
    };
    let limit = workload::context_limit(args, &scenario.replay, None)?;
    let clock = super::start_clock();
    let corpus_file = workload::corpus_file(args, &scenario.replay, false, clock);
    let file = super::runtime()?.block_on(corpus_file)?;
    let corpus = workload::load(&file, &scenario.replay, limit)?;
    let settings = workload::settings(args, &scenario);
    let traces = workload::shared(corpus.traces);
    let plan = Plan::draw(&traces, &settings)?;
    Ok(Some(Drawn {
        plan,
        traces,
        settings,
    }))
}
