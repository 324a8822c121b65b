//! `profile`: aiperf's command line for the locked scenario, run by us.

mod artifacts;
mod corpus_file;
mod tokenizer;

use crate::args::profile::{ProfileArgs, ProfileDialect, headers};
use crate::args::{DialectName, LimitKey, MetricsArgs, PromptArgs, ScenarioArgs, SendArgs, Wire};
use crate::exit::Exit;
use crate::profile::{self, Kind, Problem, Resolved, document};
use crate::session::{self, PromptText, Session, Target};
use crate::workload;
use crate::{folder, output};
use anyhow::Context;
use driver::clock::Clock;
use driver::endpoint::{CHAT_PATH, Endpoint};
use std::path::Path;

pub(crate) fn run(args: &ProfileArgs) -> anyhow::Result<Exit> {
    let clock = super::start_clock();
    let resolved = match profile::resolve(args) {
        Ok(resolved) => resolved,
        Err(problems) => return Ok(refuse(&problems)),
    };
    let unsupported = profile::unsupported(args, &resolved);
    if !unsupported.is_empty() {
        return Ok(refuse(&unsupported));
    }
    for lock in &resolved.broken_locks {
        output::say(&format!(
            "warning: {lock}; overridden, the run is not valid for submission"
        ));
    }
    for note in &resolved.notes {
        output::say(&format!("note: {note}"));
    }
    let dialect = dialect(resolved.dialect);
    let bounds = artifacts::bounds(args)?;
    let out = folder::beneath(&args.output.artifact_dir, &clock)?;
    super::runtime()?.block_on(async {
        let prepared = prepare(args, &resolved, dialect, &out.join(INPUTS), clock).await;
        let Ok(Some(session)) = prepared else {
            leave_nothing(&out);
            return prepared.map(|_| Exit::Refused);
        };
        session.announce();
        let (ended, summary) = session.run(&out).await?;
        let written = artifacts::write(args, bounds, &out);
        super::run::show(&ended, &summary, &out, args.own.format)?;
        let exit = session::exit(&ended, &summary, args.own.require_valid);
        Ok(super::export::settle(written, exit))
    })
}

/// Folder in the run's, for what the run was made from.
const INPUTS: &str = "inputs";

/// Everything up to the first request. `None` when the document made of the flags was invalid, which has been shown.
async fn prepare(
    args: &ProfileArgs,
    resolved: &Resolved,
    dialect: DialectName,
    inputs: &Path,
    clock: Clock,
) -> anyhow::Result<Option<Session>> {
    let seed = resolved.seed.unwrap_or_else(fresh_seed);
    if resolved.seed.is_none() {
        output::say(&format!("note: the seed is {seed}"));
    }
    let send = send_args(args, resolved)?;
    let target = Target::ask(&send, CHAT_PATH).await?;
    let text = PromptText::load(&prompt_args(args, target.model())?)?;
    let corpus = corpus_file::locate(args, resolved, inputs, clock).await?;
    let scenario_args = ScenarioArgs {
        scenario: inputs.join("scenario.yaml"),
        catalog: None,
        corpus: Some(corpus.path.clone()),
        override_locks: args.workload.unsafe_override,
        dialect: Some(dialect),
        benchmark_id: args.own.benchmark_id.clone(),
        burst_phase_starts: resolved.burst_phase_starts,
        sampling: resolved.sampling,
        request_cap: resolved.request_cap,
        on_primer_failure: args.own.on_primer_failure,
        max_model_len: None,
        warmup_grace_s: Some(resolved.warmup.grace_s),
    };
    let split = args.own.split_flattened_agents.unwrap_or(true);
    write_scenario(
        &scenario_args.scenario,
        &document::yaml(resolved, seed, split, &corpus.described()),
    )?;
    let Some(mut scenario) = workload::read_quietly(&scenario_args)? else {
        return Ok(None);
    };
    scenario.broken_locks = resolved.broken_locks.iter().map(ToString::to_string).collect();
    let traces = workload::load_some(
        &corpus.path,
        &scenario.replay,
        resolved.max_context_length,
        resolved.entries,
    )?;
    Session::prepare(&scenario, &scenario_args, &send, target, text, traces, clock).map(Some)
}

/// Takes away what a run that never started has written; folders that hold anything else stay.
fn leave_nothing(out: &Path) {
    // What cannot be taken away is in nobody's way.
    let _ = std::fs::remove_dir_all(out.join(INPUTS));
    let _ = std::fs::remove_dir(out);
}

/// Shows every problem; nothing was sent.
fn refuse(problems: &[Problem]) -> Exit {
    let mut lines: Vec<String> = problems.iter().map(|problem| format!("  {problem}")).collect();
    lines.insert(0, "error: refused before anything was sent:".to_owned());
    if problems.iter().all(|problem| problem.kind == Kind::Lock) {
        lines.push(format!(
            "hint: these are locks of the scenario {}; --unsafe-override makes warnings of them, and the run is not valid for submission",
            profile::SCENARIO
        ));
    }
    output::say(&lines.join("\n"));
    Exit::Refused
}

/// The dialect that the state machine is given.
fn dialect(dialect: ProfileDialect) -> DialectName {
    match dialect {
        ProfileDialect::Aiperf0120 => DialectName::Aiperf0120,
        ProfileDialect::Agentx10 => DialectName::Agentx10,
    }
}

/// 63 random bits, as many as aiperf draws.
fn fresh_seed() -> u64 {
    uuid::Uuid::new_v4().as_u64_pair().1 & (u64::MAX >> 1)
}

fn send_args(args: &ProfileArgs, resolved: &Resolved) -> anyhow::Result<SendArgs> {
    let endpoint = &args.endpoint;
    let url = endpoint.urls.first().context("--url names no server")?;
    Ok(SendArgs {
        url: url.clone(),
        model: endpoint.models.first().cloned(),
        api_key: endpoint.api_key.clone(),
        headers: headers(&endpoint.headers).map_err(|why| anyhow::anyhow!("--header: {why}"))?,
        session_header: endpoint
            .session_header
            .clone()
            .unwrap_or_else(|| "X-Correlation-ID".to_owned()),
        output_limit_key: endpoint.use_legacy_max_tokens.then_some(LimitKey::MaxTokens),
        min_tokens: false,
        request_timeout_s: match endpoint.request_timeout_s {
            0.0 => NO_TIMEOUT_S,
            stated_s => stated_s,
        },
        failed_request_threshold: resolved.failed_request_threshold,
        insecure: args.own.insecure,
        ca: args.own.ca.clone(),
        proxy_from_env: args.own.proxy_from_env,
        metrics: metrics_args(args, url)?,
        wire: Wire {
            path: endpoint.path.clone(),
            usage: endpoint.use_server_token_count,
            extra: resolved.extra.clone(),
        },
    })
}

/// The server's own page and the others that are named, as in aiperf.
fn metrics_args(args: &ProfileArgs, url: &str) -> anyhow::Result<MetricsArgs> {
    let mut server_metrics = args.output.server_metrics.clone();
    if !server_metrics.is_empty() {
        let server = Endpoint::new(url, CHAT_PATH)?;
        server_metrics.insert(0, server.metrics_url().to_string());
    }
    Ok(MetricsArgs {
        server_metrics,
        no_server_metrics: args.output.no_server_metrics,
    })
}

/// A limit that no request reaches: ten years.
const NO_TIMEOUT_S: f64 = 315_360_000.0;

fn prompt_args(args: &ProfileArgs, model: &str) -> anyhow::Result<PromptArgs> {
    Ok(PromptArgs {
        tokenizer: tokenizer::find(
            args.endpoint.tokenizer.as_deref(),
            &args.endpoint.tokenizer_revision,
            model,
        )?,
        prompt_pool: args.own.prompt_pool.clone(),
        tool_shaped_messages: args.own.tool_shaped_messages.unwrap_or(false),
    })
}

fn write_scenario(file: &Path, text: &str) -> anyhow::Result<()> {
    let folder = file.parent().context("the scenario has a folder")?;
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(file, text))
        .with_context(|| format!("{} cannot be written", file.display()))
}
