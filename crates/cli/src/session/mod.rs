//! One run from its document to its summary: of session trees here, of a trace file in [`requests`]. [`running`] does what
//! every run does.

mod before;
mod choices;
mod facts;
mod requests;
mod running;
mod target;
mod timetable;

pub(crate) use requests::{Chosen, TraceSession};
pub(crate) use target::Target;

use crate::args::{LimitKey, PromptArgs, ScenarioArgs, SendArgs, Wire};
use crate::exit::Exit;
use crate::trace_files::{self, TreePrompts};
use crate::workload::{self, Scenario};
use crate::{output, plan_digest, progress};
use anyhow::Context;
use corpus::Corpus;
use corpus::prompt::{Envelope, EnvelopeOptions, Pool, Prompter, Tokenizer};
use driver::client::Client;
use driver::clock::Clock;
use driver::prompts::Prompts;
use driver::run::{Ended, FailedThreshold, Trees};
use driver::scrape::Pages;
use facts::{host, seconds, wall_start};
use record::header::{Digests, HEADER_VERSION, RunHeader, Selection, ValidityInputs};
use record::marks::Stop;
use record::summary::Summary;
use record::validity::ReasonName;
use replay::{Plan, Replay, Settings};
use running::Running;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Recorded requests from which on the failed-request threshold holds, with few lanes (`aiperf-replay` §3.5).
const FAILURES_LOOKED_AT_FROM: u64 = 10;

/// The text that prompts are made of.
pub(crate) struct PromptText {
    pool: Arc<Pool>,
    tokenizer: Arc<Tokenizer>,
    tool_shaped: bool,
}

impl PromptText {
    pub(crate) fn load(args: &PromptArgs) -> anyhow::Result<Self> {
        let tokenizer = Arc::new(Tokenizer::open(&args.tokenizer)?);
        let pool = match &args.prompt_pool {
            Some(file) => Pool::load(file, tokenizer.clone())?,
            None => Pool::built_in(tokenizer.clone())?,
        };
        Ok(Self {
            pool: Arc::new(pool),
            tokenizer,
            tool_shaped: args.tool_shaped_messages,
        })
    }
}

/// Everything a run needs, nothing of it started.
pub(crate) struct Session {
    header: RunHeader,
    settings: Settings,
    plan: Plan,
    traces: Arc<[Arc<tree::Trace>]>,
    prompts: Prompts,
    client: Client,
    pages: Option<Pages>,
    clock: Clock,
    failed_threshold: Option<FailedThreshold>,
}

impl Session {
    pub(crate) fn prepare(
        scenario: &Scenario,
        args: &ScenarioArgs,
        send: &SendArgs,
        target: Target,
        text: PromptText,
        corpus: Corpus,
        clock: Clock,
    ) -> anyhow::Result<Self> {
        let settings = workload::settings(args, scenario);
        let envelope = Envelope::new(&EnvelopeOptions {
            model: target.facts.model.clone(),
            limit_key: send.output_limit_key.unwrap_or_default().into(),
            min_tokens: send.min_tokens,
            extra: send.wire.extra.clone(),
            ignore_eos: scenario.replay.ignore_eos && !states_ignore_eos(&send.wire),
            usage: send.wire.usage,
        })?;
        let digests = (
            corpus.sha256.clone(),
            text.tokenizer.sha256().map(str::to_owned),
            text.pool.sha256().to_owned(),
        );
        let failed_threshold = send.failed_request_threshold.map(|share| FailedThreshold {
            share,
            least: u64::from(settings.concurrency).max(FAILURES_LOOKED_AT_FROM),
        });
        let selection = corpus.selection;
        let traces = workload::shared(corpus.traces);
        let plan = Plan::draw(&traces, &settings)?;
        let header = RunHeader {
            schema_version: HEADER_VERSION,
            turnmill_version: env!("CARGO_PKG_VERSION").to_owned(),
            benchmark_id: settings.benchmark_id.clone(),
            dialect: settings.dialect.name().to_owned(),
            loop_kind: "closed".to_owned(),
            seed: settings.seed,
            concurrency: settings.concurrency,
            wall_start: wall_start(&clock)?,
            server: target.facts,
            host: host(),
            digests: Digests {
                scenario: Some(scenario.sha256.clone()),
                corpus: Some(digests.0),
                tokenizer: digests.1,
                pool: Some(digests.2),
                plan: Some(plan_digest::of(&plan, &traces, &settings)),
            },
            selection: Some(Selection {
                scanned: selection.scanned as u64,
                kept: selection.kept as u64,
                dropped: selection.dropped as u64,
                largest: selection.largest,
            }),
            trace: None,
            validity: ValidityInputs {
                scenario: Some(scenario.replay.scenario.clone()),
                override_locks: scenario.broken_locks.clone(),
                corpus_pinned: corpus::pin::is_pinned(&scenario.replay.corpus.loader, &corpus.sha256),
                output_length_locked: scenario.replay.ignore_eos,
                latency_window_s: settings
                    .dialect
                    .rules()
                    .wants_latency_coverage
                    .then_some(settings.duration_s),
            },
            slo: BTreeMap::new(),
            limits: limits(&settings, send),
            options: options(args, send, text.tool_shaped),
            scenario: spec::Effective::Scenario(scenario.resolved.clone()).to_json(),
        };
        let prompter = Prompter::new(text.pool, settings.seed);
        let prompts = Prompts::new(prompter, traces.clone(), envelope, text.tool_shaped);
        let client = Client::new(target.client, clock)?;
        Ok(Self {
            header,
            settings,
            plan,
            traces,
            prompts,
            client,
            pages: target.pages,
            clock,
            failed_threshold,
        })
    }

    /// Says what a person should know before it starts.
    pub(crate) fn announce(&self) {
        for line in progress::before(&self.plan, &self.traces, &self.settings) {
            output::say(&line);
        }
    }

    /// Runs to the end and leaves the folder complete.
    pub(crate) async fn run(self, folder: &Path) -> anyhow::Result<(Ended, Summary)> {
        let connections = self.connections();
        let load = Trees::new(&self.plan, self.traces.clone(), self.prompts)
            .context("no thread for drawing prompts")?;
        let running = Running {
            header: self.header,
            machine: Replay::new(self.traces.clone(), self.settings, self.plan),
            load,
            client: self.client,
            pages: self.pages,
            clock: self.clock,
            failed_threshold: self.failed_threshold,
            connections,
        };
        let (ended, summary) = running.run(folder).await?;
        if let Err(error) = trace_files::write(folder, Some(Box::new(TreePrompts::of(&self.traces)))) {
            output::say(&format!("warning: the run's trace was not written: {error:#}"));
        }
        Ok((ended, summary))
    }

    /// Connections that may be open at once: every stream of every lane's tree.
    fn connections(&self) -> u64 {
        let widest = self
            .traces
            .iter()
            .map(|trace| trace.conversations.len())
            .max()
            .unwrap_or(1);
        u64::from(self.settings.concurrency) * (widest as u64).min(STREAMS_PER_LANE)
    }
}

/// Streams of one tree that are taken to be in flight at once when open files are counted.
const STREAMS_PER_LANE: u64 = 8;

/// The exit code of a run that was started.
pub(crate) fn exit(ended: &Ended, summary: &Summary, require_valid: bool) -> Exit {
    match ended.stop {
        Stop::Abort => Exit::Unfinished,
        Stop::Interrupt => Exit::Interrupted,
        Stop::Done => {
            let validity = summary.validity.as_ref();
            let is_invalid = validity.is_some_and(|validity| !validity.submission_valid);
            // The fork asks for coverage of every run, not only of one to be submitted.
            let is_uncovered =
                validity.is_some_and(|validity| validity.has(ReasonName::LatencyCoverageTooLow));
            if is_uncovered || (require_valid && is_invalid) {
                Exit::Invalid
            } else {
                Exit::Done
            }
        }
    }
}

/// Whether the user's own fields hold `ignore_eos`, which then goes out as it is; null counts as absent (aiperf 0.12.0).
fn states_ignore_eos(wire: &Wire) -> bool {
    wire.extra
        .iter()
        .any(|(name, value)| name == "ignore_eos" && value.get() != "null")
}

fn limits(settings: &Settings, send: &SendArgs) -> BTreeMap<String, Value> {
    BTreeMap::from([
        ("duration_s".to_owned(), seconds(settings.duration_s)),
        ("grace_s".to_owned(), seconds(settings.grace_s)),
        (
            "system_idle_gap_cap_s".to_owned(),
            seconds(settings.system_idle_gap_cap_s),
        ),
        ("warmup_grace_s".to_owned(), seconds(settings.warmup_grace_s)),
        (
            "failed_request_threshold".to_owned(),
            send.failed_request_threshold.map_or(Value::Null, Value::from),
        ),
        ("request_timeout_s".to_owned(), seconds(send.request_timeout_s)),
        (
            "request_cap".to_owned(),
            settings.request_cap.map_or("inf".into(), Value::from),
        ),
    ])
}

fn options(args: &ScenarioArgs, send: &SendArgs, tool_shaped: bool) -> BTreeMap<String, Value> {
    let name = |value: &dyn std::fmt::Debug| Value::from(format!("{value:?}").to_lowercase());
    BTreeMap::from([
        ("scenario_file".to_owned(), json!(args.scenario)),
        ("override_locks".to_owned(), json!(args.override_locks)),
        ("burst_phase_starts".to_owned(), json!(args.burst_phase_starts)),
        ("sampling".to_owned(), name(&args.sampling)),
        ("on_primer_failure".to_owned(), name(&args.on_primer_failure)),
        ("tool_shaped_messages".to_owned(), json!(tool_shaped)),
        ("session_header".to_owned(), json!(send.session_header)),
        ("min_tokens".to_owned(), json!(send.min_tokens)),
        ("insecure".to_owned(), json!(send.insecure)),
        ("usage_asked".to_owned(), json!(send.wire.usage)),
        (
            "output_limit_key".to_owned(),
            json!(match send.output_limit_key.unwrap_or_default() {
                LimitKey::MaxCompletionTokens => "max_completion_tokens",
                LimitKey::MaxTokens => "max_tokens",
            }),
        ),
    ])
}
