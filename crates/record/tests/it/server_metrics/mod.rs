//! Figures from the server's metrics, the files they are made from, and aiperf's form of them.

mod doubts;
mod export;
mod figures;
mod files;
mod trace_header;

use std::path::Path;

use record::header::ServerUrl;
use record::marks::{Mark, RunEvent, Stop};
use record::request::Phase;
use record::server_metrics::encode::{EncodedLines, Encoder, Writer};
use record::server_metrics::statistics::ServerMetrics;
use record::server_metrics::window::Window;
use record::server_metrics::{Family, Kind, Sample, Scrape, Why};

use crate::samples::MS;

pub(super) const HITS: &str = "vllm:prefix_cache_hits_total";
pub(super) const QUERIES: &str = "vllm:prefix_cache_queries_total";

/// A page at `at_ms` with these samples: `name` or `name{label=value}`. Kinds are guessed from names.
pub(super) fn scrape(at_ms: u64, samples: &[(&str, f64)]) -> Scrape {
    let mut scrape = Scrape {
        why: if at_ms == 0 { Why::Before } else { Why::Interval },
        sent_ns: at_ms * MS,
        at_ns: at_ms * MS + 1,
        end_ns: at_ms * MS + 2,
        families: Vec::new(),
        samples: Vec::new(),
        skipped: 0,
    };
    for (spelled, value) in samples {
        let (name, labels) = spelled.split_once('{').unwrap_or((spelled, "}"));
        let labels = labels.trim_end_matches('}').split(',').filter_map(|label| {
            let (key, value) = label.split_once('=')?;
            Some((key.to_owned(), value.to_owned()))
        });
        let histogram = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|ending| name.strip_suffix(ending));
        let kind = match histogram {
            Some(_) => Kind::Histogram,
            None if name.ends_with("_total") => Kind::Counter,
            None => Kind::Gauge,
        };
        scrape.families.push(Family {
            name: histogram.unwrap_or(name).to_owned(),
            kind,
            help: "h".into(),
        });
        scrape.samples.push(Sample {
            family: scrape.families.len() - 1,
            name: name.to_owned(),
            labels: labels.collect(),
            value: *value,
        });
    }
    scrape
}

pub(super) fn url(number: u32) -> ServerUrl {
    ServerUrl::new(&format!(
        "http://user:secret@127.0.0.1:{}/metrics?key=secret",
        8000 + number
    ))
}

pub(super) type Pages<'a> = &'a [(u32, &'a [(u64, &'a [(&'a str, f64)])])];

/// Scrapes of some pages, in the order of time.
pub(super) fn encoded(pages: Pages<'_>) -> Vec<EncodedLines> {
    let mut lines = Vec::new();
    for (number, scrapes) in pages {
        let mut encoder = Encoder::new(*number, url(*number));
        for (at_ms, samples) in *scrapes {
            lines.push((*at_ms, encoder.scrape(&scrape(*at_ms, samples))));
        }
    }
    lines.sort_by_key(|(at_ms, _)| *at_ms);
    lines.into_iter().map(|(_, lines)| lines).collect()
}

pub(super) fn write(folder: &Path, lines: &[EncodedLines]) {
    let mut writer = Writer::create(folder).unwrap();
    for lines in lines {
        writer.append(lines).unwrap();
    }
    writer.sync().unwrap();
}

/// From 1 s to 3 s, with a warm-up before it whose last request ended at 1 s.
pub(super) const AFTER_WARMUP: Window = Window {
    start_ns: 1000 * MS,
    end_ns: 3000 * MS,
    quiet_from_ns: 1000 * MS,
};

pub(super) fn figures(pages: Pages<'_>) -> ServerMetrics {
    let folder = testkit::tempdir().unwrap();
    write(folder.path(), &encoded(pages));
    ServerMetrics::of_folder(folder.path(), Some(AFTER_WARMUP))
        .unwrap()
        .unwrap()
}

pub(super) fn marks() -> Vec<Mark> {
    let profiling = Phase::Profiling;
    let reason = String::new();
    let marks = [
        (1000, RunEvent::PhaseStart(profiling)),
        (2500, RunEvent::SendingEnd(profiling)),
        (
            3000,
            RunEvent::RunEnd {
                stop: Stop::Done,
                reason,
            },
        ),
        // A computed end of grace, behind the end of the run.
        (
            9000,
            RunEvent::PhaseEnd {
                phase: profiling,
                started: 1,
            },
        ),
    ];
    marks
        .map(|(at_ms, event)| Mark {
            at_ns: at_ms * MS,
            event,
        })
        .into()
}
