//! What every export needs of a run's folder: header, marks, wall clock, windows, and the records one by one.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use record::RecordError;
use record::folder::{Entry, RunReader};
use record::header::RunHeader;
use record::marks::{Mark, RunEvent, Stop};
use record::request::Phase;

use crate::ExportError;

/// A run's folder, its records not yet read.
pub(crate) struct Run {
    pub(crate) header: RunHeader,
    pub(crate) marks: Vec<Mark>,
    reader: RunReader,
}

impl Run {
    pub(crate) fn open(folder: &Path) -> Result<Self, ExportError> {
        let reader = RunReader::open(folder)?;
        let header = reader.header().cloned().ok_or_else(|| ExportError::NoHeader {
            path: folder.to_path_buf(),
        })?;
        Ok(Self {
            header,
            marks: reader.marks().to_vec(),
            reader,
        })
    }

    /// Gives each record to `take`. Rows that cannot be read are passed over: the summary counts them.
    pub(crate) fn for_each(
        &mut self,
        mut take: impl FnMut(&Entry) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        for entry in self.reader.by_ref() {
            match entry {
                Ok(entry) => take(&entry)?,
                Err(RecordError::Line { .. } | RecordError::LongLine { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// When the phase began and when the last of its requests had ended, as far as marks say.
    pub(crate) fn bounds(&self, phase: Phase) -> (Option<u64>, Option<u64>) {
        let at = |wanted: &dyn Fn(&RunEvent) -> bool| {
            let mark = self.marks.iter().find(|mark| wanted(&mark.event));
            mark.map(|mark| mark.at_ns)
        };
        (
            at(&|event| *event == RunEvent::PhaseStart(phase)),
            at(&|event| matches!(event, RunEvent::PhaseEnd { phase: ended, .. } if *ended == phase)),
        )
    }

    /// How the run ended; `None` when it was killed.
    pub(crate) fn stop(&self) -> Option<Stop> {
        self.marks.iter().rev().find_map(|mark| match mark.event {
            RunEvent::RunEnd { stop, .. } => Some(stop),
            _ => None,
        })
    }
}

/// The anchor's wall time in nanoseconds since 1970; 0 for a time before it.
pub(crate) fn wall_anchor_ns(header: &RunHeader) -> u64 {
    u64::try_from(header.wall_start.as_nanosecond()).unwrap_or(0)
}

/// The wall time of a stamp.
pub(crate) fn wall(header: &RunHeader, at_ns: u64) -> Timestamp {
    let offset = SignedDuration::from_nanos(i64::try_from(at_ns).unwrap_or(i64::MAX));
    header.wall_start.checked_add(offset).unwrap_or(header.wall_start)
}

/// Makes `path` and lets `fill` write it through a buffer.
pub(crate) fn write(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let file = File::create(path).map_err(ExportError::writing(path))?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    fill(&mut out)?;
    out.flush().map_err(ExportError::writing(path))
}
