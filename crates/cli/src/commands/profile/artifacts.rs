//! aiperf's artifact files beside the run's own folder.
//!
//! The one place where `profile` asks for them; `exports` writes them.

use crate::args::profile::ProfileArgs;
use crate::output;
use exports::aiperf::{self, Bound};
use record::server_metrics::aiperf as server_metrics;
use std::path::Path;

/// The bounds of `--goodput`; each of its values may hold several.
pub(super) fn bounds(args: &ProfileArgs) -> anyhow::Result<Vec<Bound>> {
    let stated = args
        .output
        .goodput
        .iter()
        .flat_map(|text| text.split_whitespace());
    Ok(stated.map(Bound::parse).collect::<Result<_, _>>()?)
}

/// Writes the artifact files of the finished run in `run`, and says which flags about such files had no effect.
pub(super) fn write(args: &ProfileArgs, bounds: Vec<Bound>, run: &Path) -> anyhow::Result<()> {
    let flags = &args.output;
    let options = aiperf::Options {
        dir: Some(flags.artifact_dir.display().to_string()),
        tokenizer: args.endpoint.tokenizer.clone(),
        prefix: flags
            .profile_export_prefix
            .as_ref()
            .map(|prefix| prefix.display().to_string()),
        bounds,
    };
    aiperf::write(run, &flags.artifact_dir, &options)?;
    write_server_metrics(args, run)?;
    output::say(&format!("aiperf's files lie in {}", flags.artifact_dir.display()));
    if flags.slice_duration.is_some() {
        output::say(
            "note: --slice-duration cuts the server metrics alone; the timeslice files are not written",
        );
    }
    Ok(())
}

/// `server_metrics_export.json`; no file when no page was ever there.
fn write_server_metrics(args: &ProfileArgs, run: &Path) -> anyhow::Result<()> {
    let flags = &args.output;
    let name = match &flags.profile_export_prefix {
        Some(prefix) => format!("{}_server_metrics.json", prefix.display()),
        None => server_metrics::FILE.to_owned(),
    };
    let file = flags.artifact_dir.join(name);
    match flags.slice_duration {
        Some(slice_s) => server_metrics::write_sliced(run, &file, (slice_s * 1e9) as u64)?,
        None => server_metrics::write(run, &file)?,
    };
    Ok(())
}
