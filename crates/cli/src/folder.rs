//! The folder of a run.

use anyhow::{Context, bail};
use driver::clock::Clock;
use std::path::{Path, PathBuf};

/// Where runs go that no folder is stated for.
const RUNS: &str = "runs";

/// The stated folder, or one named after the time; it must not hold anything yet.
pub(crate) fn for_run(stated: Option<&Path>, clock: &Clock) -> anyhow::Result<PathBuf> {
    let folder = if let Some(folder) = stated {
        folder.to_path_buf()
    } else {
        let start = jiff::Timestamp::from_nanosecond(i128::from(clock.wall_anchor_ns()))?;
        Path::new(RUNS).join(start.strftime("%Y-%m-%dT%H-%M-%SZ").to_string())
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
