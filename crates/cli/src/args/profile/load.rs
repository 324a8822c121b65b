//! What is replayed, how much of it and for how long, as aiperf and the fork `agentx` spell it.

use super::Series;
use clap::Args;
use std::path::PathBuf;

/// aiperf's scenario and input groups, as far as they decide something here.
#[derive(Debug, Args)]
#[command(next_help_heading = "Scenario and corpus")]
pub(crate) struct WorkloadFlags {
    /// The locked scenario; `inferencex-agentx-mvp` is the one there is.
    #[arg(long, value_name = "NAME")]
    pub(crate) scenario: Option<String>,
    /// Turn broken locks into warnings; the run is stamped not valid for submission.
    #[arg(long)]
    pub(crate) unsafe_override: bool,
    /// A published corpus by the name of its loader.
    #[arg(long, value_name = "LOADER")]
    pub(crate) public_dataset: Option<String>,
    /// A corpus by its repository, OWNER/NAME; selects the loader `weka_hf`.
    #[arg(long, value_name = "REPOSITORY")]
    pub(crate) hf_weka_dataset: Option<String>,
    /// Format of `--input-file`; only `weka_trace` can be replayed here.
    #[arg(long, value_name = "TYPE")]
    pub(crate) custom_dataset_type: Option<String>,
    /// A trace, a file with one JSON trace a line, or a folder of traces (`*.json`, in the order of their names).
    #[arg(long, value_name = "PATH")]
    pub(crate) input_file: Option<PathBuf>,
    /// Keep so many traces. Default: all.
    #[arg(
        long = "num-dataset-entries",
        visible_alias = "num-prompts",
        value_name = "N",
        allow_negative_numbers = true
    )]
    pub(crate) dataset_entries: Option<i64>,
    /// Drop traces with a request of more tokens, input and output together.
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true)]
    pub(crate) max_context_length: Option<i64>,
    /// Which trace comes next: `sequential`, `shuffle` or `random`. Default: sequential.
    #[arg(long, value_name = "STRATEGY")]
    pub(crate) dataset_sampling_strategy: Option<String>,
    /// Seed of every draw. Default: a fresh one, which is printed and recorded.
    #[arg(long, value_name = "SEED", allow_negative_numbers = true)]
    pub(crate) random_seed: Option<i128>,
    /// What keeps prompts of different session trees apart; the scenario locks `first_turn_prefix`.
    #[arg(long, value_name = "TARGET")]
    pub(crate) cache_bust: Option<String>,
    /// Send turns back to back; the scenario refuses it.
    #[arg(long)]
    pub(crate) ignore_trace_delays: bool,
    /// Drop longer inputs; the scenario refuses it.
    #[arg(long, value_name = "TOKENS")]
    pub(crate) synthesis_max_isl: Option<u64>,
    /// Cap every think time; the scenario refuses it.
    #[arg(long, value_name = "S")]
    pub(crate) inter_turn_delay_cap_seconds: Option<f64>,
}

/// aiperf's load generator, as far as it decides something here.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct LoadFlags {
    /// Lanes, that is live session trees. Default: 1.
    #[arg(long, value_name = "N", value_parser = Series::<u32>::parse)]
    pub(crate) concurrency: Option<Series<u32>>,
    /// Sending window. Default: 1800 s; the scenario refuses less than 900 s.
    #[arg(long, value_name = "S", value_parser = Series::<f64>::parse, allow_negative_numbers = true)]
    pub(crate) benchmark_duration: Option<Series<f64>>,
    /// How long requests in flight at the window's end may finish; `inf` for as long as they need. Default: 30 s. Needs
    /// --benchmark-duration.
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub(crate) benchmark_grace_period: Option<f64>,
    /// Stop sending after so many requests of the window.
    #[arg(long, visible_alias = "num-requests", value_name = "N", value_parser = Series::<u64>::parse)]
    pub(crate) request_count: Option<Series<u64>>,
    /// Stop starting session trees after so many.
    #[arg(
        long = "conversation-num",
        visible_aliases = ["num-conversations", "num-sessions"],
        value_name = "N",
        value_parser = Series::<u64>::parse
    )]
    pub(crate) conversations: Option<Series<u64>>,
    /// End the run when a larger share of its requests has failed.
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub(crate) failed_request_threshold: Option<f64>,
    /// Earliest share of a trace's span at which a lane may start. Default: 0, the scenario's.
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub(crate) trajectory_start_min_ratio: Option<f64>,
    /// Latest such share. Default: 1, the scenario's.
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub(crate) trajectory_start_max_ratio: Option<f64>,
    /// Start all lanes of a phase at once instead of at their recorded offsets.
    #[arg(long)]
    pub(crate) burst_phase_starts: bool,
    /// Longest time without a request in flight before all timers are pulled in; the scenario locks 10 s.
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub(crate) system_idle_gap_cap_seconds: Option<f64>,
    /// The same for each session tree. Known to the fork: selects the dialect agentx-1.0; refused by aiperf-0.12.0.
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub(crate) trace_idle_gap_cap_seconds: Option<f64>,
    /// Send at a rate; the scenario refuses it.
    #[arg(long, value_name = "RPS", value_parser = Series::<f64>::parse)]
    pub(crate) request_rate: Option<Series<f64>>,
    /// Send at a rate that follows a file; the scenario refuses it.
    #[arg(long, value_name = "FILE")]
    pub(crate) request_rate_series: Option<PathBuf>,
    /// Send at a rate for each user; the scenario refuses it.
    #[arg(long, value_name = "RPS")]
    pub(crate) user_centric_rate: Option<f64>,
    /// Send at recorded times; the scenario refuses it.
    #[arg(long)]
    pub(crate) fixed_schedule: bool,
}

/// aiperf's warm-up group, as far as it decides something here.
#[derive(Debug, Args)]
#[command(next_help_heading = "Warm-up")]
pub(crate) struct WarmupFlags {
    /// Replay for so long with one-token answers before the window starts.
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub(crate) agentic_cache_warmup_duration: Option<f64>,
    /// Send so many one-token requests on each lane before the window starts. Selects the dialect agentx-1.0.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) warmup_requests_per_lane: Option<i64>,
    /// How long the warm-up may drain. Default: --warmup-grace-period, else what the cache warm-up sets, else no limit.
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub(crate) agentic_warmup_grace_period: Option<f64>,
    /// As --agentic-warmup-grace-period, which wins.
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub(crate) warmup_grace_period: Option<f64>,
}
