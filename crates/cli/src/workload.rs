//! From a document and options to what a run replays: the checked scenario, the corpus, the settings; or a trace file.

use crate::args::{DialectName, PrimerFailure, SamplingName, ScenarioArgs};
use crate::output;
use crate::trace_input::TraceDocument;
use anyhow::{Context, anyhow, bail};
use corpus::fetch::{FetchError, Fetched, Hub, HubEnvironment, Limits, Proxies, Wanted};
use corpus::{Corpus, LoadOptions};
use driver::clock::Clock;
use replay::{Dialect, OnPrimerFailure, Sampling, Settings};
use spec::catalog::{Catalog, Resolved, Traffic};
use spec::replay::{MaxContextLength, Warmup};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tree::Trace;

/// Hex digits of a benchmark id that we draw.
const BENCHMARK_ID_DIGITS: usize = 12;

/// A scenario that can be replayed.
pub(crate) struct Scenario {
    /// The document and what its references led to.
    pub(crate) resolved: Resolved,
    /// Its replay arm.
    pub(crate) replay: spec::Replay,
    /// Released set of rules to follow.
    pub(crate) dialect: Dialect,
    /// Locks that `--override-locks` lets it break, one line each.
    pub(crate) broken_locks: Vec<String>,
    /// SHA-256 of the document's bytes.
    pub(crate) sha256: String,
}

/// What came of reading a document.
pub(crate) enum Read {
    /// Its session trees can be replayed.
    Scenario(Box<Scenario>),
    /// The requests of its trace file can be replayed.
    Trace(Box<TraceDocument>),
    /// Its problems have been shown.
    Invalid,
}

/// Reads and checks a scenario, shows its problems, and follows its references.
pub(crate) fn read(args: &ScenarioArgs) -> anyhow::Result<Read> {
    let (read, problems) = check(args)?;
    if !problems.is_empty() {
        output::say(&problems);
    }
    Ok(read)
}

/// As [`read`], for what only session trees have. `None` when the document is invalid.
pub(crate) fn read_trees(args: &ScenarioArgs) -> anyhow::Result<Option<Box<Scenario>>> {
    trees(args, read(args)?)
}

/// As [`read_trees`] for a scenario of ours, whose broken locks are no news.
pub(crate) fn read_quietly(args: &ScenarioArgs) -> anyhow::Result<Option<Box<Scenario>>> {
    let (read, problems) = check(args)?;
    if matches!(read, Read::Invalid) {
        output::say(&problems);
    }
    trees(args, read)
}

fn trees(args: &ScenarioArgs, read: Read) -> anyhow::Result<Option<Box<Scenario>>> {
    match read {
        Read::Scenario(scenario) => Ok(Some(scenario)),
        Read::Invalid => Ok(None),
        Read::Trace(_) => bail!(
            "{} names a trace file, whose requests have no lanes; hint: `turnmill corpus inspect` shows what is in it, \
             `turnmill run` replays it",
            args.scenario.display()
        ),
    }
}

/// The document, and what is to be said about it.
fn check(args: &ScenarioArgs) -> anyhow::Result<(Read, String)> {
    let path = &args.scenario;
    let bytes = std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let (document, mut problems) = spec::read_bytes(&bytes, None);
    let sha256 = corpus::verify::scan(bytes.as_slice(), |_| {})?.sha256;
    let mut resolved = None;
    if let Some(spec::Document::Scenario(scenario)) = &document {
        let catalog = args.catalog.clone().map(Catalog::new);
        let (found, more) = spec::catalog::resolve(scenario, catalog.as_ref());
        resolved = found;
        problems.extend(more);
    }
    let broken_locks: Vec<String> = problems
        .iter()
        .filter(|problem| problem.is_error())
        .map(spec::Problem::title)
        .collect();
    if args.override_locks {
        for problem in problems.iter_mut().filter(|problem| problem.waivable) {
            problem.severity = spec::Severity::Warning;
            problem.hint = Some("overridden for this trial; the run is not valid for submission".to_owned());
        }
    }
    let source = spec::render::Source {
        file: &path.display().to_string(),
        text: &String::from_utf8_lossy(&bytes),
    };
    let shown = spec::render::text(&problems, source, output::colours_on_stderr());
    if !spec::problem::is_ok(&problems) {
        return Ok((Read::Invalid, shown));
    }
    if let Some(trace) = TraceDocument::of(path, document, sha256.clone())? {
        return Ok((Read::Trace(Box::new(trace)), shown));
    }
    let Some(resolved) = resolved else {
        return Ok((Read::Invalid, shown));
    };
    let replay = runnable(&resolved).with_context(|| path.display().to_string())?;
    let scenario = Scenario {
        dialect: dialect(args.dialect, &replay)?,
        replay,
        resolved,
        broken_locks,
        sha256,
    };
    Ok((Read::Scenario(Box::new(scenario)), shown))
}

/// The replay arm, if all that it asks for can be run.
fn runnable(resolved: &Resolved) -> anyhow::Result<spec::Replay> {
    let replay = match &resolved.traffic {
        Some(Traffic::Replay(replay)) => (**replay).clone(),
        Some(Traffic::Shape { .. }) => bail!("a shape cannot be run yet; `replay` and `trace` can"),
        Some(Traffic::Trace(_)) | None => bail!("has no `workload`, so there is nothing to send"),
    };
    Ok(replay)
}

/// The dialect that is asked for, or else the one that knows all keys the scenario states.
fn dialect(asked: Option<DialectName>, replay: &spec::Replay) -> anyhow::Result<Dialect> {
    let of_fork = replay.fork_keys();
    match asked {
        Some(DialectName::Aiperf0120) if !of_fork.is_empty() => bail!(
            "--dialect {}: it does not know workload.replay.{}, which only {} has; leave out the one or the other",
            Dialect::Aiperf0120.name(),
            of_fork.join(" and workload.replay."),
            Dialect::Agentx10.name()
        ),
        Some(DialectName::Agentx10) => Ok(Dialect::Agentx10),
        None if !of_fork.is_empty() => Ok(Dialect::Agentx10),
        Some(DialectName::Aiperf0120) | None => Ok(Dialect::Aiperf0120),
    }
}

/// The replay's settings for the state machine.
pub(crate) fn settings(args: &ScenarioArgs, scenario: &Scenario) -> Settings {
    let replay = &scenario.replay;
    let warmup = match replay.warmup {
        Warmup::Synthesized => replay::Warmup::Primers,
        Warmup::CachePressureFor { duration_s } => replay::Warmup::PressureFor(duration_s),
        Warmup::CachePressureRequests { requests_per_lane } => {
            replay::Warmup::PressureRequests(requests_per_lane)
        }
    };
    Settings {
        dialect: scenario.dialect,
        concurrency: replay.concurrency,
        seed: replay.random_seed,
        benchmark_id: benchmark_id(args),
        min_ratio: replay.trajectory_start.min_ratio,
        max_ratio: replay.trajectory_start.max_ratio,
        sampling: match args.sampling {
            SamplingName::Sequential => Sampling::Sequential,
            SamplingName::Shuffle => Sampling::Shuffle,
            SamplingName::Random => Sampling::Random,
        },
        duration_s: replay.benchmark_duration_s,
        grace_s: replay.grace_period_s,
        system_idle_gap_cap_s: replay.system_idle_gap_cap_s,
        trace_idle_gap_cap_s: replay.trace_idle_gap_cap_s,
        warmup,
        warmup_grace_s: args
            .warmup_grace_s
            .unwrap_or_else(|| warmup.default_grace_s(replay.grace_period_s)),
        burst_phase_starts: args.burst_phase_starts,
        request_cap: args.request_cap,
        on_primer_failure: match args.on_primer_failure {
            PrimerFailure::Abort => OnPrimerFailure::Abort,
            PrimerFailure::Continue => OnPrimerFailure::Continue,
        },
    }
}

/// The run's name, stated or drawn.
pub(crate) fn benchmark_id(args: &ScenarioArgs) -> String {
    args.benchmark_id.clone().unwrap_or_else(random_benchmark_id)
}

fn random_benchmark_id() -> String {
    let mut id = uuid::Uuid::new_v4().simple().to_string();
    id.truncate(BENCHMARK_ID_DIGITS);
    id
}

/// The context filter in tokens. `served` is what the server says of its model; `--max-model-len` wins over it.
pub(crate) fn context_limit(
    args: &ScenarioArgs,
    replay: &spec::Replay,
    served: Option<u64>,
) -> anyhow::Result<Option<u64>> {
    match replay.max_context_length {
        None => Ok(None),
        Some(MaxContextLength::Tokens(tokens)) => Ok(Some(tokens)),
        Some(MaxContextLength::ModelLimit) => args.max_model_len.or(served).map(Some).ok_or_else(|| {
            anyhow!(
                "workload.replay.max_context_length: max_model_len is the server's context length, and nothing says what \
                 that is; state it with --max-model-len TOKENS"
            )
        }),
    }
}

/// Where the corpus is: `--corpus`, else the hub's cache, filled from the hub if need be.
pub(crate) async fn corpus_file(
    args: &ScenarioArgs,
    replay: &spec::Replay,
    proxy_from_env: bool,
    clock: Clock,
) -> anyhow::Result<PathBuf> {
    if let Some(file) = &args.corpus {
        return Ok(file.clone());
    }
    let wanted = Wanted {
        repository: replay.corpus.repository.clone(),
        revision: Some(replay.corpus.revision.clone()),
        file: replay.corpus.file.clone(),
        sha256: Some(replay.corpus.sha256.clone()),
    };
    Ok(fetch(&wanted, proxy_from_env, clock).await?.path)
}

/// Brings a file from the hub into its cache, and shows how it comes along.
pub(crate) async fn fetch(wanted: &Wanted, proxy_from_env: bool, clock: Clock) -> anyhow::Result<Fetched> {
    let proxies = if proxy_from_env {
        Proxies::Environment
    } else {
        Proxies::None
    };
    let hub = Hub::open(&HubEnvironment::from_process(), Limits::DEFAULT, proxies).map_err(with_hint)?;
    let mut line = crate::progress::Fetching::new(clock);
    let fetched = corpus::fetch::fetch(&hub, wanted, &mut |step| line.show(&step)).await;
    line.end();
    fetched.map_err(with_hint)
}

fn with_hint(error: FetchError) -> anyhow::Error {
    match error.hint() {
        Some(hint) => anyhow!("{error}\nhint: {hint}"),
        None => error.into(),
    }
}

/// Loads the scenario's corpus from `file`; the digest must be the stated one.
pub(crate) fn load(file: &Path, replay: &spec::Replay, limit: Option<u64>) -> anyhow::Result<Corpus> {
    load_some(file, replay, limit, None)
}

/// As [`load`], for the first `entries` traces that fit.
pub(crate) fn load_some(
    file: &Path,
    replay: &spec::Replay,
    limit: Option<u64>,
    entries: Option<usize>,
) -> anyhow::Result<Corpus> {
    let mut options = LoadOptions::default();
    options.selection.entries = entries;
    options.selection.max_context_length = limit;
    options.reconstruct.split_flattened_agents = replay.split_flattened_agents;
    let corpus = Corpus::load(file, Some(&replay.corpus.sha256), &options, None)?;
    for warning in &corpus.warnings {
        output::say(&format!("warning: {}: {warning}", file.display()));
    }
    Ok(corpus)
}

/// The traces as the state machine shares them.
pub(crate) fn shared(traces: Vec<Trace>) -> Arc<[Arc<Trace>]> {
    traces.into_iter().map(Arc::new).collect()
}
