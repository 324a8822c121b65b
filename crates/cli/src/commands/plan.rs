//! `plan`: what a scenario's lanes start with, without a server.

use crate::args::{Format, PlanArgs};
use crate::exit::Exit;
use crate::output;
use crate::render;
use crate::workload::{self, Read};
use replay::Plan;

pub(crate) fn run(args: &PlanArgs) -> anyhow::Result<Exit> {
    let Read::Scenario(scenario) = workload::read(&args.scenario)? else {
        return Ok(Exit::Invalid);
    };
    let limit = workload::context_limit(&args.scenario, &scenario.replay, None)?;
    let clock = super::start_clock();
    let file = super::runtime()?.block_on(workload::corpus_file(
        &args.scenario,
        &scenario.replay,
        false,
        clock,
    ))?;
    let corpus = workload::load(&file, &scenario.replay, limit)?;
    let settings = workload::settings(&args.scenario, &scenario);
    let traces = workload::shared(corpus.traces);
    let plan = Plan::draw(&traces, &settings)?;
    match args.format {
        Format::Text => output::data(&render::plan::text(&plan, &traces, &settings))?,
        Format::Json => output::json(&render::plan::json(&plan, &traces, &settings))?,
    }
    Ok(Exit::Done)
}
