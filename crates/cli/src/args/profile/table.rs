//! One row for each flag of aiperf 0.12.0 and of the fork `agentx`: it acts, it is noted, or it is refused, and why.
//!
//! The rows of flags that act only name them, for their types are the fields of this folder's structs; the other rows *are*
//! the flags: [`Others`] makes clap know them. A test holds the two to each other, another the documentation to this table.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

/// What becomes of a flag that is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It decides something.
    Acts,
    /// It is accepted, and why it changes nothing is said.
    Noted(&'static str),
    /// As [`Fate::Noted`], and it selects the dialect agentx-1.0, being known to the fork only.
    Fork(&'static str),
    /// The run is refused, and why is said.
    Refused(&'static str),
}

/// One flag.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Its names; the first is the one it is called by.
    pub(crate) names: Vec<&'static str>,
    /// Name of its value; `None` for a switch.
    pub(crate) value: Option<&'static str>,
    /// Takes several values at once.
    pub(crate) many: bool,
    /// What becomes of it.
    pub(crate) fate: Fate,
}

impl Row {
    /// Its other names in brackets, for a person who typed one of them.
    pub(crate) fn also(&self) -> String {
        match &self.names[1..] {
            [] => String::new(),
            others => format!(" (also {})", others.join(", ")),
        }
    }
}

/// All rows, group by group.
pub(crate) fn rows() -> impl Iterator<Item = Row> {
    TABLE
        .iter()
        .flat_map(|(fate, flags)| flags.iter().map(|flag| row(flag, *fate)))
}

/// Reads `--name|--alias|-s VALUE...`.
fn row(text: &'static str, fate: Fate) -> Row {
    let (names, value) = match text.split_once(' ') {
        Some((names, value)) => (names, Some(value)),
        None => (text, None),
    };
    Row {
        names: names.split('|').collect(),
        many: value.is_some_and(|value| value.ends_with("...")),
        value: value.map(|value| value.trim_end_matches("...")),
        fate,
    }
}

/// Flags that were given and decide nothing here.
#[derive(Debug, Default)]
pub(crate) struct Others(pub(crate) Vec<Row>);

impl Others {
    fn argument(row: &Row) -> Arg {
        let mut argument = Arg::new(row.names[0]).hide(true);
        let mut first = true;
        for name in &row.names {
            match (name.strip_prefix("--"), first) {
                (Some(long), true) => argument = argument.long(long),
                (Some(long), false) => argument = argument.alias(long),
                (None, _) => {
                    argument = argument.short(
                        name.chars()
                            .nth(1)
                            .expect("the table's short names have a letter"),
                    );
                }
            }
            first = false;
        }
        match row.value {
            None => argument.action(ArgAction::Count),
            Some(value) => argument
                .value_name(value)
                .action(ArgAction::Append)
                .num_args(if row.many { 1..=1024 } else { 1..=1 })
                .allow_negative_numbers(true),
        }
    }
}

impl FromArgMatches for Others {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given =
            |row: &Row| matches.value_source(row.names[0]) == Some(clap::parser::ValueSource::CommandLine);
        Ok(Self(
            rows()
                .filter(|row| row.fate != Fate::Acts && given(row))
                .collect(),
        ))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Others {
    fn augment_args(command: Command) -> Command {
        rows()
            .filter(|row| row.fate != Fate::Acts)
            .fold(command, |command, row| command.arg(Self::argument(&row)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

use Fate::{Acts, Fork, Noted, Refused};

#[rustfmt::skip]
const TABLE: &[(Fate, &[&str])] = &[
    (Acts, &[
        "--model-names|--model|-m MODEL", "--url|-u URL...", "--custom-endpoint|--endpoint PATH", "--endpoint-type TYPE", "--streaming",
        "--api-key KEY", "--header|-H NAME:VALUE...", "--extra-inputs KEY:VALUE...", "--use-server-token-count", "--use-legacy-max-tokens",
        "--request-timeout-seconds S", "--session-header NAME", "--tokenizer NAME", "--tokenizer-revision REVISION",
    ]),
    (Acts, &[
        "--scenario NAME", "--unsafe-override", "--public-dataset LOADER", "--hf-weka-dataset REPOSITORY", "--custom-dataset-type TYPE",
        "--input-file PATH", "--num-dataset-entries|--num-prompts N", "--max-context-length TOKENS", "--dataset-sampling-strategy STRATEGY",
        "--random-seed SEED", "--cache-bust TARGET", "--ignore-trace-delays", "--synthesis-max-isl TOKENS", "--inter-turn-delay-cap-seconds S",
    ]),
    (Acts, &[
        "--concurrency N", "--benchmark-duration S", "--benchmark-grace-period S", "--request-count|--num-requests N",
        "--conversation-num|--num-conversations|--num-sessions N", "--failed-request-threshold SHARE", "--trajectory-start-min-ratio SHARE",
        "--trajectory-start-max-ratio SHARE", "--burst-phase-starts", "--system-idle-gap-cap-seconds S", "--trace-idle-gap-cap-seconds S",
        "--request-rate RPS", "--request-rate-series FILE", "--user-centric-rate RPS", "--fixed-schedule",
    ]),
    (Acts, &[
        "--agentic-cache-warmup-duration S", "--warmup-requests-per-lane N", "--agentic-warmup-grace-period S", "--warmup-grace-period S",
    ]),
    (Acts, &[
        "--output-artifact-dir|--artifact-dir DIR", "--profile-export-prefix|--profile-export-file PREFIX", "--slice-duration S",
        "--goodput TAG:VALUE...", "--server-metrics URL...", "--no-server-metrics",
    ]),

    // The scenario makes these meaningless; stock aiperf drops them in silence.
    (Noted("the scenario makes its own warm-up: the last request before each lane's start is sent all the same"), &[
        "--warmup-request-count|--num-warmup-requests N", "--warmup-duration S", "--num-warmup-sessions N", "--warmup-concurrency N",
        "--warmup-prefill-concurrency N", "--warmup-request-rate RPS", "--warmup-arrival-pattern PATTERN", "--warmup-concurrency-ramp-duration S",
        "--warmup-prefill-concurrency-ramp-duration S", "--warmup-request-rate-ramp-duration S",
    ]),
    (Noted("a scenario never falls back to recorded times"), &["--no-fixed-schedule"]),
    (Noted("a lane takes the next trace, and the first again after the last"), &["--allow-dataset-wrap"]),
    (Noted("one model is served, so there is nothing to choose"), &["--model-selection-strategy STRATEGY"]),
    (Noted("one server is spoken to, so there is nothing to choose"), &["--url-strategy STRATEGY"]),
    (Noted("the server is asked for its models before anything is sent; one that does not answer refuses the run"), &[
        "--wait-for-model-timeout S", "--wait-for-model-mode MODE", "--wait-for-model-interval S",
    ]),
    (Noted("requests go over HTTP/1.1"), &["--transport|--transport-type TYPE"]),
    (Noted("each stream in flight has a connection of its own; one that has ended is used again"), &["--connection-reuse-strategy STRATEGY"]),
    (Noted("bodies are JSON"), &["--request-content-type TYPE"]),
    (Noted("a tokenizer is a file that is read, never code that is run"), &["--tokenizer-trust-remote-code"]),
    (Noted("prompts are not counted by the client, so no template is needed; the server's counts are used"), &["--apply-chat-template"]),

    // Where aiperf has processes, we have one; where it has screens, we have lines.
    (Noted("there is one process; lanes are tasks in it"), &[
        "--workers-max|--max-workers N", "--record-processor-service-count|--record-processors N", "--zmq-host HOST", "--zmq-ipc-path PATH",
        "--zmq-dual-bind",
    ]),
    (Noted("progress is one line on standard error, and none when that is no terminal"), &["--ui-type|--ui KIND", "--stats-interval S"]),
    (Noted("messages are few and always shown"), &["--log-level LEVEL", "--verbose|-v", "--extra-verbose"]),
    (Noted("no GPU telemetry is collected"), &["--no-gpu-telemetry", "--gpu-telemetry ITEM..."]),
    (Noted("every request's stamps are in requests.jsonl of the run's folder, always"), &["--export-http-trace", "--show-trace-timing"]),
    (Noted("records are always written; prompts and answers never are"), &["--export-level|--profile-export-level LEVEL"]),
    (Noted("the files are JSON and CSV"), &["--server-metrics-formats FORMAT..."]),
    (Noted("plots are in the report"), &["--auto-plot", "--no-auto-plot"]),
    (Noted("there is one run, so nothing follows it"), &[
        "--profile-run-cooldown-seconds S", "--confidence-level SHARE", "--profile-run-disable-warmup-after-first",
        "--no-profile-run-disable-warmup-after-first", "--set-consistent-seed", "--no-set-consistent-seed", "--vary-seed-per-trial",
        "--no-vary-seed-per-trial", "--parameter-sweep-cooldown-seconds S", "--parameter-sweep-same-seed", "--no-parameter-sweep-same-seed",
        "--no-sweep-table",
    ]),

    // Known to the fork only.
    (Fork("turnmill sends no Dynamo routing hints; --session-header X-Dynamo-Session-ID sends the session id under Dynamo's name"), &[
        "--use-dynamo-conv-aware-routing", "--dynamo-session-timeout-seconds S",
    ]),

    // They would change what is sent or kept, and we cannot do it.
    (Refused("a configuration file is not read; write a scenario document and use `turnmill run`"), &["--config|-f FILE"]),
    (Refused("a cap on requests in prefill cannot be run here; the scenario has none"), &[
        "--prefill-concurrency N", "--prefill-concurrency-ramp-duration S",
    ]),
    (Refused("all lanes start with the phase; a ramp cannot be run here"), &["--concurrency-ramp-duration S"]),
    (Refused("the scenario sends nothing at a rate"), &[
        "--arrival-pattern|--request-rate-mode PATTERN", "--arrival-smoothness|--vllm-burstiness SHAPE", "--request-rate-ramp-duration S",
        "--num-users N",
    ]),
    (Refused("needs --fixed-schedule, which the scenario refuses"), &[
        "--fixed-schedule-auto-offset", "--fixed-schedule-start-offset MS", "--fixed-schedule-end-offset MS",
    ]),
    (Refused("requests are cancelled by the end of the grace period only"), &["--request-cancellation-rate PERCENT", "--request-cancellation-delay S"]),
    (Refused("the trace's own delays are replayed, as the scenario's rules say"), &[
        "--use-think-time-only", "--max-idle-gap-cap-seconds S", "--replay-speedup FACTOR", "--open-loop-replay", "--no-open-loop-replay",
        "--open-loop-strict", "--trace-session-sample-ratio SHARE", "--synthesis-speedup-ratio FACTOR",
        "--conversation-turn-delay-mean|--session-turn-delay-mean MS", "--conversation-turn-delay-stddev|--session-turn-delay-stddev MS",
        "--conversation-turn-delay-ratio|--session-delay-ratio FACTOR",
    ]),
    (Refused("prompts and their lengths are those of the recorded traces"), &[
        "--conversation-turn-mean|--session-turns-mean N", "--conversation-turn-stddev|--session-turns-stddev N",
        "--prompt-batch-size|--batch-size-text|--batch-size|-b N", "--prompt-prefix-pool-size|--prefix-prompt-pool-size|--num-prefix-prompts N",
        "--prompt-prefix-length|--prefix-prompt-length TOKENS", "--shared-system-prompt-length TOKENS", "--user-context-prompt-length TOKENS",
        "--prompt-input-tokens-mean|--synthetic-input-tokens-mean|--isl TOKENS", "--prompt-input-tokens-stddev|--synthetic-input-tokens-stddev|--isl-stddev TOKENS",
        "--prompt-input-tokens-block-size|--synthetic-input-tokens-block-size|--isl-block-size TOKENS", "--seq-dist|--sequence-distribution PAIRS",
        "--prompt-output-tokens-mean|--output-tokens-mean|--osl TOKENS", "--prompt-output-tokens-stddev|--output-tokens-stddev|--osl-stddev TOKENS",
        "--synthesis-prefix-len-multiplier FACTOR", "--synthesis-prefix-root-multiplier N", "--synthesis-prompt-len-multiplier FACTOR",
        "--synthesis-output-len-multiplier FACTOR", "--synthesis-max-osl TOKENS",
    ]),
    (Refused("prompts are cut from one text; --prompt-pool FILE states another"), &["--prompt-corpus NAME"]),
    (Refused("a published corpus has one part, and no filter but --max-context-length"), &["--hf-subset NAME", "--dataset-filter KEY=VALUE..."]),
    (Refused("belongs to another kind of trace"), &["--omit-kv-hints", "--force-min-tokens", "--no-force-min-tokens"]),
    (Refused("the corpus is text"), &[
        "--download-video-content", "--uuid-and-strip", "--audio-batch-size|--batch-size-audio N", "--audio-length-mean S", "--audio-length-stddev S",
        "--audio-format FORMAT", "--audio-depths BITS", "--audio-sample-rates KHZ", "--audio-num-channels N", "--image-width-mean PX",
        "--image-width-stddev PX", "--image-height-mean PX", "--image-height-stddev PX", "--image-batch-size|--batch-size-image N",
        "--image-format FORMAT", "--image-source SOURCE", "--image-source-sampling STRATEGY", "--video-batch-size|--batch-size-video N",
        "--video-duration S", "--video-fps N", "--video-width PX", "--video-height PX", "--video-synth-type KIND", "--video-format FORMAT",
        "--video-codec CODEC", "--video-audio-sample-rate HZ", "--video-audio-num-channels N", "--video-audio-codec CODEC", "--video-audio-depth BITS",
        "--rankings-passages-mean N", "--rankings-passages-stddev N", "--rankings-passages-prompt-token-mean TOKENS",
        "--rankings-passages-prompt-token-stddev TOKENS", "--rankings-query-prompt-token-mean TOKENS", "--rankings-query-prompt-token-stddev TOKENS",
    ]),
    (Refused("a scenario is measured, not searched: start one run for each value"), &[
        "--num-profile-runs N", "--convergence-metric TAG", "--convergence-stat STAT", "--convergence-threshold VALUE", "--convergence-mode MODE",
        "--parameter-sweep-mode MODE", "--sweep-type TYPE", "--search-space SPACE...", "--search-metric TAG", "--search-stat STAT",
        "--search-direction DIRECTION", "--search-max-iterations N", "--search-initial-points N", "--search-random-seed SEED",
        "--search-planner NAME", "--optuna-sampler NAME", "--optuna-acquisition NAME", "--optuna-terminator NAME", "--search-percentile-pooling MODE",
        "--bo-constraint-mode MODE", "--variant|--sweep-variant VARIANT...", "--search-sla BOUND...", "--search-sla-tier TIER...",
        "--search-recipe NAME", "--ttft-sla-ms MS", "--isl-osl-pairs PAIRS", "--itl-sla-ms MS", "--tpot-sla-ms MS", "--e2e-sla-ms MS",
        "--error-rate-sla SHARE", "--slo-attainment-fraction SHARE", "--search-style STYLE", "--degradation-threshold SHARE",
        "--degradation-metric-tag TAG", "--degradation-stat STAT", "--isl-min TOKENS", "--isl-max TOKENS", "--isl-steps N",
        "--concurrency-min N", "--concurrency-max N", "--concurrency-steps N", "--osl-min TOKENS", "--osl-max TOKENS", "--osl-steps N",
        "--adaptive-scale",
    ]),
    (Refused("answers are measured, not judged"), &[
        "--accuracy-benchmark NAME", "--accuracy-tasks TASK", "--accuracy-n-shots N", "--accuracy-enable-cot", "--accuracy-no-enable-cot",
        "--accuracy-grader NAME", "--accuracy-system-prompt TEXT", "--accuracy-verbose",
    ]),
    (Refused("results stay on this machine; nothing is sent to another service"), &[
        "--otel-url URL", "--stream ITEM...", "--otel-resource-attributes ITEM...", "--gen-ai-provider NAME", "--mlflow-tracking-uri URI",
        "--mlflow-experiment NAME", "--mlflow-run-name NAME", "--mlflow-tag KEY:VALUE...", "--mlflow-parent-run-id ID",
        "--mlflow-artifact-glob GLOB...", "--wandb-project NAME", "--wandb-entity NAME", "--wandb-run-name NAME", "--wandb-tag TAG...",
    ]),
    (Refused("there is no service to ask while a run goes on"), &["--api-port PORT", "--api-host HOST"]),
    (Refused("answers are measured and not kept"), &["--export-outputs-json"]),
    (Refused("plots cannot be required"), &["--plot-required"]),
    (Refused("the network's share of a latency is not estimated; run the client beside the server"), &[
        "--network-latency-automatic", "--network-latency-mean MS", "--network-latency-ping-interval S",
    ]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// The long and short names that clap knows for `profile`, by the first of each.
    fn known() -> BTreeMap<String, BTreeSet<String>> {
        #[derive(clap::Parser)]
        struct Whole {
            #[command(flatten)]
            _args: crate::args::profile::ProfileArgs,
        }
        let command = <Whole as clap::CommandFactory>::command();
        command.clone().debug_assert();
        command
            .get_arguments()
            .filter_map(|argument| {
                let long = format!("--{}", argument.get_long()?);
                let names = argument
                    .get_all_aliases()
                    .unwrap_or_default()
                    .into_iter()
                    .map(|alias| format!("--{alias}"))
                    .chain(argument.get_short().map(|short| format!("-{short}")))
                    .chain([long.clone()])
                    .collect();
                Some((long, names))
            })
            .collect()
    }

    #[test]
    fn every_row_is_a_flag_under_all_its_names() {
        let known = known();
        for row in rows() {
            let names: BTreeSet<String> = row.names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(known.get(row.names[0]), Some(&names), "{}", row.names[0]);
        }
    }

    #[test]
    fn every_flag_is_a_row_or_our_own() {
        let rows: BTreeSet<&str> = rows().map(|row| row.names[0]).collect();
        let ours: Vec<String> = known()
            .into_keys()
            .filter(|name| !rows.contains(name.as_str()))
            .collect();
        assert_eq!(
            ours,
            [
                "--benchmark-id",
                "--ca",
                "--corpus",
                "--dialect",
                "--format",
                "--insecure",
                "--on-primer-failure",
                "--prompt-pool",
                "--proxy-from-env",
                "--require-valid",
                "--split-flattened-agents",
                "--tool-shaped-messages",
            ]
        );
    }

    #[test]
    fn reasons_are_sentences_without_an_end() {
        for row in rows() {
            if let Noted(why) | Refused(why) | Fork(why) = row.fate {
                assert!(!why.is_empty() && !why.ends_with('.'), "{}", row.names[0]);
            }
        }
    }
}
