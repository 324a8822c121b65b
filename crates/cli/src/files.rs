//! The files that a run writes while it goes on, from one thread of their own.

use driver::clock::Clock;
use driver::run::Written;
use record::RecordError;
use record::folder::Recorder;
use record::header::RunHeader;
use record::server_metrics::encode::{EncodedLines, Writer};
use std::path::Path;
use tokio::sync::mpsc;

/// The files that are written while the run goes on.
pub(crate) struct Files {
    recorder: Recorder,
    /// `None` without scrapes, and after one that could not be written.
    server_metrics: Option<Writer>,
}

impl Files {
    pub(crate) fn create(folder: &Path, header: &RunHeader, scraped: bool) -> Result<Self, RecordError> {
        Ok(Self {
            recorder: Recorder::create(folder, header)?,
            server_metrics: scraped.then(|| Writer::create(folder)).transpose()?,
        })
    }

    /// Writes what comes. Ends with an error at the first record or mark that cannot be written, which ends the run.
    pub(crate) fn write(
        mut self,
        mut written: mpsc::Receiver<Written>,
        clock: Clock,
    ) -> Result<(), RecordError> {
        while let Some(what) = written.blocking_recv() {
            match what {
                Written::Record(record) => self.recorder.append(&record)?,
                Written::Mark(mark) => self.recorder.mark(&mark)?,
                Written::Scrape(lines) => self.append_scrape(&lines),
            }
            self.recorder.sync_if_due(clock.now_ns())?;
        }
        if let Some(server_metrics) = &mut self.server_metrics {
            server_metrics.sync()?;
        }
        self.recorder.sync()
    }

    /// The server's metrics are no reason to end a run: when they cannot be written any more, the rest is left out.
    fn append_scrape(&mut self, lines: &EncodedLines) {
        if let Some(writer) = &mut self.server_metrics
            && let Err(error) = writer.append(lines)
        {
            tracing::warn!(%error, "no more server metrics are written");
            self.server_metrics = None;
        }
    }
}
