//! Histograms: their parts brought together, and what they grew by.

use std::collections::BTreeMap;

use super::estimate::Estimate;
use super::json::{Buckets, Observed, Series, Slice, SliceOf, Stats};
use super::series::{CollectedPage, CollectedSeries};
use super::stats::{Slices, growth, made};
use crate::server_metrics::{Family, Kind};

/// The parts of one histogram: everything with the same labels but `le`.
pub(super) struct Histogram<'a> {
    /// What the part's name ends in, and the part.
    parts: Vec<(Part, &'a CollectedSeries)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Bucket(f64),
    Sum,
    Count,
}

pub(super) fn histograms(page: &CollectedPage) -> impl Iterator<Item = Histogram<'_>> {
    let mut found = BTreeMap::<(&str, Vec<(&str, &str)>), Vec<(Part, &CollectedSeries)>>::new();
    for series in &page.series {
        if series.family.kind != Kind::Histogram {
            continue;
        }
        let Some(part) =
            series
                .name
                .strip_prefix(series.family.name.as_str())
                .and_then(|ending| match ending {
                    "_bucket" => Some(Part::Bucket(series.labels.get("le")?.parse().ok()?)),
                    "_sum" => Some(Part::Sum),
                    "_count" => Some(Part::Count),
                    _ => None,
                })
        else {
            continue;
        };
        let labels = series.labels.iter().filter(|(label, _)| *label != "le");
        let labels = labels
            .map(|(label, value)| (label.as_str(), value.as_str()))
            .collect();
        found
            .entry((series.family.name.as_str(), labels))
            .or_default()
            .push((part, series));
    }
    found.into_values().map(|parts| Histogram { parts })
}

impl Histogram<'_> {
    pub(super) fn family(&self) -> &Family {
        &self.parts[0].1.family
    }

    pub(super) fn series(&self, page: &CollectedPage, slices: &Slices) -> Series {
        let last = page.stamps.len() - 1;
        let whole = self.between(0, last);
        let observed = (whole.count > 0.0).then(|| {
            let estimate = Estimate::new(&whole.cumulative);
            let rate = |value: f64| page.seconds().map(|seconds| value / seconds);
            Box::new(Observed {
                sum: whole.sum,
                avg: whole.avg(),
                count_rate: rate(whole.count),
                sum_rate: rate(whole.sum),
                p1_estimate: estimate.at(0.01),
                p5_estimate: estimate.at(0.05),
                p10_estimate: estimate.at(0.10),
                p25_estimate: estimate.at(0.25),
                p50_estimate: estimate.at(0.50),
                p75_estimate: estimate.at(0.75),
                p90_estimate: estimate.at(0.90),
                p95_estimate: estimate.at(0.95),
                p99_estimate: estimate.at(0.99),
            })
        });
        let timeslices: Vec<Slice> = slices
            .all()
            .filter(|_| observed.is_some())
            .map(|slice| {
                let grown = self.between(slice.from, slice.to);
                slice.of(SliceOf::Histogram {
                    count: grown.count as u64,
                    sum: grown.sum,
                    avg: grown.avg(),
                    buckets: grown.buckets,
                })
            })
            .collect();
        let count = whole.count as u64;
        let stats = Stats::Histogram { count, observed };
        made(page, self.parts[0].1, stats, Some(whole.buckets), timeslices)
    }

    fn between(&self, from: usize, to: usize) -> Grown {
        let mut grown = Grown::default();
        let mut buckets: Vec<(f64, &str, f64)> = Vec::new();
        for (part, series) in &self.parts {
            let by = growth(&series.values, from, to);
            match part {
                Part::Sum => grown.sum = by,
                Part::Count => grown.count = by,
                Part::Bucket(bound) => {
                    let spelled = series.labels.get("le").map_or("", String::as_str);
                    buckets.push((*bound, spelled, by));
                }
            }
        }
        buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
        for (bound, spelled, by) in buckets {
            grown.cumulative.push((bound, by));
            grown.buckets.0.push((spelled.to_owned(), by as u64));
        }
        grown
    }
}

#[derive(Default)]
struct Grown {
    count: f64,
    sum: f64,
    cumulative: Vec<(f64, f64)>,
    buckets: Buckets,
}

impl Grown {
    fn avg(&self) -> f64 {
        if self.count > 0.0 {
            self.sum / self.count
        } else {
            0.0
        }
    }
}
