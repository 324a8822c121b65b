//! A run from its first file to its summary: writer thread, scrapes, progress, run loop, report. The same for every load.

use crate::files::Files;
use crate::{output, progress, stop};
use anyhow::{Context, anyhow};
use driver::client::Client;
use driver::clock::{Clock, Pacing};
use driver::run::{Ended, FailedThreshold, Job, Load};
use driver::scrape::{Bell, Pages, Scraper};
use record::header::RunHeader;
use record::marks::Stop;
use record::summary::Summary;
use replay::Machine;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// A run that is ready to start.
pub(super) struct Running<M, L> {
    pub(super) header: RunHeader,
    pub(super) machine: M,
    pub(super) load: L,
    pub(super) client: Client,
    pub(super) pages: Option<Pages>,
    pub(super) clock: Clock,
    pub(super) failed_threshold: Option<FailedThreshold>,
    /// Connections that may be open at once.
    pub(super) connections: u64,
}

impl<M: Machine, L: Load<Ask = M::Ask>> Running<M, L> {
    /// Runs to the end; the folder then has everything but the trace files.
    pub(super) async fn run(self, folder: &Path) -> anyhow::Result<(Ended, Summary)> {
        driver::descriptors::ensure_descriptors(self.connections)?;
        std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        let files = Files::create(folder, &self.header, self.pages.is_some())?;
        let (written, to_write) = mpsc::channel(driver::run::WRITE_QUEUE);
        let clock = self.clock;
        let writer = std::thread::Builder::new()
            .name("write".into())
            .spawn(move || files.write(to_write, clock))
            .context("no thread for writing the run's files")?;
        let scraper = match self.pages {
            Some(pages) => Some(Scraper::start(pages, clock, written.clone()).await?),
            None => None,
        };
        let (shown, show) = watch::channel(None);
        let showing = tokio::spawn(progress::show(show, clock));
        let job = Job {
            machine: self.machine,
            load: self.load,
            client: Arc::new(self.client),
            clock,
            pacing: Pacing::Sleep,
            bell: scraper.as_ref().map_or_else(Bell::default, Scraper::bell),
            failed_threshold: self.failed_threshold,
        };
        let ended = driver::run::run(job, written, shown, stop::wishes()?).await;
        if let Some(scraper) = scraper {
            scraper.finish().await;
        }
        showing.await.context("the progress line failed")?;
        let wrote = writer
            .join()
            .map_err(|_| anyhow!("the thread that writes the run's files failed"))?;
        let mut ended = ended?;
        if let Err(error) = wrote {
            let reason = format!("the run's files are incomplete: {}", output::told(&error.into()));
            ended = Ended {
                stop: Stop::Abort,
                reason,
            };
        }
        // Where nothing can be written any more, the report is still worth reading.
        let summary = report::rebuild(folder).or_else(|error| {
            output::say(&format!(
                "warning: the summary is not kept: {}; hint: with room on the disk, `turnmill report {}` makes it",
                output::told(&error.into()),
                folder.display()
            ));
            Summary::of_folder(folder)
        })?;
        Ok((ended, summary))
    }
}
