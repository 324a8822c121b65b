//! What can be typed: one struct a subcommand, typed values, help beside the field. Reading these never touches a disk, a
//! network or a clock.

mod capture;
mod export;
pub(crate) mod profile;
mod run;
mod scenario;
mod server;
mod trace;
mod trace_run;

pub(crate) use capture::CaptureArgs;
pub(crate) use export::ExportArgs;
pub(crate) use run::{DemoArgs, LimitKey, MetricsArgs, RunArgs, SendArgs, Wire};
pub(crate) use scenario::{
    DialectName, FailSpec, PlanArgs, PrimerFailure, PromptArgs, SamplingName, ScenarioArgs, ServiceArgs,
    SimulateArgs,
};
pub(crate) use server::SimArgs;
pub(crate) use trace::{ContentsArgs, ConvertArgs, FormName};
pub(crate) use trace_run::{ContextName, EndpointName, ModeName, ThinkTime, TraceRunArgs};

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  turnmill demo
      a run against the built-in simulated server, half a minute, with a report at the end
  turnmill run scenarios/replay.yaml --url http://127.0.0.1:8000 --model my-model --tokenizer ./my-model
      replay the scenario against a live server
  turnmill plan scenarios/replay.yaml --corpus traces.jsonl --max-model-len 131072
      what each lane would start with, without a server
  turnmill report runs/2026-11-30T10-00-00
      the summary of a run, rebuilt from what it left on disk

Exit codes: 0 done; 1 a document is invalid, or a finished run missed what it had to meet; 2 usage, or a run refused before it
sent anything; 3 a run started and could not finish; 130 interrupted, results written.";

/// Replays recorded LLM traffic against a live server in a closed loop, and reports TTFT, TPOT and ITL.
#[derive(Debug, Parser)]
#[command(name = "turnmill", version, after_help = EXAMPLES, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a small bundled corpus against a simulated server on this machine.
    Demo(DemoArgs),
    /// Replay a scenario against a server.
    Run(Box<RunArgs>),
    /// Take aiperf's own command line for the scenario inferencex-agentx-mvp.
    Profile(Box<profile::ProfileArgs>),
    /// Show what a scenario's lanes start with; needs no server.
    Plan(PlanArgs),
    /// Run a scenario in virtual time against a stated service model and print every event.
    Simulate(SimulateArgs),
    /// Work with corpora and traces: fetch, verify, inspect, survey, dump.
    #[command(subcommand)]
    Corpus(CorpusCommand),
    /// Convert a trace between Weka, trace CSV and Mooncake, and say what the target cannot hold.
    Convert(ConvertArgs),
    /// Rebuild and print the summary of a run from its folder.
    Report(ReportArgs),
    /// Check documents; exit 1 when one is invalid.
    Validate(ValidateArgs),
    /// Check every entry of a catalog.
    ValidateCatalog(ValidateCatalogArgs),
    /// Print the effective document, each value with its origin.
    Resolve(ResolveArgs),
    /// Print the JSON schema of documents, for editors.
    Schema(SchemaArgs),
    /// Record real traffic: a proxy between a client and a server that writes traces which can be replayed.
    Capture(CaptureArgs),
    /// Run the simulated server alone.
    Sim(SimArgs),
    /// Print a completion script for a shell.
    Completions {
        /// The shell to complete for.
        shell: clap_complete::Shell,
    },
}

/// How data is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CorpusCommand {
    /// Download a pinned corpus into the Hugging Face cache, checking its digest as the bytes come.
    Fetch(FetchArgs),
    /// Check a file's digest and every row of it.
    Verify(VerifyArgs),
    /// Say what a trace or corpus holds and what is wrong with it; exit 1 when something is.
    Inspect(ContentsArgs),
    /// As inspect, with the distribution of every quantity.
    Survey(ContentsArgs),
    /// Print the reconstruction of a trace file in canonical lines, to compare with another implementation.
    Dump(DumpArgs),
}

#[derive(Debug, Args)]
pub(crate) struct FetchArgs {
    /// A pinned corpus by its loader name, or a repository as OWNER/NAME.
    pub(crate) corpus: String,
    /// The revision to try first; the default branch is tried after it.
    #[arg(long, default_value = "main")]
    pub(crate) revision: String,
    /// The file in the repository.
    #[arg(long, default_value = "traces.jsonl")]
    pub(crate) file: String,
    /// The digest that the file must have; without it the digest found is printed.
    #[arg(long, value_name = "HEX")]
    pub(crate) sha256: Option<String>,
    /// Take a proxy from the environment.
    #[arg(long)]
    pub(crate) proxy_from_env: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The corpus: one JSON trace a line.
    pub(crate) file: PathBuf,
    /// The digest that the file must have.
    #[arg(long, value_name = "HEX")]
    pub(crate) sha256: Option<String>,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct DumpArgs {
    /// One JSON trace, or one trace a line.
    pub(crate) file: PathBuf,
    /// Seed of the block starts.
    #[arg(long, default_value_t = 42)]
    pub(crate) seed: u64,
    /// Served models; the i-th recorded model maps to the i-th of these, wrapping round.
    #[arg(long, value_delimiter = ',', default_value = "m0")]
    pub(crate) models: Vec<String>,
    /// Compress recorded gaps to this many seconds while loading, as stock aiperf 0.12.0 does outside its scenario.
    #[arg(long, value_name = "S")]
    pub(crate) trace_idle_gap_cap_seconds: Option<f64>,
    /// Dump all traces as one data set instead of one after the other.
    #[arg(long)]
    pub(crate) together: bool,
    /// Print `id sha256` of each trace's dump instead of the dump.
    #[arg(long)]
    pub(crate) digests: bool,
    /// Leave flattened agent chains in the conversation they were recorded in.
    #[arg(long)]
    pub(crate) no_split: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The run's folder.
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) export: ExportArgs,
    /// How the summary is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// Documents to check.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The catalog that references are followed in.
    #[arg(long, value_name = "DIR")]
    pub(crate) catalog: Option<PathBuf>,
    /// What the documents are; told apart by their content when not given.
    #[arg(long = "as", value_enum, value_name = "KIND")]
    pub(crate) kind: Option<KindName>,
    /// How problems are printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// Kinds of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KindName {
    /// A scenario, or a binding alone.
    Scenario,
    /// A file of a catalog's `workloads/`.
    Catalog,
    /// Sweeper traffic.
    Sweeper,
}

impl From<KindName> for spec::Kind {
    fn from(name: KindName) -> Self {
        match name {
            KindName::Scenario => Self::Scenario,
            KindName::Catalog => Self::Catalog,
            KindName::Sweeper => Self::Sweeper,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ValidateCatalogArgs {
    /// The catalog's root folder.
    pub(crate) root: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ResolveArgs {
    /// The document.
    pub(crate) file: PathBuf,
    /// The catalog that references are followed in.
    #[arg(long, value_name = "DIR")]
    pub(crate) catalog: Option<PathBuf>,
    /// How the effective document is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// Which kind of document; without it, an object with the schema of each kind.
    #[arg(long = "as", value_enum, value_name = "KIND")]
    pub(crate) kind: Option<KindName>,
}
