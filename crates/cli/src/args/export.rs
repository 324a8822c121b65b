//! Options that write a run's records in further forms, those of other tools among them.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Write aiperf 0.12.0's artifact files too, into this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) aiperf_artifacts: Option<PathBuf>,
    /// Write the result file of `vllm bench serve` too.
    #[arg(long, value_name = "FILE")]
    pub(crate) vllm_result: Option<PathBuf>,
    /// Write when each chunk of each answer came, beside the run's trace: `trace.itl.csv`.
    #[arg(long)]
    pub(crate) chunk_times: bool,
}
