//! One run of a trace file from its document to its summary.

use super::choices::{self, Choices};
use super::facts::{host, seconds, wall_start};
use super::running::Running;
use super::{FAILURES_LOOKED_AT_FROM, Target, before, states_ignore_eos, timetable};
use crate::args::{LimitKey, ModeName, RunArgs};
use crate::trace_files::{self, RecordingPrompts};
use crate::trace_input::{Source, TraceDocument};
use crate::{output, plan_digest, workload};
use anyhow::bail;
use corpus::prompt::{Drawer, Envelope, EnvelopeOptions, SafeTokens, Tokenizer};
use corpus::recorded::{Context, Form, RecordedPrompts};
use driver::client::Client;
use driver::clock::Clock;
use driver::endpoint::{CHAT_PATH, COMPLETIONS_PATH};
use driver::run::{Ended, FailedThreshold, PROMPT_TOKENS_MAX, Recorded, SloHints};
use record::header::{Digests, HEADER_VERSION, RunHeader, TraceFacts, ValidityInputs};
use record::summary::Summary;
use replay::requests::{RequestReplay, Starts};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use trace::TraceError;
use trace::recording::{Recording, Request};

/// Most requests whose hits in an infinite cache are told: finding them reads the sidecar once, some ten µs a request, before the
/// first is sent.
const HITS_TOLD_MAX: usize = 100_000;
/// Seconds of a day.
const DAY_S: f64 = 86_400.0;
/// Longest replay, from the first arrival to the last; beyond it a trace's instants are taken to be wrong.
const SPAN_MAX_S: f64 = 366.0 * DAY_S;
/// Streams that an open loop without a cap is taken to have in flight at once when open files are counted.
const OPEN_LOOP_STREAMS: u64 = 4096;

/// A trace file that is ready to be replayed.
pub(crate) struct TraceSession {
    running: Running<RequestReplay, Recorded>,
    recording: Arc<Recording>,
    prompts: Arc<RecordedPrompts>,
    mode: ModeName,
    said: Vec<String>,
}

/// A document and its options, checked against each other; nothing has been read or asked yet.
pub(crate) struct Chosen {
    document: TraceDocument,
    choices: Choices,
}

impl Chosen {
    /// Settles how the document's trace is replayed.
    ///
    /// # Errors
    /// When options contradict each other or the document.
    pub(crate) fn new(args: &RunArgs, document: TraceDocument) -> anyhow::Result<Self> {
        Ok(Self {
            choices: choices::choose(args, &document)?,
            document,
        })
    }

    /// Path of the endpoint that requests go to.
    pub(crate) fn path(&self) -> &'static str {
        match self.choices.form {
            Form::Chat => CHAT_PATH,
            Form::Completions => COMPLETIONS_PATH,
        }
    }
}

impl TraceSession {
    /// Verifies and loads the trace, and prepares everything of the run; nothing is sent.
    pub(crate) fn prepare(
        chosen: Chosen,
        args: &RunArgs,
        target: Target,
        clock: Clock,
    ) -> anyhow::Result<Self> {
        let path = chosen.path();
        let Chosen { document, choices } = chosen;
        let recording = Arc::new(load(&document, &choices)?);
        let tokenizer = Tokenizer::open(&args.prompt.tokenizer)?;
        let tokens = Arc::new(SafeTokens::of(&tokenizer)?);
        let drawer = Drawer::new(tokens, choices.seed);
        let prompts = RecordedPrompts::new(drawer, choices.context, choices.form);
        let prompts = Arc::new(prompts);
        refuse_endless(&recording, &prompts)?;
        let theoretical = if recording.requests.len() <= HITS_TOLD_MAX {
            trace::sharing::hits(&recording, trace::sharing::DISTINCT_MAX)?
        } else {
            None
        };
        let data_sha256 = data_sha256(&document, &recording)?;
        let (table, schedule) = timetable::of(&recording, &choices);
        let span_s = table.due_ns.last().map_or(0.0, |ns| *ns as f64 / 1e9);
        if choices.starts == Starts::Due && span_s > SPAN_MAX_S {
            bail!(
                "the last request would be due {:.0} days after the first, more than the {:.0} that a replay may take; \
                 hint: --speedup, --gap-cap-s or --duration-s on a sound trace",
                span_s / DAY_S,
                SPAN_MAX_S / DAY_S
            );
        }
        let name = name_of(document.source.path());
        let facts = TraceFacts {
            file: name.clone(),
            rows: recording.requests.len() as u64 + recording.skipped.failed + recording.skipped.empty,
            planned: (recording.requests.len() as u64).min(choices.limits.request_cap),
            skipped_failed: recording.skipped.failed,
            skipped_empty: recording.skipped.empty,
            sessions: recording.sessions.len() as u64,
            speedup: choices.pace.speedup,
            sidecar: recording.blocks.is_some(),
            endpoint: path.to_owned(),
            context: context_word(&recording, &choices).to_owned(),
            span_s,
        };
        let mut said = before::lines(
            &recording,
            &choices,
            &table,
            &schedule,
            &facts,
            target.max_model_len(),
        );
        if facts.sidecar && theoretical.is_none() {
            said.push(format!(
                "note: hits of an infinite cache are told for up to {HITS_TOLD_MAX} requests; this trace has more, or too many blocks"
            ));
        }
        let digests = Digests {
            scenario: Some(document.sha256.clone()),
            corpus: Some(data_sha256.clone()),
            tokenizer: tokenizer.sha256().map(str::to_owned),
            pool: None,
            plan: Some(plan_digest::of_trace(
                &table,
                [&data_sha256, sidecar_sha256(&document)],
                &format!("{choices:?}"),
            )),
        };
        let concurrency = match choices.starts {
            Starts::Slots(slots) => u32::try_from(slots).unwrap_or(u32::MAX),
            Starts::Due => 0,
        };
        let header = RunHeader {
            schema_version: HEADER_VERSION,
            turnmill_version: env!("CARGO_PKG_VERSION").to_owned(),
            benchmark_id: workload::benchmark_id(&args.scenario),
            dialect: String::new(),
            loop_kind: choices.mode.word().to_owned(),
            seed: choices.seed,
            concurrency,
            wall_start: wall_start(&clock)?,
            server: target.facts.clone(),
            host: host(),
            digests,
            selection: None,
            trace: Some(facts),
            validity: ValidityInputs::default(),
            slo: choices.slo.clone(),
            limits: limits(&choices, args),
            options: options(&choices, args),
            scenario: document.effective.clone(),
        };
        let envelope = envelope(args, &target, choices.form)?;
        let failed_threshold = args.send.failed_request_threshold.map(|share| FailedThreshold {
            share,
            least: u64::from(concurrency).max(FAILURES_LOOKED_AT_FROM),
        });
        let running = Running {
            header,
            connections: connections(&choices, &recording),
            load: Recorded::new(
                name,
                recording.clone(),
                prompts.clone(),
                envelope,
                choices.hints,
                theoretical,
            ),
            machine: RequestReplay::new(table, choices.starts, choices.limits),
            client: Client::new(target.client, clock)?,
            pages: target.pages,
            clock,
            failed_threshold,
        };
        Ok(Self {
            running,
            recording,
            prompts,
            mode: choices.mode,
            said,
        })
    }

    /// Says what a person should know before it starts.
    pub(crate) fn announce(&self) {
        for line in &self.said {
            output::say(line);
        }
    }

    /// Runs to the end and leaves the folder complete.
    pub(crate) async fn run(self, folder: &Path) -> anyhow::Result<(Ended, Summary)> {
        let (ended, summary) = self.running.run(folder).await?;
        let in_sessions = self.mode == ModeName::Sessions;
        let prompts = RecordingPrompts::of(&self.recording, self.prompts, in_sessions);
        if let Err(error) = trace_files::write(folder, Some(Box::new(prompts))) {
            output::say(&format!(
                "warning: the run's trace was not written: {}",
                output::told(&error)
            ));
        }
        Ok((ended, summary))
    }
}

/// Verifies and loads the trace; what is wrong with it is shown, all of it.
fn load(document: &TraceDocument, choices: &Choices) -> anyhow::Result<Recording> {
    let path = document.source.path();
    output::say(&format!("reading {}", path.display()));
    let recording = match &document.source {
        Source::Csv(reference) => Recording::load(reference, choices.load).or_else(|error| {
            let TraceError::Refused { errors, .. } = error else {
                return Err(error.into());
            };
            show(&trace::verify::verify(reference)?.problems);
            bail!("{} is not replayed: {}", path.display(), count_errors(errors))
        })?,
        Source::Mooncake(path) => {
            let mut problems = trace::Problems::new(path);
            let loaded = trace::convert::load_mooncake(path, choices.mooncake, choices.load, &mut problems);
            show(&problems);
            match loaded {
                Err(TraceError::Refused { errors, .. }) => {
                    bail!("{} is not replayed: {}", path.display(), count_errors(errors))
                }
                loaded => loaded?,
            }
        }
    };
    if recording.skipped.unsent > 0 {
        bail!(
            "{}: {} rows have no send_time_us, so --from-send has no instant for them",
            path.display(),
            recording.skipped.unsent
        );
    }
    if recording.requests.is_empty() {
        bail!("{} has no request that could be sent", path.display());
    }
    show(&recording.warnings);
    Ok(recording)
}

/// A prompt that is longer than any server takes is a mistake in the trace.
fn refuse_endless(recording: &Recording, prompts: &RecordedPrompts) -> anyhow::Result<()> {
    let tokens = |request: &Request| prompts.tokens(recording, request);
    let mut endless = recording
        .requests
        .iter()
        .filter(|request| tokens(request) > PROMPT_TOKENS_MAX);
    let Some(first) = endless.next() else {
        return Ok(());
    };
    bail!(
        "request {} has a prompt of {} tokens, and {} more are as long; prompts of up to {PROMPT_TOKENS_MAX} are sent",
        first.request_id,
        tokens(first),
        endless.count()
    )
}

/// Digest of the data file itself.
fn data_sha256(document: &TraceDocument, recording: &Recording) -> anyhow::Result<String> {
    match &document.source {
        Source::Csv(_) => Ok(recording.sha256.clone()),
        Source::Mooncake(path) => Ok(corpus::verify::scan_file(path)?.sha256),
    }
}

/// Digest of the sidecar; empty without one, and where the data file holds its blocks itself.
fn sidecar_sha256(document: &TraceDocument) -> &str {
    match &document.source {
        Source::Csv(reference) => reference.token_blocks.as_ref().map_or("", |(_, sha256)| sha256),
        Source::Mooncake(_) => "",
    }
}

fn count_errors(errors: usize) -> String {
    match errors {
        1 => "it has an error".to_owned(),
        errors => format!("it has {errors} errors"),
    }
}

fn show(problems: &trace::Problems) {
    for problem in problems.list() {
        output::say(&problem.to_string());
    }
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

fn context_word(recording: &Recording, choices: &Choices) -> &'static str {
    match (recording.blocks.is_some(), choices.context) {
        (true, _) => "blocks",
        (false, Context::Continued) => "continued",
        (false, Context::Independent) => "independent",
        (false, Context::Accumulate) => "accumulate",
    }
}

fn envelope(args: &RunArgs, target: &Target, form: Form) -> anyhow::Result<Envelope> {
    let usual = match form {
        Form::Chat => LimitKey::MaxCompletionTokens,
        Form::Completions => LimitKey::MaxTokens,
    };
    Ok(Envelope::new(&EnvelopeOptions {
        model: target.model().to_owned(),
        limit_key: args.send.output_limit_key.unwrap_or(usual).into(),
        min_tokens: args.send.min_tokens,
        extra: args.send.wire.extra.clone(),
        ignore_eos: !states_ignore_eos(&args.send.wire),
        usage: args.send.wire.usage,
    })?)
}

fn connections(choices: &Choices, recording: &Recording) -> u64 {
    let capped = match choices.starts {
        Starts::Slots(slots) => slots,
        Starts::Due => choices.limits.in_flight_max,
    };
    (capped.min(recording.requests.len()) as u64).min(OPEN_LOOP_STREAMS)
}

fn limits(choices: &Choices, args: &RunArgs) -> BTreeMap<String, Value> {
    let most = |most: u64| {
        if most == u64::MAX {
            json!("inf")
        } else {
            json!(most)
        }
    };
    BTreeMap::from([
        ("duration_s".to_owned(), seconds(choices.limits.window_s)),
        ("grace_s".to_owned(), seconds(choices.limits.grace_s)),
        (
            "in_flight_max".to_owned(),
            most(choices.limits.in_flight_max as u64),
        ),
        ("request_cap".to_owned(), most(choices.limits.request_cap)),
        (
            "failed_request_threshold".to_owned(),
            args.send
                .failed_request_threshold
                .map_or(Value::Null, Value::from),
        ),
        (
            "request_timeout_s".to_owned(),
            seconds(args.send.request_timeout_s),
        ),
    ])
}

fn options(choices: &Choices, args: &RunArgs) -> BTreeMap<String, Value> {
    BTreeMap::from([
        ("scenario_file".to_owned(), json!(args.scenario.scenario)),
        ("from_send".to_owned(), json!(choices.load.from_send)),
        ("include_failed".to_owned(), json!(choices.load.include_failed)),
        ("gap_cap_s".to_owned(), json!(choices.pace.gap_cap_s)),
        (
            "think_time".to_owned(),
            json!(format!("{:?}", choices.think).to_lowercase()),
        ),
        (
            "send_slo_hints".to_owned(),
            json!(choices.hints == SloHints::Send),
        ),
        ("session_header".to_owned(), json!(args.send.session_header)),
        ("min_tokens".to_owned(), json!(args.send.min_tokens)),
        ("insecure".to_owned(), json!(args.send.insecure)),
    ])
}
