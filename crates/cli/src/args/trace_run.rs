//! Options of `run` that only the replay of a trace file has.

use super::scenario::{parse_limit, parse_seconds};
use clap::{Args, ValueEnum};
use record::header::Slo;

/// How a trace file is replayed.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Replay of a trace file (workload: trace, or a Sweeper trace_path)")]
pub(crate) struct TraceRunArgs {
    /// When requests are sent: at their recorded instants, so many at once, or each session's rounds behind its answers.
    /// Default: open.
    #[arg(long, value_enum)]
    pub(crate) mode: Option<ModeName>,
    /// Requests in flight of --mode closed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) concurrency: Option<u32>,
    /// Recorded seconds of arrivals in one second of the replay. Default: 1.
    #[arg(long, value_name = "X", value_parser = parse_factor)]
    pub(crate) speedup: Option<f64>,
    /// Most requests in flight of --mode open and sessions; what it delays is counted. Default: no cap.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_in_flight: Option<u32>,
    /// Cut silences between arrivals to so many seconds of the replay.
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    pub(crate) gap_cap_s: Option<f64>,
    /// Take the recorded sends as instants instead of the arrivals; they have the old client's delays in them.
    #[arg(long)]
    pub(crate) from_send: bool,
    /// Wait before each later round of a session, in the place of the recorded one: SECONDS, `exp:MEAN` or
    /// `uniform:LOW,HIGH`.
    #[arg(long, value_name = "SPEC", value_parser = parse_think)]
    pub(crate) think_time: Option<ThinkTime>,
    /// Stop sending after so many seconds. Default: when the trace has been sent.
    #[arg(long, value_name = "S", value_parser = parse_factor)]
    pub(crate) duration_s: Option<f64>,
    /// How long answers may take after that. Default: as long as each request's own time limit.
    #[arg(long, value_name = "S", value_parser = parse_limit)]
    pub(crate) grace_s: Option<f64>,
    /// Where prompts go. Default: completions, as token ids, with a sidecar; chat without.
    #[arg(long, value_enum)]
    pub(crate) endpoint: Option<EndpointName>,
    /// How the rounds of a session build on each other, without a sidecar. Default: a round's prompt begins with the prompt of
    /// the round before, if it is longer.
    #[arg(long, value_enum)]
    pub(crate) context: Option<ContextName>,
    /// Seed of prompts and think times. Default: the trace's own, else 42.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Send rows that failed when they were recorded too, with one output token.
    #[arg(long)]
    pub(crate) include_failed: bool,
    /// Latency targets of a class, for goodput: `CLASS:ttft_ms=N,itl_ms=N,e2e_ms=N`, some of the three. Wins over the trace's
    /// own. May be repeated.
    #[arg(long, value_name = "CLASS:TARGETS", value_parser = parse_goodput)]
    pub(crate) goodput: Vec<ClassTargets>,
    /// Send `priority` and the gateway's headers for class, tenant and target. Some servers refuse them.
    #[arg(long)]
    pub(crate) send_slo_hints: bool,
    /// Tokens of a block in a Mooncake file. Default: 512.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) trace_block_size: Option<u32>,
    /// Cut Mooncake prompts that are longer than their ids can tell, instead of giving them text of their own.
    #[arg(long)]
    pub(crate) clamp_to_blocks: bool,
}

impl TraceRunArgs {
    /// Names of the options that were given.
    pub(crate) fn given(&self) -> Vec<&'static str> {
        let Self {
            mode,
            concurrency,
            speedup,
            max_in_flight,
            gap_cap_s,
            from_send,
            think_time,
            duration_s,
            grace_s,
            endpoint,
            context,
            seed,
            include_failed,
            goodput,
            send_slo_hints,
            trace_block_size,
            clamp_to_blocks,
        } = self;
        [
            ("--mode", mode.is_some()),
            ("--concurrency", concurrency.is_some()),
            ("--speedup", speedup.is_some()),
            ("--max-in-flight", max_in_flight.is_some()),
            ("--gap-cap-s", gap_cap_s.is_some()),
            ("--from-send", *from_send),
            ("--think-time", think_time.is_some()),
            ("--duration-s", duration_s.is_some()),
            ("--grace-s", grace_s.is_some()),
            ("--endpoint", endpoint.is_some()),
            ("--context", context.is_some()),
            ("--seed", seed.is_some()),
            ("--include-failed", *include_failed),
            ("--goodput", !goodput.is_empty()),
            ("--send-slo-hints", *send_slo_hints),
            ("--trace-block-size", trace_block_size.is_some()),
            ("--clamp-to-blocks", *clamp_to_blocks),
        ]
        .into_iter()
        .filter_map(|(name, given)| given.then_some(name))
        .collect()
    }
}

/// When requests are sent (`trace-csv` §5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeName {
    /// Each at its recorded instant, however slow the server is.
    Open,
    /// So many at once, in order of arrival; instants are ignored.
    Closed,
    /// First rounds as open; each later round its think time after the answer before it.
    Sessions,
}

impl ModeName {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Sessions => "sessions",
        }
    }
}

/// Where prompts go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EndpointName {
    /// `/v1/chat/completions`, as messages.
    Chat,
    /// `/v1/completions`, as token ids.
    Completions,
}

/// How rounds build on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ContextName {
    /// Every prompt is text of its own.
    Independent,
    /// Recorded lengths are those of a round's new part; the conversation so far stands before it.
    Accumulate,
}

/// A wait between an answer and the next round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ThinkTime {
    /// Always the same.
    Constant(f64),
    /// Exponential of that mean.
    Exponential(f64),
    /// Uniform between two.
    Uniform(f64, f64),
}

/// One `--goodput`: targets in ms, `None` where it says nothing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClassTargets {
    pub(crate) class: String,
    pub(crate) ttft_ms: Option<f64>,
    pub(crate) itl_ms: Option<f64>,
    pub(crate) e2e_ms: Option<f64>,
}

impl ClassTargets {
    /// Lays these over `slo`, dimension by dimension.
    pub(crate) fn over(&self, slo: &mut Slo) {
        for (own, other) in [
            (self.ttft_ms, &mut slo.ttft_ms),
            (self.itl_ms, &mut slo.itl_ms),
            (self.e2e_ms, &mut slo.e2e_ms),
        ] {
            *other = own.unwrap_or(*other);
        }
    }
}

fn parse_target(text: &str) -> Result<f64, String> {
    match text.trim().parse() {
        Ok(ms) if f64::is_finite(ms) && ms > 0.0 => Ok(ms),
        _ => Err(format!("{text:?} is no number of milliseconds above 0")),
    }
}

fn parse_factor(text: &str) -> Result<f64, String> {
    match parse_seconds(text)? {
        0.0 => Err("0 is none: it must be above 0".to_owned()),
        factor => Ok(factor),
    }
}

fn parse_think(text: &str) -> Result<ThinkTime, String> {
    if let Some(mean) = text.strip_prefix("exp:") {
        return parse_seconds(mean).map(ThinkTime::Exponential);
    }
    let Some(bounds) = text.strip_prefix("uniform:") else {
        return parse_seconds(text).map(ThinkTime::Constant);
    };
    let (low, high) = bounds.split_once(',').ok_or("expected uniform:LOW,HIGH")?;
    let (low, high) = (parse_seconds(low)?, parse_seconds(high)?);
    if low <= high {
        Ok(ThinkTime::Uniform(low, high))
    } else {
        Err(format!("{low} is above {high}; expected the lower bound first"))
    }
}

fn parse_goodput(text: &str) -> Result<ClassTargets, String> {
    let (class, list) = text
        .rsplit_once(':')
        .ok_or("expected CLASS:ttft_ms=N,itl_ms=N,e2e_ms=N; the class without a name is `default`")?;
    if class.is_empty() {
        return Err(
            "expected the name of a class before the colon; the class without one is `default`".to_owned(),
        );
    }
    let mut targets = ClassTargets {
        class: class.to_owned(),
        ttft_ms: None,
        itl_ms: None,
        e2e_ms: None,
    };
    for target in list.split(',') {
        let (name, value) = target.split_once('=').ok_or("expected NAME=MILLISECONDS")?;
        let value = parse_target(value)?;
        let slot = match name.trim() {
            "ttft_ms" => &mut targets.ttft_ms,
            "itl_ms" => &mut targets.itl_ms,
            "e2e_ms" => &mut targets.e2e_ms,
            other => {
                return Err(format!(
                    "{other:?} is no target; expected ttft_ms, itl_ms (time between tokens, reported as TPOT) or e2e_ms"
                ));
            }
        };
        if slot.replace(value).is_some() {
            return Err(format!("{} is stated twice", name.trim()));
        }
    }
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, FromArgMatches};

    /// Every option of the struct is among those that a replay of session trees refuses.
    #[test]
    fn every_option_tells_when_it_is_given() {
        let command = TraceRunArgs::augment_args(Command::new("run"));
        for option in command.get_arguments() {
            let long = format!("--{}", option.get_long().unwrap());
            let mut line = vec!["run".to_owned(), long.clone()];
            if option.get_action().takes_values() {
                let word = option
                    .get_possible_values()
                    .first()
                    .map(|value| value.get_name().to_owned());
                let value = match long.as_str() {
                    "--goodput" => "a:ttft_ms=1".to_owned(),
                    _ => word.unwrap_or_else(|| "1".to_owned()),
                };
                line.push(value);
            }
            let matches = command.clone().try_get_matches_from(line).unwrap();
            let given = TraceRunArgs::from_arg_matches(&matches).unwrap().given();
            assert_eq!(given, [long.as_str()]);
        }
    }

    #[test]
    fn values_are_read() {
        assert_eq!(parse_think("2.5"), Ok(ThinkTime::Constant(2.5)));
        assert_eq!(parse_think("exp:3"), Ok(ThinkTime::Exponential(3.0)));
        assert_eq!(parse_think("uniform:1,2"), Ok(ThinkTime::Uniform(1.0, 2.0)));
        assert!(parse_think("uniform:2,1").is_err());
        assert!(parse_think("normal:2,1").is_err());
        let targets = parse_goodput("a:b:ttft_ms=500,e2e_ms=3e4").unwrap();
        assert_eq!(
            (
                targets.class.as_str(),
                targets.ttft_ms,
                targets.itl_ms,
                targets.e2e_ms
            ),
            ("a:b", Some(500.0), None, Some(3e4))
        );
        assert!(parse_goodput("a").is_err());
        assert!(parse_goodput(":ttft_ms=1").is_err());
        assert!(parse_goodput("a:tpot=1").is_err());
        assert!(parse_goodput("a:ttft_ms=0").is_err());
        assert!(parse_goodput("a:ttft_ms=1,ttft_ms=2").is_err());
        assert!(parse_goodput("a:ttft_ms=x").unwrap_err().contains("milliseconds"));
    }
}
