//! `convert`: between Weka, trace CSV and Mooncake. A bundle of data CSV and sidecar stands in the middle of every way.

use crate::args::{ConvertArgs, FormName, Format};
use crate::exit::Exit;
use crate::{output, trace_input};
use anyhow::{Context, bail};
use serde_json::{Value, json};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use trace::Problems;
use trace::bundle::BundleFiles;
use trace::convert::{Converted, Losses};
use trace::header::{Header, Mode, Stored};
use trace::mooncake::Options;
use trace::recording::{LoadOptions, Recording};
use trace::verify::{Reference, VERSION_MAX, verify};

pub(crate) fn run(args: &ConvertArgs) -> anyhow::Result<Exit> {
    let source = trace_input::form_of(&args.input, args.source)?;
    if source == args.target {
        bail!("{} is of that form already", args.input.display());
    }
    if let Some(folder) = args.out.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    }
    let done = if args.target == FormName::Csv {
        let (folder, stem) = stem(&args.out)?;
        into_bundle(args, source, BundleFiles::of_stem(&folder, &stem))?.map(|converted| Done {
            written: [
                Some(&converted.stored.data),
                converted.stored.token_blocks.as_ref().map(|(name, _)| name),
            ]
            .into_iter()
            .flatten()
            .map(|name| folder.join(name))
            .chain(["header", "binding"].map(|what| folder.join(format!("{stem}.{what}.yaml"))))
            .collect(),
            rows: converted.stored.rows,
            losses: vec![converted.losses],
            problems: Some(converted.problems),
        })
    } else {
        out_of_bundle(args, source)?
    };
    let Some(done) = done else {
        return Ok(Exit::Invalid);
    };
    done.show(args.format)?;
    Ok(Exit::Done)
}

/// What a conversion made.
struct Done {
    written: Vec<PathBuf>,
    rows: u64,
    losses: Vec<Losses>,
    problems: Option<Problems>,
}

impl Done {
    fn show(&self, format: Format) -> anyhow::Result<()> {
        let problems = self.problems.as_ref().map(Problems::list).unwrap_or_default();
        for problem in problems {
            output::say(&format!("warning: {problem}"));
        }
        let losses: Vec<&(&str, u64)> = self.losses.iter().flat_map(Losses::list).collect();
        let written: Vec<String> = self
            .written
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        match format {
            Format::Json => output::json(&json!({
                "written": written,
                "requests": self.rows,
                "losses": losses.iter().map(|(what, count)| json!({"what": what, "count": count})).collect::<Vec<Value>>(),
                "warnings": problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
            }))?,
            Format::Text => {
                for (what, count) in losses {
                    output::say(&format!("not held: {what}: {count}"));
                }
                output::say(&format!("{} requests", self.rows));
                output::data(&format!("{}\n", written.join("\n")))?;
            }
        }
        Ok(())
    }
}

/// Weka or Mooncake into a bundle. `None` when the source is wrong: its problems have been shown.
fn into_bundle(
    args: &ConvertArgs,
    source: FormName,
    files: BundleFiles,
) -> anyhow::Result<Option<Converted>> {
    let input = &args.input;
    let mut header = Header::new(Mode::Generated);
    header.workload_spec = Some(input.display().to_string());
    if source == FormName::Weka {
        return Ok(Some(corpus::convert::from_weka(input, files, &header)?));
    }
    let options = Options {
        block_size: args.trace_block_size,
        clamp_to_blocks: args.clamp_to_blocks,
    };
    let mut problems = Problems::new(input);
    let converted = trace::convert::from_mooncake(input, options, files, &header, &mut problems);
    match converted {
        Err(trace::TraceError::Refused { .. }) => {
            show(&problems);
            Ok(None)
        }
        converted => Ok(Some(converted?)),
    }
}

/// Anything into Weka or Mooncake. `None` when the source is wrong: its problems have been shown.
fn out_of_bundle(args: &ConvertArgs, source: FormName) -> anyhow::Result<Option<Done>> {
    let between = tempfile::tempdir()?;
    let mut losses = Vec::new();
    let mut problems = None;
    let reference = if source == FormName::Csv {
        trace_input::reference(&args.input)?
    } else {
        let files = BundleFiles::of_stem(between.path(), "between");
        into_bundle(args, source, files)?.map(|converted| {
            losses.push(converted.losses);
            problems = Some(converted.problems);
            bundled(between.path(), &converted.stored)
        })
    };
    let Some(reference) = reference else {
        return Ok(None);
    };
    let verified = verify(&reference)?;
    if !verified.problems.is_ok() {
        show(&verified.problems);
        return Ok(None);
    }
    let options = LoadOptions {
        include_failed: args.include_failed,
        ..LoadOptions::default()
    };
    let recording = Recording::load(&reference, options)?;
    let mut partial = args.out.clone().into_os_string();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let written = || -> anyhow::Result<Losses> {
        let output = BufWriter::new(File::create(&partial)?);
        Ok(if args.target == FormName::Weka {
            corpus::convert::to_weka(&recording, output)?
        } else {
            trace::convert::to_mooncake(&recording, args.trace_block_size, output)?
        })
    };
    let failed = || format!("{} cannot be written", args.out.display());
    losses.push(written().with_context(failed)?);
    trace::take_place(&partial, &args.out).with_context(failed)?;
    Ok(Some(Done {
        written: vec![args.out.clone()],
        rows: recording.requests.len() as u64,
        losses,
        problems: Some(problems.unwrap_or(recording.warnings)),
    }))
}

/// What the binding of a bundle in `folder` says.
fn bundled(folder: &Path, stored: &Stored) -> Reference {
    let blocks = stored.token_blocks.as_ref();
    Reference {
        sha256: Some(stored.sha256.clone()),
        rows: Some(stored.rows),
        trace_version: VERSION_MAX,
        token_blocks: blocks.map(|(name, digest)| (folder.join(name), digest.clone())),
        ..Reference::of_data(&folder.join(&stored.data))
    }
}

fn show(problems: &Problems) {
    for problem in problems.list() {
        output::say(&problem.to_string());
    }
}

/// Folder and stem of a bundle's files. `--out` may name the CSV.
fn stem(out: &Path) -> anyhow::Result<(PathBuf, String)> {
    let name = out.file_name().context("--out names no file")?.to_string_lossy();
    let stem = name.strip_suffix(".csv").unwrap_or(&name).to_owned();
    Ok((out.parent().unwrap_or(Path::new("")).to_owned(), stem))
}
