//! `corpus`: fetch, verify, dump; inspect and survey are next door.

use crate::args::{CorpusCommand, DumpArgs, FetchArgs, Format, VerifyArgs};
use crate::exit::Exit;
use crate::output;
use crate::workload;
use anyhow::bail;
use corpus::dump::{self, DumpOptions, Layout};
use corpus::fetch::Wanted;
use corpus::{Corpus, LoadOptions};
use serde_json::json;

pub(crate) fn run(command: &CorpusCommand) -> anyhow::Result<Exit> {
    match command {
        CorpusCommand::Fetch(args) => fetch(args),
        CorpusCommand::Verify(args) => verify(args),
        CorpusCommand::Inspect(args) => super::contents::inspect(args),
        CorpusCommand::Survey(args) => super::contents::survey(args),
        CorpusCommand::Dump(args) => dump(args),
    }
}

fn fetch(args: &FetchArgs) -> anyhow::Result<Exit> {
    let clock = super::start_clock();
    let wanted = match corpus::pin::by_loader(&args.corpus) {
        Some(pin) => Wanted {
            sha256: args.sha256.clone().or_else(|| pin.sha256.clone()),
            ..Wanted::pinned(pin)
        },
        None if args.corpus.contains('/') => Wanted {
            repository: args.corpus.clone(),
            revision: Some(args.revision.clone()),
            file: args.file.clone(),
            sha256: args.sha256.clone(),
        },
        None => bail!(
            "{} is neither a pinned corpus nor OWNER/NAME; pinned: {}",
            args.corpus,
            corpus::pin::pins()
                .iter()
                .map(|pin| pin.loader.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        ),
    };
    let fetched = super::runtime()?.block_on(workload::fetch(&wanted, args.proxy_from_env, clock))?;
    output::data(&format!("{}\n", fetched.path.display()))?;
    output::say(&format!("sha256 {} ({} bytes)", fetched.sha256, fetched.bytes));
    if wanted.sha256.is_none() {
        output::say(
            "no digest was stated, so nothing was checked; a scenario must state this one as corpus.sha256",
        );
    }
    Ok(Exit::Done)
}

fn verify(args: &VerifyArgs) -> anyhow::Result<Exit> {
    let corpus = Corpus::load(&args.file, args.sha256.as_deref(), &LoadOptions::default(), None)?;
    let warnings: Vec<String> = corpus.warnings.iter().map(ToString::to_string).collect();
    match args.format {
        Format::Text => {
            for warning in &warnings {
                output::say(&format!("warning: {warning}"));
            }
            output::data(&format!(
                "{}: {} traces, {} bytes, largest request {} tokens\nsubagent times: {} from the trace's start, {} from the \
                 spawn\nsha256 {}\n",
                args.file.display(),
                corpus.traces.len(),
                corpus.bytes,
                corpus.selection.largest,
                corpus.inner_times.absolute,
                corpus.inner_times.relative,
                corpus.sha256
            ))?;
        }
        Format::Json => output::json(&json!({
            "file": args.file.display().to_string(),
            "sha256": corpus.sha256,
            "bytes": corpus.bytes,
            "traces": corpus.traces.len(),
            "largest_request_tokens": corpus.selection.largest,
            "warnings": warnings,
        }))?,
    }
    Ok(Exit::Done)
}

fn dump(args: &DumpArgs) -> anyhow::Result<Exit> {
    let mut load = LoadOptions::default();
    load.reconstruct.trace_idle_gap_cap_s = args.trace_idle_gap_cap_seconds;
    load.reconstruct.split_flattened_agents = !args.no_split;
    let corpus = Corpus::load(&args.file, None, &load, None)?;
    for warning in &corpus.warnings {
        output::say(&format!("warning: {}: {warning}", args.file.display()));
    }
    let layout = if args.together {
        Layout::Together
    } else {
        Layout::Each
    };
    let options = DumpOptions {
        seed: args.seed,
        models: args.models.clone(),
        layout,
    };
    output::with_stdout(|out| {
        if args.digests {
            dump::digests(&corpus.traces, &options, out)
        } else {
            dump::dump(&corpus.traces, &options, out)
        }
    })?;
    Ok(Exit::Done)
}
