//! `report`: the summary of a run, and its trace where it has none, rebuilt from what it left on disk.

use crate::args::{Format, ReportArgs};
use crate::exit::Exit;
use crate::{output, trace_files};
use record::summary::Summary;
use report::text::Paint;
use std::io::IsTerminal;
use std::path::Path;

pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<Exit> {
    let summary = report::rebuild(&args.dir)?;
    make_trace(&summary, &args.dir);
    print(&summary, args.format)?;
    super::export::write(&args.export, &args.dir)?;
    Ok(Exit::Done)
}

/// Makes the trace of a run that was killed before it could; of one that goes on, the trace up to now.
fn make_trace(summary: &Summary, folder: &Path) {
    if summary.end.stop.is_some() && trace_files::exist(folder) {
        return;
    }
    output::say(&match trace_files::write(folder, None) {
        Ok(stored) => format!(
            "{} made from the records: {} requests, no block sidecar, which needs the corpus",
            stored.data, stored.rows
        ),
        Err(error) => format!(
            "warning: the run's trace was not written: {}",
            output::told(&error)
        ),
    });
}

/// Prints a summary as data.
pub(super) fn print(summary: &Summary, format: Format) -> anyhow::Result<()> {
    match format {
        Format::Text => {
            let colour = std::io::stdout().is_terminal() && output::colours_on_stderr();
            output::data(&report::text::render(
                summary,
                if colour { Paint::Colour } else { Paint::Plain },
            ))?;
        }
        Format::Json => output::json(&serde_json::to_value(summary)?)?,
    }
    Ok(())
}
