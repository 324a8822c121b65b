//! aiperf's artifact files beside the run's own folder.
//!
//! The one place where `profile` asks for them; `exports` writes them.

use crate::args::profile::ProfileArgs;
use crate::output;
use exports::aiperf::{self, Bound};
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
    output::say(&format!("aiperf's files lie in {}", flags.artifact_dir.display()));
    for (flag, given) in [
        ("--slice-duration", flags.slice_duration.is_some()),
        ("--server-metrics", !flags.server_metrics.is_empty()),
    ] {
        if given {
            output::say(&format!("note: {flag} had no effect: its files are not written"));
        }
    }
    Ok(())
}
