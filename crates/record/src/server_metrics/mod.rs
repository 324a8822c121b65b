//! What the server said about itself while a run went on: `server_metrics.jsonl`, and the figures made from it.
//!
//! A scrape of a `/metrics` page becomes a [`Scrape`] on the run's clock. [`encode::Encoder`] writes the first one whole
//! and of the later ones what changed; [`read::Reader`] gives back every value at every scrape. [`statistics`] makes
//! the figures of a window: counters by their increase, gauges by mean and highest value. [`aiperf`] writes aiperf's file.
//!
//! A scrape belongs to a phase by its time alone, never by what was going on when it was asked for. A gauge of single
//! batches is never taken for a rate over the window. Nothing here knows how a page is fetched or read.

pub mod aiperf;
pub mod encode;
mod lines;
mod names;
pub mod read;
pub mod statistics;
mod track;
pub mod window;

use crate::words::Word;

/// The file.
pub const SERVER_METRICS_FILE: &str = "server_metrics.jsonl";
/// Version of its lines; lines up to it are read.
pub const SERVER_METRICS_VERSION: u32 = 1;
/// Most pages of one run.
pub const ENDPOINTS_MAX: usize = 64;
/// Most series that are kept of one page; the others are counted as skipped. vLLM 0.32 has some 500.
pub const SERIES_MAX: usize = 20_000;
/// At least every so many scrapes one is written whole, so that a damaged line costs no more than these.
pub const WHOLE_EVERY: u32 = 60;

/// One page as it was at one instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Scrape {
    /// Why it was asked for then.
    pub why: Why,
    /// When it was asked for.
    pub sent_ns: u64,
    /// When the first byte of the answer was there: the time of every value.
    pub at_ns: u64,
    /// When the answer was there whole.
    pub end_ns: u64,
    /// What samples refer to.
    pub families: Vec<Family>,
    /// The values.
    pub samples: Vec<Sample>,
    /// Lines of the page that could not be read, or stand behind a limit.
    pub skipped: u64,
}

/// Samples of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// As the page spells it.
    pub name: String,
    /// What its values mean.
    pub kind: Kind,
    /// The page's description of it.
    pub help: String,
}

/// One value of one series.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Index into [`Scrape::families`].
    pub family: usize,
    /// Its own name, ending included.
    pub name: String,
    /// Its labels.
    pub labels: Vec<(String, String)>,
    /// Its value; infinite and undefined ones are left out of the file.
    pub value: f64,
}

/// What the values of a family mean, as its page states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Counts up.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts in buckets.
    Histogram,
    /// Quantiles made by the server.
    Summary,
    /// Not stated.
    Unknown,
}

impl Word for Kind {
    const WHAT: &'static str = "kind of metric";
    const TABLE: &'static [(Self, &'static str)] = &[
        (Kind::Counter, "counter"),
        (Kind::Gauge, "gauge"),
        (Kind::Histogram, "histogram"),
        (Kind::Summary, "summary"),
        (Kind::Unknown, "unknown"),
    ];
}

/// Why a page was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Before the run began.
    Before,
    /// It was time.
    Interval,
    /// A phase began or ended.
    Mark,
    /// After the run ended.
    After,
}

impl Word for Why {
    const WHAT: &'static str = "reason for a scrape";
    const TABLE: &'static [(Self, &'static str)] = &[
        (Why::Before, "before"),
        (Why::Interval, "interval"),
        (Why::Mark, "mark"),
        (Why::After, "after"),
    ];
}
