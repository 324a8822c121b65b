//! What a run leaves behind, and what only we know.

use crate::args::{Format, PrimerFailure};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// aiperf's output group, as far as it decides something here.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputFlags {
    /// Folder for aiperf's artifact files; the run's own folder lies in it.
    #[arg(
        long = "output-artifact-dir",
        visible_alias = "artifact-dir",
        value_name = "DIR",
        default_value = "./artifacts"
    )]
    pub(crate) artifact_dir: PathBuf,
    /// Begin the names of the artifact files with this instead of `profile_export`.
    #[arg(long, visible_alias = "profile-export-file", value_name = "PREFIX")]
    pub(crate) profile_export_prefix: Option<PathBuf>,
    /// Length of a slice of the timeslice files.
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub(crate) slice_duration: Option<f64>,
    /// Bounds that a good request meets, as `tag:value`, times in milliseconds.
    #[arg(long, value_name = "TAG:VALUE", num_args = 1..)]
    pub(crate) goodput: Vec<String>,
    /// Further places to read server metrics from; that of the server itself is always tried.
    #[arg(long, value_name = "URL", num_args = 1.., value_delimiter = ',')]
    pub(crate) server_metrics: Vec<String>,
    /// Read no server metrics.
    #[arg(long, conflicts_with = "server_metrics")]
    pub(crate) no_server_metrics: bool,
}

/// Options that aiperf does not have.
#[derive(Debug, Args)]
#[command(next_help_heading = "Turnmill's own")]
pub(crate) struct OwnFlags {
    /// Released set of rules. Default: aiperf-0.12.0, or agentx-1.0 when an option of the fork is given.
    #[arg(long, value_enum)]
    pub(crate) dialect: Option<ProfileDialect>,
    /// A local copy of the public corpus; one with another digest stamps the run not valid for submission.
    #[arg(long, value_name = "FILE")]
    pub(crate) corpus: Option<PathBuf>,
    /// The text that prompts are cut from: UTF-8 text, or `.u32le` token ids of the tokenizer. Default: our own pool.
    #[arg(long, value_name = "FILE")]
    pub(crate) prompt_pool: Option<PathBuf>,
    /// Send tool results as messages of the role `tool` where they can be paired with a call.
    #[arg(long, env = "AIPERF_DATASET_WEKA_TOOL_SHAPED_MESSAGES", value_parser = clap::builder::BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub(crate) tool_shaped_messages: Option<bool>,
    /// Make conversations of their own of agents that were recorded in one list. Default: true.
    #[arg(long, env = "AIPERF_DATASET_WEKA_SPLIT_FLATTENED_AGENTS", value_parser = clap::builder::BoolishValueParser::new(), num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub(crate) split_flattened_agents: Option<bool>,
    /// Part of every cache-bust marker; random when not given.
    #[arg(long, value_name = "ID")]
    pub(crate) benchmark_id: Option<String>,
    /// What becomes of the run when the warm-up request of a root fails.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) on_primer_failure: PrimerFailure,
    /// Do not verify the server's certificate.
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Trust the certificates in this PEM file too.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Take a proxy from the environment for model listing and corpus download; timed requests never use one.
    #[arg(long)]
    pub(crate) proxy_from_env: bool,
    /// Exit 1 when the finished run is not valid for submission.
    #[arg(long)]
    pub(crate) require_valid: bool,
    /// How the summary is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// The sets of rules that `profile` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileDialect {
    /// Stock aiperf 0.12.0, defects included.
    #[value(name = "aiperf-0.12.0")]
    Aiperf0120,
    /// The fork of it, agentx 1.0.
    #[value(name = "agentx-1.0")]
    Agentx10,
}

impl ProfileDialect {
    /// The name used on the command line and in records.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Aiperf0120 => "aiperf-0.12.0",
            Self::Agentx10 => "agentx-1.0",
        }
    }
}
