//! `simulate`: a whole run in virtual time.

use super::plan::{Drawn, draw};
use crate::args::{Format, ServiceArgs, SimulateArgs};
use crate::exit::Exit;
use crate::output;
use crate::render;
use replay::simulate::{Failure, Glob, Service, ServiceModel, simulate};
use serde_json::json;

pub(crate) fn run(args: &SimulateArgs) -> anyhow::Result<Exit> {
    let Some(Drawn {
        plan,
        traces,
        settings,
    }) = draw(&args.scenario)?
    else {
        return Ok(Exit::Invalid);
    };
    let warmup_requests = plan.warmup_request_count();
    let log = simulate(traces.clone(), settings.clone(), plan, &model(&args.service));
    match args.format {
        Format::Text => output::data(&render::log::text(&log, &traces))?,
        Format::Json => output::json(&json!({
            "benchmark_id": settings.benchmark_id,
            "dialect": settings.dialect.name(),
            "seed": settings.seed,
            "concurrency": settings.concurrency,
            "duration_s": settings.duration_s,
            "warmup_request_count": warmup_requests,
            "events": render::log::json(&log, &traces),
        }))?,
    }
    Ok(Exit::Done)
}

fn model(args: &ServiceArgs) -> ServiceModel {
    let failure = |fail: &crate::args::FailSpec| Failure {
        conversation: Glob(fail.glob.clone()),
        turn: fail.turn,
        is_overflow: wire::error::is_context_overflow(&fail.text),
        text: fail.text.clone(),
    };
    ServiceModel {
        service: args.service,
        service_for: args
            .service_for
            .iter()
            .map(|(glob, seconds)| (Glob(glob.clone()), Service::Fixed(*seconds)))
            .collect(),
        warm_s: args.warm_s,
        failures: args.fail.iter().map(failure).collect(),
    }
}
