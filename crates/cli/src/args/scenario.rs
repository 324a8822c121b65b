//! Options that decide what is sent.

use super::Format;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// The scenario and the choices that no key of it holds.
#[derive(Debug, Args)]
pub(crate) struct ScenarioArgs {
    /// The scenario document.
    pub(crate) scenario: PathBuf,
    /// The catalog that a reference to a replay entry is followed in.
    #[arg(long, value_name = "DIR")]
    pub(crate) catalog: Option<PathBuf>,
    /// A local copy of the corpus; its digest must be the one that the scenario states.
    #[arg(long, value_name = "FILE")]
    pub(crate) corpus: Option<PathBuf>,
    /// Break the scenario's locks for a trial; the run is stamped not valid for submission.
    #[arg(long)]
    pub(crate) override_locks: bool,
    /// Released set of rules to follow. Default: aiperf-0.12.0, or agentx-1.0 where the scenario states a key that only it
    /// knows.
    #[arg(long, value_enum)]
    pub(crate) dialect: Option<DialectName>,
    /// Part of every cache-bust marker; random when not given.
    #[arg(long, value_name = "ID")]
    pub(crate) benchmark_id: Option<String>,
    /// Start all lanes of a phase at once instead of at their recorded offsets.
    #[arg(long)]
    pub(crate) burst_phase_starts: bool,
    /// Which trace comes next.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) sampling: SamplingName,
    /// Stop sending after this many requests of the window.
    #[arg(long, value_name = "N")]
    pub(crate) request_cap: Option<u64>,
    /// What becomes of the run when the warm-up request of a root fails.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) on_primer_failure: PrimerFailure,
    /// How long requests in flight at the end of a cache-pressure warm-up may take. Default: the grace period, or the
    /// warm-up's own length up to 300 s if that is longer; none where the warm-up counts requests.
    #[arg(long, value_name = "S", value_parser = parse_limit)]
    pub(crate) warmup_grace_s: Option<f64>,
    /// The server's context length, for `max_context_length: max_model_len`; wins over what the server says.
    #[arg(long, value_name = "TOKENS")]
    pub(crate) max_model_len: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectName {
    /// Stock aiperf 0.12.0, defects included.
    #[value(name = "aiperf-0.12.0")]
    Aiperf0120,
    /// The fork agentx-harness 1.0, which published results come from.
    #[value(name = "agentx-1.0")]
    Agentx10,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SamplingName {
    /// Row order, wrapping round.
    #[default]
    Sequential,
    /// Shuffled passes.
    Shuffle,
    /// Drawn with replacement.
    Random,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrimerFailure {
    /// End the run; results are written.
    #[default]
    Abort,
    /// Count it and go on.
    Continue,
}

/// Where prompts come from.
#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    /// A `tokenizer.json`, the folder that holds one, or `builtin` for one token a byte.
    #[arg(long, value_name = "PATH", default_value = "builtin")]
    pub(crate) tokenizer: String,
    /// The text that prompts are cut from: UTF-8 text, or `.u32le` token ids of the tokenizer. Default: our own pool.
    #[arg(long, value_name = "FILE")]
    pub(crate) prompt_pool: Option<PathBuf>,
    /// Send tool results as messages of the role `tool` where they can be paired with a call.
    #[arg(long)]
    pub(crate) tool_shaped_messages: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// How the plan is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    #[command(flatten)]
    pub(crate) service: ServiceArgs,
    /// How the log is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// The service model of a simulation.
#[derive(Debug, Args)]
pub(crate) struct ServiceArgs {
    /// How long a request takes: `recorded`, SECONDS, or `tokens:TTFT_S,ITL_S`.
    #[arg(long, default_value = "recorded", value_parser = parse_service)]
    pub(crate) service: replay::simulate::Service,
    /// The same for conversations whose id matches GLOB, as `GLOB=SECONDS`; the first match counts.
    #[arg(long, value_name = "GLOB=SECONDS", value_parser = parse_service_for)]
    pub(crate) service_for: Vec<(String, f64)>,
    /// What a warm-up request takes.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.5, value_parser = parse_seconds)]
    pub(crate) warm_s: f64,
    /// Let matching requests of the window return an error, as `GLOB:TURN=TEXT`; TURN may be `*`.
    #[arg(long, value_name = "GLOB:TURN=TEXT", value_parser = parse_fail)]
    pub(crate) fail: Vec<FailSpec>,
}

/// One `--fail`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FailSpec {
    pub(crate) glob: String,
    pub(crate) turn: Option<usize>,
    pub(crate) text: String,
}

pub(super) fn parse_seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text
        .trim()
        .parse()
        .map_err(|_| format!("{text:?} is no number of seconds"))?;
    if seconds.is_finite() && seconds >= 0.0 {
        Ok(seconds)
    } else {
        Err(format!(
            "{text} is no time span: it must be finite and not negative"
        ))
    }
}

/// A share of a whole.
pub(crate) fn parse_share(text: &str) -> Result<f64, String> {
    match text.trim().parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(format!("{text} is no share: it must lie between 0 and 1")),
    }
}

/// Seconds, or `inf` for no limit.
pub(super) fn parse_limit(text: &str) -> Result<f64, String> {
    if text.trim() == "inf" {
        return Ok(f64::INFINITY);
    }
    parse_seconds(text)
}

fn parse_service(text: &str) -> Result<replay::simulate::Service, String> {
    use replay::simulate::Service;
    if text == "recorded" {
        return Ok(Service::Recorded);
    }
    let Some(tokens) = text.strip_prefix("tokens:") else {
        return parse_seconds(text).map(Service::Fixed);
    };
    let (ttft, itl) = tokens.split_once(',').ok_or("expected tokens:TTFT_S,ITL_S")?;
    Ok(Service::Tokens {
        ttft: parse_seconds(ttft)?,
        itl: parse_seconds(itl)?,
    })
}

fn parse_service_for(text: &str) -> Result<(String, f64), String> {
    let (glob, seconds) = text.rsplit_once('=').ok_or("expected GLOB=SECONDS")?;
    Ok((glob.to_string(), parse_seconds(seconds)?))
}

/// Split at the first `=` and the last colon before it: conversation ids hold colons, error texts may hold anything.
fn parse_fail(text: &str) -> Result<FailSpec, String> {
    let (which, error) = text.split_once('=').ok_or("expected GLOB:TURN=TEXT")?;
    let (glob, turn) = which.rsplit_once(':').ok_or("expected GLOB:TURN before the =")?;
    let turn = match turn {
        "*" => None,
        number => Some(
            number
                .parse()
                .map_err(|_| format!("the turn {number:?} is neither a number nor *"))?,
        ),
    };
    Ok(FailSpec {
        glob: glob.to_string(),
        turn,
        text: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::{FailSpec, parse_fail, parse_service, parse_service_for};
    use replay::simulate::Service;

    #[test]
    fn a_failure_is_split_at_the_first_equals_sign_and_the_last_colon_before_it() {
        let spec = |glob: &str, turn, text: &str| {
            Ok(FailSpec {
                glob: glob.into(),
                turn,
                text: text.into(),
            })
        };
        assert_eq!(
            parse_fail("t::fa:000:1=400 a=b: c"),
            spec("t::fa:000", Some(1), "400 a=b: c")
        );
        assert_eq!(parse_fail("*:*=boom"), spec("*", None, "boom"));
        assert!(parse_fail("t:x=boom").is_err());
        assert!(parse_fail("boom").is_err());
    }

    #[test]
    fn services_are_read() {
        assert_eq!(parse_service("recorded"), Ok(Service::Recorded));
        assert_eq!(parse_service("2.5"), Ok(Service::Fixed(2.5)));
        assert_eq!(
            parse_service("tokens:0.03,0.002"),
            Ok(Service::Tokens {
                ttft: 0.03,
                itl: 0.002
            })
        );
        assert!(parse_service("tokens:1").is_err());
        assert!(parse_service("-1").is_err());
        assert_eq!(parse_service_for("*::fa:*=20"), Ok(("*::fa:*".into(), 20.0)));
    }
}
