//! What `turnmill profile` takes: aiperf 0.12.0's flags under aiperf's names, the fork `agentx`'s, and a few of our own.
//!
//! Flags that decide something here are fields, with their types; all the others are rows of [`table`], which says of each
//! why it is only noted or why it is refused. Reading them decides nothing: that is `crate::profile`'s.

mod endpoint;
mod load;
mod output;
#[cfg(test)]
mod page;
mod table;
mod values;

pub(crate) use endpoint::EndpointFlags;
pub(crate) use load::{LoadFlags, WarmupFlags, WorkloadFlags};
pub(crate) use output::{OutputFlags, OwnFlags, ProfileDialect};
pub(crate) use table::{Fate, Others, Row};
pub(crate) use values::{Extra, Series, extra_inputs, headers};

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  turnmill profile --scenario inferencex-agentx-mvp --url http://127.0.0.1:8000 --model my-model --tokenizer ./my-model \\
      --public-dataset semianalysis_cc_traces_weka_062126_256k --concurrency 16 --benchmark-duration 1800 \\
      --use-server-token-count
      the scenario as stock aiperf 0.12.0 runs it
  turnmill profile --scenario inferencex-agentx-mvp --url http://127.0.0.1:8000 --model my-model --tokenizer ./my-model \\
      --custom-dataset-type weka_trace --input-file traces/ --concurrency 2 --benchmark-duration 60 \\
      --use-server-token-count --unsafe-override
      a short trial on traces of your own, not valid for submission

Every other flag of aiperf 0.12.0 is known too: it is accepted with a note or refused with the reason.
Exit codes: 0 done; 1 a finished run missed what it had to meet; 2 wrong usage, a broken lock or any other refusal before
anything was sent; 3 a run started and could not finish; 130 interrupted, results written.";

/// Everything typed after `turnmill profile`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ProfileArgs {
    #[command(flatten)]
    pub(crate) endpoint: EndpointFlags,
    #[command(flatten)]
    pub(crate) workload: WorkloadFlags,
    #[command(flatten)]
    pub(crate) load: LoadFlags,
    #[command(flatten)]
    pub(crate) warmup: WarmupFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
    #[command(flatten)]
    pub(crate) own: OwnFlags,
    #[command(flatten)]
    pub(crate) others: Others,
}
