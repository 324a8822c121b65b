//! The reader: every value at every scrape, from lines that say what changed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::Path;

use super::lines::{Content, Line, ScrapeLine};
use super::{ENDPOINTS_MAX, Family, SERIES_MAX, SERVER_METRICS_FILE, SERVER_METRICS_VERSION};
use crate::RecordError;
use crate::lines::Lines;

/// One page, as it was at the last scrape read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Endpoint {
    /// Where it is.
    pub url: String,
    /// By number; `None` where the line that told it is damaged.
    pub families: Vec<Option<Family>>,
    /// By number; `None` where the line that told it is damaged.
    pub series: Vec<Option<Series>>,
}

/// One series of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Index into [`Endpoint::families`].
    pub family: usize,
    /// Its own name, ending included.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its value at the last scrape read; `None` when it was not there.
    pub value: Option<f64>,
}

/// What the file says next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A page was read; its values stand in [`Reader::endpoints`].
    Scrape(Taken),
    /// A page could not be read.
    Miss {
        /// Which page.
        endpoint: usize,
        /// How often since the last step that counted it.
        missed: u64,
        /// What was wrong.
        problem: String,
    },
}

/// When a page was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Which page.
    pub endpoint: usize,
    /// When it was asked for.
    pub sent_ns: u64,
    /// The time of its values.
    pub at_ns: u64,
    /// When it was there whole.
    pub end_ns: u64,
    /// Some value is another than before.
    pub changed: bool,
    /// Failures since the last step that counted them.
    pub missed: u64,
    /// Lines of the page that are not here.
    pub skipped: u64,
}

/// Reads a run's `server_metrics.jsonl`.
#[derive(Debug)]
pub struct Reader {
    lines: Lines<BufReader<File>, Line>,
    endpoints: Vec<Endpoint>,
    damaged: u64,
}

impl Reader {
    /// Opens the file of a run; `None` when nothing was scraped.
    pub fn open(folder: &Path) -> Result<Option<Self>, RecordError> {
        let path = folder.join(SERVER_METRICS_FILE);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(source) if source.kind() == ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                return Err(RecordError::File {
                    action: "open",
                    path,
                    source,
                });
            }
        };
        let input = BufReader::with_capacity(1 << 16, file);
        Ok(Some(Self {
            lines: Lines::new(&path, input, SERVER_METRICS_VERSION),
            endpoints: Vec::new(),
            damaged: 0,
        }))
    }

    /// The pages, as they were at the last scrape read.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// Lines that could not be read, a torn last one included.
    pub fn damaged(&self) -> u64 {
        self.damaged + u64::from(self.lines.torn().is_some())
    }

    /// The next scrape or failure; `None` at the end.
    ///
    /// # Errors
    /// When the file cannot be read or was written under a later version. A damaged line is counted and passed over.
    pub fn next_step(&mut self) -> Result<Option<Step>, RecordError> {
        loop {
            let line = match self.lines.next() {
                None => return Ok(None),
                Some(Ok(line)) => line,
                Some(Err(RecordError::Line { .. } | RecordError::LongLine { .. })) => {
                    self.damaged += 1;
                    continue;
                }
                Some(Err(error)) => return Err(error),
            };
            if let Some(step) = self.take(line) {
                return Ok(Some(step));
            }
        }
    }

    fn take(&mut self, line: Line) -> Option<Step> {
        let number = line.endpoint as usize;
        if number >= ENDPOINTS_MAX {
            self.damaged += 1;
            return None;
        }
        if number >= self.endpoints.len() {
            self.endpoints.resize_with(number + 1, Endpoint::default);
        }
        let endpoint = &mut self.endpoints[number];
        match line.content {
            Content::Endpoint { url } => url.as_str().clone_into(&mut endpoint.url),
            Content::Family {
                family,
                name,
                kind,
                help,
            } => {
                let kind = kind.0;
                place(&mut endpoint.families, family, Family { name, kind, help });
            }
            Content::Series {
                series,
                family,
                name,
                labels,
            } => {
                let told = Series {
                    family: family as usize,
                    name,
                    labels,
                    value: None,
                };
                place(&mut endpoint.series, series, told);
            }
            Content::Scrape(scrape) => return Some(Step::Scrape(endpoint.apply(number, &scrape))),
            Content::Miss { missed, problem, .. } => {
                return Some(Step::Miss {
                    endpoint: number,
                    missed,
                    problem,
                });
            }
            Content::Unknown => {}
        }
        None
    }
}

impl Endpoint {
    /// The family of a series.
    pub fn family(&self, series: &Series) -> Option<&Family> {
        self.families.get(series.family)?.as_ref()
    }

    fn apply(&mut self, endpoint: usize, scrape: &ScrapeLine) -> Taken {
        let mut told = vec![false; if scrape.whole { self.series.len() } else { 0 }];
        let mut changed = false;
        let mut set = |series: &mut Series, value| {
            changed |= series.value != value;
            series.value = value;
        };
        for (number, value) in &scrape.values {
            let number = *number as usize;
            if let Some(Some(series)) = self.series.get_mut(number) {
                set(series, Some(*value));
            }
            if let Some(told) = told.get_mut(number) {
                *told = true;
            }
        }
        for number in &scrape.gone {
            if let Some(Some(series)) = self.series.get_mut(*number as usize) {
                set(series, None);
            }
        }
        for (series, told) in self.series.iter_mut().zip(told) {
            if let (Some(series), false) = (series, told) {
                set(series, None);
            }
        }
        Taken {
            endpoint,
            sent_ns: scrape.sent_ns,
            at_ns: scrape.at_ns,
            end_ns: scrape.end_ns,
            changed,
            missed: scrape.missed,
            skipped: scrape.skipped,
        }
    }
}

/// Puts `item` at its number, when that is one that a writer can have given.
fn place<T>(items: &mut Vec<Option<T>>, number: u32, item: T) {
    let number = number as usize;
    if number >= SERIES_MAX {
        return;
    }
    if number >= items.len() {
        items.resize_with(number + 1, || None);
    }
    items[number] = Some(item);
}
