//! aiperf's artifact files beside the run's own folder.
//!
//! The one place where `profile` asks for them. Until their writers are here it writes none, and says so.

use crate::args::profile::ProfileArgs;
use crate::output;
use std::path::{Path, PathBuf};

/// Which files are wanted, and from what.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    /// The run's own folder, complete.
    pub(super) run: &'a Path,
    /// Where the files go.
    pub(super) folder: &'a Path,
    /// What their names begin with; `None` for aiperf's names.
    pub(super) prefix: Option<&'a PathBuf>,
    /// Length of a slice of the timeslice files, seconds; `None` for no such files.
    pub(super) slice_s: Option<f64>,
    /// `tag:value` bounds of a good request, times in milliseconds.
    pub(super) goodput: &'a [String],
    /// Further places that server metrics were wanted from.
    pub(super) server_metrics: &'a [String],
}

impl<'a> Wanted<'a> {
    pub(super) fn new(args: &'a ProfileArgs, run: &'a Path) -> Self {
        Self {
            run,
            folder: &args.output.artifact_dir,
            prefix: args.output.profile_export_prefix.as_ref(),
            slice_s: args.output.slice_duration,
            goodput: &args.output.goodput,
            server_metrics: &args.output.server_metrics,
        }
    }
}

/// Writes the artifact files of a finished run.
#[allow(clippy::unnecessary_wraps, reason = "its writers can fail")]
pub(super) fn write(wanted: &Wanted<'_>) -> anyhow::Result<()> {
    let prefix = wanted
        .prefix
        .map_or("profile_export".into(), |prefix| prefix.to_string_lossy());
    output::say(&format!(
        "note: aiperf's files ({prefix}*) are not written yet to {}; the run's own are in {}",
        wanted.folder.display(),
        wanted.run.display(),
    ));
    for (flag, given) in [
        ("--slice-duration", wanted.slice_s.is_some()),
        ("--goodput", !wanted.goodput.is_empty()),
        ("--server-metrics", !wanted.server_metrics.is_empty()),
    ] {
        if given {
            output::say(&format!("note: {flag} had no effect, being about those files"));
        }
    }
    Ok(())
}
