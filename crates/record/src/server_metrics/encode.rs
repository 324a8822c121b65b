//! From scrapes to lines: the first whole, then what changed.

use std::collections::{BTreeMap, HashMap};

use super::lines::{Content, Line, ScrapeLine};
use super::{SERIES_MAX, SERVER_METRICS_FILE, SERVER_METRICS_VERSION, Sample, Scrape, WHOLE_EVERY, Why};
use crate::RecordError;
use crate::append::Appender;
use crate::header::ServerUrl;
use crate::words::Worded;

/// Ending of the series that say when a counter was made: constants that no figure needs.
const CREATED: &str = "_created";

/// Whole lines, ready to be appended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EncodedLines(Vec<u8>);

/// The file, while the run goes on.
#[derive(Debug)]
pub struct Writer(Appender);

impl Writer {
    /// A new file in `folder`.
    pub fn create(folder: &std::path::Path) -> Result<Self, RecordError> {
        Appender::create(&folder.join(SERVER_METRICS_FILE)).map(Self)
    }

    /// Appends lines, all or none of them.
    pub fn append(&mut self, lines: &EncodedLines) -> Result<(), RecordError> {
        self.0.append(&lines.0)
    }

    /// Returns once everything is on the disk.
    pub fn sync(&mut self) -> Result<(), RecordError> {
        self.0.sync()
    }
}

/// Makes the lines of one page's scrapes.
#[derive(Debug)]
pub struct Encoder {
    endpoint: u32,
    url: ServerUrl,
    announced: bool,
    families: HashMap<String, u32>,
    series: HashMap<String, u32>,
    /// By series: its value, and the number of the scrape that last had it.
    values: Vec<(Option<f64>, u64)>,
    scrapes: u64,
    since_whole: u32,
    /// Failures that no line has counted yet, and those of the streak that is going on.
    uncounted: u64,
    streak: u64,
}

impl Encoder {
    /// For page number `endpoint`, counted from 0, at `url`.
    pub fn new(endpoint: u32, url: ServerUrl) -> Self {
        Self {
            endpoint,
            url,
            announced: false,
            families: HashMap::new(),
            series: HashMap::new(),
            values: Vec::new(),
            scrapes: 0,
            since_whole: 0,
            uncounted: 0,
            streak: 0,
        }
    }

    /// Whether the page was ever there.
    pub fn has_answered(&self) -> bool {
        self.scrapes > 0
    }

    /// The lines of a scrape, with those that explain what is new in it.
    pub fn scrape(&mut self, scrape: &Scrape) -> EncodedLines {
        let mut lines = self.announce();
        self.scrapes += 1;
        let whole = self.scrapes == 1 || scrape.why != Why::Interval || self.since_whole + 1 >= WHOLE_EVERY;
        self.since_whole = if whole { 0 } else { self.since_whole + 1 };
        let mut skipped = scrape.skipped;
        let mut values = Vec::new();
        for sample in &scrape.samples {
            if !sample.value.is_finite() || sample.name.ends_with(CREATED) {
                continue;
            }
            let Some(series) = self.series(scrape, sample, &mut lines) else {
                skipped += 1;
                continue;
            };
            let (last, seen) = &mut self.values[series as usize];
            *seen = self.scrapes;
            if last.replace(sample.value) != Some(sample.value) || whole {
                values.push((series, sample.value));
            }
        }
        let gone = self.gone();
        let line = ScrapeLine {
            why: Worded(scrape.why),
            sent_ns: scrape.sent_ns,
            at_ns: scrape.at_ns,
            end_ns: scrape.end_ns,
            whole,
            values,
            gone,
            skipped,
            missed: std::mem::take(&mut self.uncounted),
        };
        self.streak = 0;
        self.push(&mut lines, Content::Scrape(line));
        lines
    }

    /// A scrape failed. A line comes of the first of a streak and of every [`WHOLE_EVERY`]th; the others are counted.
    pub fn miss(&mut self, at_ns: u64, problem: &str) -> Option<EncodedLines> {
        self.uncounted += 1;
        self.streak += 1;
        if !(self.streak - 1).is_multiple_of(u64::from(WHOLE_EVERY)) {
            return None;
        }
        let mut lines = self.announce();
        let missed = std::mem::take(&mut self.uncounted);
        let problem = problem.to_owned();
        self.push(
            &mut lines,
            Content::Miss {
                at_ns,
                missed,
                problem,
            },
        );
        Some(lines)
    }

    fn announce(&mut self) -> EncodedLines {
        let mut lines = EncodedLines::default();
        if !std::mem::replace(&mut self.announced, true) {
            self.push(
                &mut lines,
                Content::Endpoint {
                    url: self.url.clone(),
                },
            );
        }
        lines
    }

    /// The number of a sample's series; `None` when there are too many.
    fn series(&mut self, scrape: &Scrape, sample: &Sample, lines: &mut EncodedLines) -> Option<u32> {
        let key = key(sample);
        if let Some(series) = self.series.get(&key) {
            return Some(*series);
        }
        if self.values.len() == SERIES_MAX {
            return None;
        }
        let series = self.values.len() as u32;
        let family = self.family(scrape, sample, lines);
        self.values.push((None, 0));
        self.series.insert(key, series);
        let labels: BTreeMap<String, String> = sample.labels.iter().cloned().collect();
        let name = sample.name.clone();
        self.push(
            lines,
            Content::Series {
                series,
                family,
                name,
                labels,
            },
        );
        Some(series)
    }

    fn family(&mut self, scrape: &Scrape, sample: &Sample, lines: &mut EncodedLines) -> u32 {
        let family = &scrape.families[sample.family];
        if let Some(known) = self.families.get(&family.name) {
            return *known;
        }
        let number = self.families.len() as u32;
        self.families.insert(family.name.clone(), number);
        self.push(
            lines,
            Content::Family {
                family: number,
                name: family.name.clone(),
                kind: Worded(family.kind),
                help: family.help.clone(),
            },
        );
        number
    }

    /// Series that had a value and were not in this scrape.
    fn gone(&mut self) -> Vec<u32> {
        let scrapes = self.scrapes;
        let missing = self.values.iter_mut().zip(0..);
        missing
            .filter_map(|((value, seen), series)| {
                let gone = value.is_some() && *seen != scrapes;
                gone.then(|| {
                    *value = None;
                    series
                })
            })
            .collect()
    }

    fn push(&self, lines: &mut EncodedLines, content: Content) {
        let line = Line {
            v: SERVER_METRICS_VERSION,
            endpoint: self.endpoint,
            content,
        };
        serde_json::to_writer(&mut lines.0, &line).expect("lines have text keys and go to memory");
        lines.0.push(b'\n');
    }
}

/// Tells series apart: name and labels, with separators that neither can be made of by accident.
fn key(sample: &Sample) -> String {
    let mut key = sample.name.clone();
    for (label, value) in &sample.labels {
        key.extend(["\u{1f}", label, "\u{1e}", value]);
    }
    key
}
