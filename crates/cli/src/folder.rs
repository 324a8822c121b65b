//! The folder of a run.

use anyhow::{Context, bail};
use driver::clock::Clock;
use std::path::{Path, PathBuf};

/// Where runs go that no folder is stated for.
const RUNS: &str = "runs";

/// Name of the run's folder among aiperf's artifact files.
const AMONG_ARTIFACTS: &str = "turnmill";

/// A folder of its own beneath `artifacts`, which aiperf fills again and again: one that holds a run is left alone, and the
/// next is named after the time.
pub(crate) fn beneath(artifacts: &Path, clock: &Clock) -> anyhow::Result<PathBuf> {
    let first = artifacts.join(AMONG_ARTIFACTS);
    if std::fs::read_dir(&first).is_ok_and(|mut entries| entries.next().is_some()) {
        let name = format!("{AMONG_ARTIFACTS}-{}", time_of_start(clock)?);
        return for_run(Some(&artifacts.join(name)), clock);
    }
    for_run(Some(&first), clock)
}

fn time_of_start(clock: &Clock) -> anyhow::Result<String> {
    let start = jiff::Timestamp::from_nanosecond(i128::from(clock.wall_anchor_ns()))?;
    Ok(start.strftime("%Y-%m-%dT%H-%M-%SZ").to_string())
}

/// The stated folder, or one named after the time; it must not hold anything yet.
pub(crate) fn for_run(stated: Option<&Path>, clock: &Clock) -> anyhow::Result<PathBuf> {
    let folder = if let Some(folder) = stated {
        folder.to_path_buf()
    } else {
        Path::new(RUNS).join(time_of_start(clock)?)
    };
    match std::fs::read_dir(&folder) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                bail!(
                    "{} is not empty; a run needs a folder of its own, state another with --out",
                    folder.display()
                );
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(|| format!("{} cannot be used", folder.display())),
    }
    Ok(folder)
}
