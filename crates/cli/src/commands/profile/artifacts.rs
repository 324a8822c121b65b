//! aiperf's artifact files beside the run's own folder.
//!
//! The one place where `profile` asks for them. Those whose writers are not here yet are not written, and it says so.

use crate::args::profile::ProfileArgs;
use crate::output;
use record::server_metrics::aiperf;
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
}

impl<'a> Wanted<'a> {
    pub(super) fn new(args: &'a ProfileArgs, run: &'a Path) -> Self {
        Self {
            run,
            folder: &args.output.artifact_dir,
            prefix: args.output.profile_export_prefix.as_ref(),
            slice_s: args.output.slice_duration,
            goodput: &args.output.goodput,
        }
    }
}

/// Writes the artifact files of a finished run.
pub(super) fn write(wanted: &Wanted<'_>) -> anyhow::Result<()> {
    write_server_metrics(wanted)?;
    let prefix = wanted
        .prefix
        .map_or("profile_export".into(), |prefix| prefix.to_string_lossy());
    output::say(&format!(
        "note: of aiperf's files only the server metrics are written yet, not {prefix}*, to {}; the run's own are in {}",
        wanted.folder.display(),
        wanted.run.display(),
    ));
    for (flag, given) in [
        ("--slice-duration", wanted.slice_s.is_some()),
        ("--goodput", !wanted.goodput.is_empty()),
    ] {
        if given {
            output::say(&format!("note: {flag} had no effect, being about those files"));
        }
    }
    Ok(())
}

/// `server_metrics_export.json`; no file when no page was ever there.
fn write_server_metrics(wanted: &Wanted<'_>) -> anyhow::Result<()> {
    let name = match wanted.prefix {
        Some(prefix) => format!("{}_server_metrics.json", prefix.display()),
        None => "server_metrics_export.json".to_owned(),
    };
    let file = wanted.folder.join(name);
    match wanted.slice_s {
        Some(slice_s) => aiperf::write_sliced(wanted.run, &file, (slice_s * 1e9) as u64)?,
        None => aiperf::write(wanted.run, &file)?,
    };
    Ok(())
}
