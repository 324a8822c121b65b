//! From a window's values to the file's figures (`metrics-and-exports` §5.2).

use super::Wall;
use super::histogram::histograms;
use super::json::{Buckets, GaugeStats, Metric, Metrics, Series, Slice, SliceOf, SliceRates, Stats};
use super::series::{Collected, CollectedPage, CollectedSeries};
use crate::server_metrics::{Kind, names};
use crate::stats::quantile::quantile;

/// Most slices of a window; a window of a day has fewer of a second.
const SLICES_MAX: usize = 100_000;

/// All metrics of a window, by the names that aiperf lists them under. Summaries and uptimes are left out, as there.
pub(super) fn metrics(collected: &Collected, slice_ns: Option<u64>, wall: Wall) -> Metrics {
    let mut metrics = Metrics::new();
    for page in &collected.pages {
        let slices = Slices::new(page, slice_ns, wall);
        for histogram in histograms(page) {
            let series = histogram.series(page, &slices);
            push(&mut metrics, histogram.family(), series);
        }
        for series in &page.series {
            let made = match series.family.kind {
                Kind::Histogram | Kind::Summary => continue,
                _ if series.family.name.contains("uptime") => continue,
                Kind::Counter => Some(counter(page, series, &slices)),
                Kind::Gauge | Kind::Unknown => gauge(page, series, &slices),
            };
            if let Some(made) = made {
                push(&mut metrics, &series.family, made);
            }
        }
    }
    metrics
}

fn push(metrics: &mut Metrics, family: &crate::server_metrics::Family, series: Series) {
    let name = names::listed(family);
    let metric = metrics.entry(name.to_owned()).or_insert_with(|| Metric {
        kind: crate::words::Word::word(family.kind),
        description: family.help.clone(),
        unit: unit(name),
        series: Vec::new(),
    });
    metric.series.push(series);
}

/// What a name says of its unit.
fn unit(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix("_total").unwrap_or(name);
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if ends(&["_seconds"]) {
        Some("seconds")
    } else if ends(&["_bytes"]) {
        Some("bytes")
    } else if ends(&["_tokens"]) {
        Some("tokens")
    } else if ends(&["_perc", "_ratio"]) {
        Some("ratio")
    } else if ends(&["_requests", "_reqs", ":request_success"]) || name.contains(":num_requests_") {
        Some("requests")
    } else {
        None
    }
}

fn counter(page: &CollectedPage, series: &CollectedSeries, slices: &Slices) -> Series {
    let total = growth(&series.values, 0, series.values.len() - 1);
    let timeslices: Vec<Slice> = slices
        .all()
        .map(|slice| {
            let total = growth(&series.values, slice.from, slice.to);
            let rate = total / slice.seconds();
            slice.of(SliceOf::Counter { total, rate })
        })
        .collect();
    let rates: Vec<f64> = timeslices
        .iter()
        .filter(|slice| slice.is_complete.is_none())
        .filter_map(|slice| match slice.of {
            SliceOf::Counter { rate, .. } => Some(rate),
            _ => None,
        })
        .collect();
    let sliced = Moments::of(&rates).map(|moments| SliceRates {
        avg: moments.mean,
        min: moments.min,
        max: moments.max,
        std: moments.std,
    });
    let rate = page.seconds().map(|seconds| total / seconds);
    made(
        page,
        series,
        Stats::Counter { total, rate, sliced },
        None,
        timeslices,
    )
}

/// `None` when it was there before the window only.
fn gauge(page: &CollectedPage, series: &CollectedSeries, slices: &Slices) -> Option<Series> {
    let within = &series.values[page.gauges_from.min(series.values.len())..];
    let mut values: Vec<f64> = within.iter().flatten().copied().collect();
    values.sort_by(f64::total_cmp);
    let moments = Moments::of(&values)?;
    let at = |p| quantile(&values, p).unwrap_or(moments.mean);
    let stats = GaugeStats {
        avg: moments.mean,
        min: moments.min,
        max: moments.max,
        std: moments.std,
        p1: at(0.01),
        p5: at(0.05),
        p10: at(0.10),
        p25: at(0.25),
        p50: at(0.50),
        p75: at(0.75),
        p90: at(0.90),
        p95: at(0.95),
        p99: at(0.99),
    };
    let timeslices = slices.all().filter_map(|slice| {
        let within = page.gauges_from.max(slice.within.start)..slice.within.end;
        let values: Vec<f64> = series.values.get(within)?.iter().flatten().copied().collect();
        let moments = Moments::of(&values)?;
        Some(slice.of(SliceOf::Gauge {
            avg: moments.mean,
            min: moments.min,
            max: moments.max,
        }))
    });
    let timeslices = timeslices.collect();
    Some(made(
        page,
        series,
        Stats::Gauge(Box::new(stats)),
        None,
        timeslices,
    ))
}

pub(super) fn made(
    page: &CollectedPage,
    series: &CollectedSeries,
    stats: Stats,
    buckets: Option<Buckets>,
    timeslices: Vec<Slice>,
) -> Series {
    let mut labels = series.labels.clone();
    labels.remove("le");
    Series {
        endpoint_url: page.url.clone(),
        labels,
        stats,
        buckets,
        timeslices,
    }
}

/// What a counter grew by between two scrapes; 0 when it was reset. One that was not there had counted nothing.
pub(super) fn growth(values: &[Option<f64>], from: usize, to: usize) -> f64 {
    let at_or_before = |scrape: usize| values[..=scrape].iter().rev().find_map(|value| *value);
    let last = at_or_before(to).unwrap_or(0.0);
    (last - at_or_before(from).unwrap_or(0.0)).max(0.0)
}

impl CollectedPage {
    /// From the window's first scrape to its last.
    pub(super) fn seconds(&self) -> Option<f64> {
        let (first, last) = (self.stamps.first()?, self.stamps.last()?);
        let ns = last.checked_sub(*first).filter(|ns| *ns > 0)?;
        Some(ns as f64 / 1e9)
    }
}

/// The slices of a page's window.
pub(super) struct Slices {
    slices: Vec<SliceBounds>,
}

pub(super) struct SliceBounds {
    start_ns: u64,
    end_ns: u64,
    is_complete: bool,
    wall: Wall,
    /// The last scrapes at or before start and end: a counter grew between them.
    pub(super) from: usize,
    pub(super) to: usize,
    /// The scrapes of the slice itself.
    within: std::ops::Range<usize>,
}

impl Slices {
    fn new(page: &CollectedPage, slice_ns: Option<u64>, wall: Wall) -> Self {
        let mut slices = Vec::new();
        let ends = page.stamps.first().copied().zip(page.stamps.last().copied());
        if let (Some(slice_ns), Some((mut start_ns, last_ns))) = (slice_ns, ends) {
            while start_ns < last_ns && slices.len() < SLICES_MAX {
                let full_end_ns = start_ns.saturating_add(slice_ns);
                let end_ns = full_end_ns.min(last_ns);
                let behind = |at: u64| page.stamps.partition_point(|stamp| *stamp <= at);
                let before = |at: u64| page.stamps.partition_point(|stamp| *stamp < at);
                let is_complete = full_end_ns <= last_ns;
                slices.push(SliceBounds {
                    start_ns,
                    end_ns,
                    is_complete,
                    wall,
                    from: behind(start_ns) - 1,
                    to: behind(end_ns) - 1,
                    within: before(start_ns)..if is_complete {
                        before(end_ns)
                    } else {
                        behind(end_ns)
                    },
                });
                start_ns = full_end_ns;
            }
        }
        Self { slices }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &SliceBounds> {
        self.slices.iter()
    }
}

impl SliceBounds {
    fn seconds(&self) -> f64 {
        (self.end_ns - self.start_ns) as f64 / 1e9
    }

    pub(super) fn of(&self, of: SliceOf) -> Slice {
        Slice {
            start_ns: self.wall.ns(self.start_ns),
            end_ns: self.wall.ns(self.end_ns),
            is_complete: (!self.is_complete).then_some(false),
            of,
        }
    }
}

/// Mean, extremes and the standard deviation of a sample (n − 1).
struct Moments {
    mean: f64,
    min: f64,
    max: f64,
    std: f64,
}

impl Moments {
    fn of(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let spread: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Self {
            mean,
            min: values.iter().copied().reduce(f64::min)?,
            max: values.iter().copied().reduce(f64::max)?,
            std: if n > 1.0 { (spread / (n - 1.0)).sqrt() } else { 0.0 },
        })
    }
}
