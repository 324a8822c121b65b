//! The derived files of a run, made again from the others.

use std::path::Path;

use record::append::write_whole;
use record::folder::{SUMMARY_FILE, SUMMARY_TEXT_FILE};
use record::summary::Summary;

use crate::text::{self, Paint};

/// What can go wrong with a report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A file of the run cannot be read or written.
    #[error(transparent)]
    Record(#[from] record::RecordError),
    /// The summary cannot be put into words.
    #[error("the summary cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// Computes the summary of the run in `folder` from its record files alone and writes `summary.json` and `summary.txt` there.
/// What the files lack stands in [`Summary::losses`] and among its warnings.
pub fn rebuild(folder: &Path) -> Result<Summary, ReportError> {
    let summary = Summary::of_folder(folder)?;
    let mut json = serde_json::to_vec_pretty(&summary)?;
    json.push(b'\n');
    write_whole(&folder.join(SUMMARY_FILE), &json)?;
    write_whole(
        &folder.join(SUMMARY_TEXT_FILE),
        text::render(&summary, Paint::Plain).as_bytes(),
    )?;
    Ok(summary)
}
