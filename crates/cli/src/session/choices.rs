//! How a trace file is replayed: the document and the command line, settled. What contradicts or has no effect is refused,
//! all of it at once.

use crate::args::{
    ContextName, EndpointName, ModeName, PrimerFailure, RunArgs, SamplingName, ScenarioArgs, ThinkTime,
};
use crate::trace_input::{Source, StatedLoad, TraceDocument};
use anyhow::bail;
use corpus::recorded::{Context, Form};
use driver::run::SloHints;
use record::header::Slo;
use replay::requests::{Limits, Starts};
use std::collections::BTreeMap;
use trace::mooncake::Options;
use trace::pace::Pace;
use trace::recording::LoadOptions;

/// Seed of a run for which nothing states one.
const SEED: u64 = 42;

/// How a trace file is replayed.
#[derive(Clone, Debug)]
pub(super) struct Choices {
    pub(super) mode: ModeName,
    pub(super) starts: Starts,
    pub(super) limits: Limits,
    pub(super) pace: Pace,
    pub(super) think: Think,
    pub(super) load: LoadOptions,
    pub(super) mooncake: Options,
    pub(super) seed: u64,
    pub(super) form: Form,
    pub(super) context: Context,
    pub(super) hints: SloHints,
    pub(super) slo: BTreeMap<String, Slo>,
}

/// Where the wait before a later round comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Think {
    /// The trace, by the rules of `trace-csv` §5.2.
    Recorded,
    /// The delay that each row of a Mooncake file states or implies, divided by the speed-up.
    Stated { divisor: f64 },
    /// The command line.
    Drawn(ThinkTime),
}

/// Settles everything that can be settled before the file is read.
pub(super) fn choose(args: &RunArgs, document: &TraceDocument) -> anyhow::Result<Choices> {
    let trace = &args.trace;
    let with_sidecar = match &document.source {
        Source::Csv(reference) => reference.token_blocks.is_some(),
        Source::Mooncake(_) => true,
    };
    let mut wrong = Vec::new();
    for option in of_session_trees(args) {
        wrong.push(format!("{option} is for session trees; a trace file has none"));
    }
    let (mode, starts) = match &document.load {
        Some(load) => stated_mode(args, load, &mut wrong),
        None => asked_mode(args, &mut wrong),
    };
    if trace.context.is_some() && with_sidecar {
        wrong.push("--context has no effect: the sidecar says what prompts share".to_owned());
    }
    if matches!(document.source, Source::Csv(_))
        && (trace.trace_block_size.is_some() || trace.clamp_to_blocks)
    {
        wrong.push(
            "--trace-block-size and --clamp-to-blocks are for Mooncake files; this is a data CSV".to_owned(),
        );
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    let speedup = document.load.as_ref().map(|load| load.speedup).or(trace.speedup);
    let form = match (trace.endpoint, with_sidecar) {
        (Some(EndpointName::Chat), _) | (None, false) => Form::Chat,
        (Some(EndpointName::Completions), _) | (None, true) => Form::Completions,
    };
    let mut slo = document.targets.clone();
    for targets in &trace.goodput {
        targets.over(slo.entry(targets.class.clone()).or_default());
    }
    Ok(Choices {
        mode,
        starts,
        limits: Limits {
            in_flight_max: trace.max_in_flight.map_or(usize::MAX, |most| most as usize),
            window_s: trace.duration_s.unwrap_or(f64::INFINITY),
            grace_s: trace.grace_s.unwrap_or(f64::INFINITY),
            request_cap: args.scenario.request_cap.unwrap_or(u64::MAX),
        },
        pace: Pace {
            speedup: speedup.unwrap_or(1.0),
            gap_cap_s: trace.gap_cap_s,
        },
        think: match (trace.think_time, &document.load) {
            (Some(think), _) => Think::Drawn(think),
            (None, Some(load)) => Think::Stated {
                divisor: load.speedup,
            },
            (None, None) => Think::Recorded,
        },
        load: LoadOptions {
            from_send: trace.from_send,
            include_failed: trace.include_failed,
            include_empty: false,
        },
        mooncake: Options {
            block_size: trace.trace_block_size.unwrap_or(trace::mooncake::BLOCK_TOKENS),
            clamp_to_blocks: trace.clamp_to_blocks,
        },
        seed: trace.seed.or(document.seed).unwrap_or(SEED),
        form,
        context: match trace.context {
            None => Context::Continued,
            Some(ContextName::Independent) => Context::Independent,
            Some(ContextName::Accumulate) => Context::Accumulate,
        },
        hints: if trace.send_slo_hints {
            SloHints::Send
        } else {
            SloHints::None
        },
        slo,
    })
}

/// Options given that mean nothing for a trace file.
fn of_session_trees(args: &RunArgs) -> Vec<&'static str> {
    let ScenarioArgs {
        corpus,
        override_locks,
        dialect,
        burst_phase_starts,
        sampling,
        on_primer_failure,
        warmup_grace_s,
        ..
    } = &args.scenario;
    [
        ("--corpus", corpus.is_some()),
        ("--override-locks", *override_locks),
        ("--dialect", dialect.is_some()),
        ("--burst-phase-starts", *burst_phase_starts),
        ("--sampling", *sampling != SamplingName::default()),
        (
            "--on-primer-failure",
            *on_primer_failure != PrimerFailure::default(),
        ),
        ("--warmup-grace-s", warmup_grace_s.is_some()),
        ("--prompt-pool", args.prompt.prompt_pool.is_some()),
        ("--tool-shaped-messages", args.prompt.tool_shaped_messages),
        ("--require-valid", args.require_valid),
    ]
    .into_iter()
    .filter_map(|(name, given)| given.then_some(name))
    .collect()
}

/// A Sweeper document states its load itself.
fn stated_mode(args: &RunArgs, load: &StatedLoad, wrong: &mut Vec<String>) -> (ModeName, Starts) {
    let trace = &args.trace;
    for (option, given) in [
        ("--mode", trace.mode.is_some()),
        ("--concurrency", trace.concurrency.is_some()),
        ("--speedup", trace.speedup.is_some()),
    ] {
        if given {
            wrong.push(format!(
                "{option} is what the document states, by replay_concurrency and arrival_speedup_ratio"
            ));
        }
    }
    let starts = load.sessions_max.map_or(Starts::Due, |most| {
        Starts::Slots(usize::try_from(most).unwrap_or(usize::MAX))
    });
    (ModeName::Sessions, starts)
}

fn asked_mode(args: &RunArgs, wrong: &mut Vec<String>) -> (ModeName, Starts) {
    let trace = &args.trace;
    let mode = trace.mode.unwrap_or(ModeName::Open);
    let mut no_effect = |option: &str, given: bool, of: &str| {
        if given {
            wrong.push(format!(
                "{option} has no effect with --mode {}; it is for --mode {of}",
                mode.word()
            ));
        }
    };
    let closed = mode == ModeName::Closed;
    no_effect("--concurrency", trace.concurrency.is_some() && !closed, "closed");
    no_effect(
        "--speedup",
        trace.speedup.is_some() && closed,
        "open and sessions",
    );
    no_effect(
        "--gap-cap-s",
        trace.gap_cap_s.is_some() && closed,
        "open and sessions",
    );
    no_effect(
        "--max-in-flight",
        trace.max_in_flight.is_some() && closed,
        "open and sessions",
    );
    no_effect(
        "--think-time",
        trace.think_time.is_some() && mode != ModeName::Sessions,
        "sessions",
    );
    if closed && trace.concurrency.is_none() {
        wrong.push(
            "--mode closed keeps a number of requests in flight; state it with --concurrency N".to_owned(),
        );
    }
    let starts = match trace.concurrency.filter(|_| closed) {
        Some(most) => Starts::Slots(most as usize),
        None => Starts::Due,
    };
    (mode, starts)
}
