//! `report`: the summary of a run, rebuilt from what it left on disk.

use crate::args::{Format, ReportArgs};
use crate::exit::Exit;
use crate::output;
use record::summary::Summary;
use report::text::Paint;
use std::io::IsTerminal;

pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<Exit> {
    let summary = report::rebuild(&args.dir)?;
    print(&summary, args.format)?;
    super::export::write(&args.export, &args.dir)?;
    Ok(Exit::Done)
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
