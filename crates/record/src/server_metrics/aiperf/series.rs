//! The values of every series over a window, and when pages were read.

use std::collections::BTreeMap;
use std::path::Path;

use super::Wall;
use super::json::EndpointInfo;
use crate::RecordError;
use crate::server_metrics::Family;
use crate::server_metrics::read::{Reader, Step};
use crate::server_metrics::window::{Span, Window};

/// The values of a window, by page.
#[derive(Debug)]
pub(super) struct Collected {
    pub(super) pages: Vec<CollectedPage>,
}

/// One page's.
#[derive(Debug)]
pub(super) struct CollectedPage {
    pub(super) url: String,
    /// Times of the window's scrapes; the first is what counters are counted from.
    pub(super) stamps: Vec<u64>,
    /// The first scrape within the window: gauges of the one before are not the window's.
    pub(super) gauges_from: usize,
    pub(super) series: Vec<CollectedSeries>,
}

#[derive(Debug)]
pub(super) struct CollectedSeries {
    pub(super) family: Family,
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
    /// One a scrape; `None` where it was not there.
    pub(super) values: Vec<Option<f64>>,
}

impl Collected {
    /// Reads the window's scrapes: those of each page within its span.
    pub(super) fn of_folder(
        run_folder: &Path,
        spans: &[Option<Span>],
        window: Option<Window>,
    ) -> Result<Self, RecordError> {
        let Some(mut reader) = Reader::open(run_folder)? else {
            return Ok(Self { pages: Vec::new() });
        };
        let mut pages = Vec::new();
        let mut position = vec![0; spans.len()];
        pages.resize_with(spans.len(), PageValues::default);
        while let Some(step) = reader.next_step()? {
            let Step::Scrape(taken) = step else { continue };
            let at = position[taken.endpoint];
            position[taken.endpoint] += 1;
            if spans[taken.endpoint].is_some_and(|span| (span.first..=span.last).contains(&at)) {
                let values = reader.endpoints()[taken.endpoint].series.iter();
                let values = values.map(|series| series.as_ref().and_then(|series| series.value));
                pages[taken.endpoint].push(taken.at_ns, values);
            }
        }
        let pages = reader.endpoints().iter().zip(pages).map(|(page, values)| {
            let mut columns = values.columns.into_iter();
            let series = page.series.iter().filter_map(|series| {
                let mut column = columns.next().unwrap_or_default();
                column.resize(values.stamps.len(), None);
                let series = series.as_ref()?;
                let there = column.iter().any(Option::is_some);
                there.then_some(CollectedSeries {
                    family: page.family(series)?.clone(),
                    name: series.name.clone(),
                    labels: series.labels.clone(),
                    values: column,
                })
            });
            let early = values.stamps.first().zip(window);
            let early = early.is_some_and(|(first, window)| *first < window.start_ns);
            CollectedPage {
                url: page.url.clone(),
                series: series.collect(),
                gauges_from: usize::from(early),
                stamps: values.stamps,
            }
        });
        Ok(Self {
            pages: pages.collect(),
        })
    }
}

#[derive(Debug, Default)]
struct PageValues {
    stamps: Vec<u64>,
    columns: Vec<Vec<Option<f64>>>,
}

impl PageValues {
    fn push(&mut self, at_ns: u64, values: impl Iterator<Item = Option<f64>>) {
        let before = self.stamps.len();
        self.stamps.push(at_ns);
        for (number, value) in values.enumerate() {
            if number == self.columns.len() {
                self.columns.push(vec![None; before]);
            }
            self.columns[number].resize(before, None);
            self.columns[number].push(value);
        }
    }
}

/// When one page was read, over the whole run.
#[derive(Debug, Default)]
pub(super) struct Fetches {
    pub(super) url: String,
    at_ns: Vec<u64>,
    updates_ns: Vec<u64>,
    latency_ns: u64,
}

impl Fetches {
    pub(super) fn of_folder(run_folder: &Path) -> Result<Vec<Self>, RecordError> {
        let mut pages = Vec::<Self>::new();
        let Some(mut reader) = Reader::open(run_folder)? else {
            return Ok(pages);
        };
        while let Some(step) = reader.next_step()? {
            pages.resize_with(reader.endpoints().len(), Self::default);
            if let Step::Scrape(taken) = step {
                let page = &mut pages[taken.endpoint];
                page.at_ns.push(taken.at_ns);
                page.latency_ns += taken.at_ns.saturating_sub(taken.sent_ns);
                if taken.changed || page.updates_ns.is_empty() {
                    page.updates_ns.push(taken.at_ns);
                }
            }
        }
        for (page, read) in pages.iter_mut().zip(reader.endpoints()) {
            page.url.clone_from(&read.url);
        }
        Ok(pages)
    }

    pub(super) fn info(&self, wall: Wall) -> Option<EndpointInfo> {
        let (first, last) = (*self.at_ns.first()?, *self.at_ns.last()?);
        let (first_update, last_update) = (*self.updates_ns.first()?, *self.updates_ns.last()?);
        let duration_ns = last_update.saturating_sub(first_update);
        let mut gaps: Vec<f64> = self
            .updates_ns
            .windows(2)
            .map(|two| two[1].saturating_sub(two[0]) as f64 / 1e6)
            .collect();
        gaps.sort_by(f64::total_cmp);
        Some(EndpointInfo {
            total_fetches: self.at_ns.len() as u64,
            first_fetch_ns: wall.ns(first),
            last_fetch_ns: wall.ns(last),
            avg_fetch_latency_ms: self.latency_ns as f64 / self.at_ns.len() as f64 / 1e6,
            unique_updates: self.updates_ns.len() as u64,
            first_update_ns: wall.ns(first_update),
            last_update_ns: wall.ns(last_update),
            duration_seconds: duration_ns as f64 / 1e9,
            avg_update_interval_ms: (!gaps.is_empty()).then(|| duration_ns as f64 / 1e6 / gaps.len() as f64),
            median_update_interval_ms: crate::stats::quantile::quantile(&gaps, 0.5),
        })
    }
}
