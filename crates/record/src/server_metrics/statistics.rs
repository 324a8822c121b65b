//! The figures of a window, made of the scrapes around it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::names;
use super::read::{Endpoint, Reader, Step, Taken};
use super::track::{Increase, Range};
use super::window::{Span, Window};
use crate::RecordError;

/// What the server said about the measurement: `server_metrics` in `summary.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerMetrics {
    /// The pages that were read.
    pub endpoints: Vec<ScrapedPage>,
    /// Time of the first scrape that figures are made of; of the latest, when pages differ.
    pub from_ns: Option<u64>,
    /// Time of the last scrape that figures are made of; of the earliest, when pages differ.
    pub to_ns: Option<u64>,
    /// Share of the window that lies between them.
    pub covered_share: Option<f64>,
    /// Prefix-cache hits.
    pub cache: CounterHits,
    /// Sequences in the batch, all engines together.
    pub running: GaugeRange,
    /// Sequences in the queue, all engines together.
    pub waiting: GaugeRange,
    /// Share of KV cache in use, of the fullest engine.
    pub kv_usage: GaugeRange,
    /// Prompt tokens counted in the window.
    pub prompt_tokens: Option<f64>,
    /// Output tokens counted in the window.
    pub generation_tokens: Option<f64>,
    /// Sequences put back into the queue in the window.
    pub preemptions: Option<f64>,
    /// Speculative decoding.
    pub speculation: Speculation,
    /// How often a counter that is used here went backwards.
    pub resets: u64,
    /// Lines of the file that could not be read.
    pub damaged_lines: u64,
}

/// One page of metrics, over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScrapedPage {
    /// Where it is.
    pub url: String,
    /// How often it was read.
    pub scrapes: u64,
    /// How often that failed.
    pub missed: u64,
    /// What was wrong the first time.
    pub first_problem: Option<String>,
    /// Lines that could not be read, over all scrapes.
    pub skipped_lines: u64,
}

/// Prefix-cache hits by the server's counters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CounterHits {
    /// Hits ÷ what was looked up; `None` when that is not known.
    pub share: Option<f64>,
    /// Tokens found.
    pub hit_tokens: Option<f64>,
    /// Tokens looked up.
    pub query_tokens: Option<f64>,
    /// The two counters.
    pub source: Option<String>,
    /// Why the share is not known.
    pub unknown: Option<String>,
}

/// A gauge over the scrapes of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GaugeRange {
    /// Mean over the scrapes.
    pub mean: Option<f64>,
    /// Highest value seen; there may have been higher ones between two scrapes.
    pub max: Option<f64>,
}

/// Speculative decoding by the server's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Speculation {
    /// Drafts that were verified.
    pub drafts: Option<f64>,
    /// Draft tokens that were accepted.
    pub accepted_tokens: Option<f64>,
    /// Mean tokens a verification step, the guaranteed one included: 1 + accepted ÷ drafts (`bindings` §11.4).
    pub acceptance_length: Option<f64>,
}

impl ServerMetrics {
    /// The figures of a run's window; `None` when nothing was scraped. Without a window there are no figures, only pages.
    ///
    /// # Errors
    /// When the file cannot be read or was written under a later version.
    pub fn of_folder(folder: &Path, window: Option<Window>) -> Result<Option<Self>, RecordError> {
        let Some(pages) = Pages::of_folder(folder)? else {
            return Ok(None);
        };
        let spans = pages.spans(window);
        let mut sums = Sums {
            start_ns: window.map_or(0, |window| window.start_ns),
            ..Sums::default()
        };
        if let Some(mut reader) = Reader::open(folder)? {
            let mut position = vec![0; spans.len()];
            while let Some(step) = reader.next_step()? {
                let Step::Scrape(taken) = step else { continue };
                let at = position[taken.endpoint];
                position[taken.endpoint] += 1;
                if let Some(span) = spans[taken.endpoint] {
                    sums.take(reader.endpoints(), &spans, &taken, at, span);
                }
            }
        }
        Ok(Some(sums.finish(pages, &spans, window)))
    }
}

/// The pages of a file and when they were read: what is needed before its figures can be made.
pub(super) struct Pages {
    pub(super) endpoints: Vec<ScrapedPage>,
    pub(super) stamps: Vec<Vec<u64>>,
    damaged: u64,
}

impl Pages {
    pub(super) fn of_folder(folder: &Path) -> Result<Option<Self>, RecordError> {
        let Some(mut reader) = Reader::open(folder)? else {
            return Ok(None);
        };
        let (mut endpoints, mut stamps) = (Vec::<ScrapedPage>::new(), Vec::<Vec<u64>>::new());
        while let Some(step) = reader.next_step()? {
            endpoints.resize_with(reader.endpoints().len(), ScrapedPage::default);
            stamps.resize_with(endpoints.len(), Vec::new);
            match step {
                Step::Scrape(taken) => {
                    let page = &mut endpoints[taken.endpoint];
                    page.scrapes += 1;
                    page.missed += taken.missed;
                    page.skipped_lines += taken.skipped;
                    stamps[taken.endpoint].push(taken.at_ns);
                }
                Step::Miss {
                    endpoint,
                    missed,
                    problem,
                } => {
                    let page = &mut endpoints[endpoint];
                    page.missed += missed;
                    page.first_problem.get_or_insert(problem);
                }
            }
        }
        for (page, read) in endpoints.iter_mut().zip(reader.endpoints()) {
            page.url.clone_from(&read.url);
        }
        Ok(Some(Self {
            endpoints,
            stamps,
            damaged: reader.damaged(),
        }))
    }

    pub(super) fn spans(&self, window: Option<Window>) -> Vec<Option<Span>> {
        self.stamps.iter().map(|stamps| window?.span(stamps)).collect()
    }
}

/// Counters by page and series, gauges over all pages.
#[derive(Default)]
struct Sums {
    /// Gauges of an earlier scrape are not the window's.
    start_ns: u64,
    counters: BTreeMap<(usize, usize), (String, Increase)>,
    running: Range,
    waiting: Range,
    kv_usage: Range,
    batch_gauge: Option<String>,
}

impl Sums {
    /// A scrape of a page, the `at`th of it; `pages` hold the values that they had last.
    fn take(&mut self, pages: &[Endpoint], spans: &[Option<Span>], taken: &Taken, at: usize, span: Span) {
        if at < span.first || at > span.last {
            return;
        }
        let page = &pages[taken.endpoint];
        for (number, series) in page.series.iter().enumerate() {
            let Some(series) = series else { continue };
            let Some(family) = page.family(series) else {
                continue;
            };
            if names::BATCH_HIT_RATES.contains(&family.name.as_str()) {
                self.batch_gauge.get_or_insert_with(|| family.name.clone());
            }
            let (Some(name), Some(value)) = (names::counter(family), series.value) else {
                continue;
            };
            let counter = self.counters.entry((taken.endpoint, number));
            let (_, counter) = counter.or_insert_with(|| (name.to_owned(), Increase::default()));
            if at == span.first {
                counter.begin(value);
            } else {
                counter.go_on(value);
            }
        }
        if taken.at_ns < self.start_ns {
            return;
        }
        let measured: Vec<&Endpoint> = pages
            .iter()
            .zip(spans)
            .filter_map(|(page, span)| span.map(|_| page))
            .collect();
        let add = |sum: f64, value: f64| sum + value;
        for (range, names, fold) in [
            (
                &mut self.running,
                &names::RUNNING[..],
                &add as &dyn Fn(f64, f64) -> f64,
            ),
            (&mut self.waiting, &names::WAITING[..], &add),
            (&mut self.kv_usage, &names::KV_USAGE[..], &f64::max),
        ] {
            if let Some(value) = gauge(&measured, names, fold) {
                range.push(value);
            }
        }
    }

    fn finish(self, pages: Pages, spans: &[Option<Span>], window: Option<Window>) -> ServerMetrics {
        let families = self.families();
        let of = |name: &str| families.get(name).map(|family| family.total);
        let first_of = |names: &[&str]| names.iter().find_map(|name| of(name));
        let used = spans.iter().zip(&pages.stamps);
        let used: Vec<(u64, u64)> = used
            .filter_map(|(span, stamps)| span.map(|span| (stamps[span.first], stamps[span.last])))
            .collect();
        let from_ns = used.iter().map(|(from, _)| *from).max();
        let to_ns = used.iter().map(|(_, to)| *to).min();
        let (drafts, accepted) = (of(names::DRAFTS), of(names::ACCEPTED));
        let length = drafts.zip(accepted).filter(|(drafts, _)| *drafts > 0.0);
        ServerMetrics {
            cache: self.cache(&families, used.is_empty()),
            covered_share: from_ns
                .zip(to_ns)
                .zip(window)
                .and_then(|((from, to), window)| covered(from, to, window)),
            from_ns,
            to_ns,
            running: range(self.running),
            waiting: range(self.waiting),
            kv_usage: range(self.kv_usage),
            prompt_tokens: first_of(&names::PROMPT_TOKENS),
            generation_tokens: first_of(&names::GENERATION_TOKENS),
            preemptions: first_of(&names::PREEMPTIONS),
            speculation: Speculation {
                drafts,
                accepted_tokens: accepted,
                acceptance_length: length.map(|(drafts, accepted)| 1.0 + accepted / drafts),
            },
            resets: resets(&families),
            endpoints: pages.endpoints,
            damaged_lines: pages.damaged,
        }
    }

    /// By family: the sum over its series of all pages.
    fn families(&self) -> BTreeMap<&str, Increase> {
        let mut families = BTreeMap::<&str, Increase>::new();
        for (name, counter) in self.counters.values() {
            let family = families.entry(name).or_default();
            family.total += counter.total;
            family.resets += counter.resets;
        }
        families
    }

    fn cache(&self, families: &BTreeMap<&str, Increase>, is_unmeasured: bool) -> CounterHits {
        let found = names::CACHE.iter().find_map(|(hits, queries)| {
            let pair = (families.get(*hits)?.total, families.get(*queries)?.total);
            Some((hits, queries, pair))
        });
        let Some((hits, queries, (hit_tokens, query_tokens))) = found else {
            let unknown = match &self.batch_gauge {
                _ if is_unmeasured => "no page was read at two times around the measurement".to_owned(),
                Some(gauge) => format!("the server has only {gauge}, which is of single batches"),
                None => "the server has no counters of prefix-cache hits".to_owned(),
            };
            return CounterHits {
                unknown: Some(unknown),
                ..CounterHits::default()
            };
        };
        let share = (query_tokens > 0.0).then(|| hit_tokens.min(query_tokens) / query_tokens);
        CounterHits {
            share,
            hit_tokens: Some(hit_tokens),
            query_tokens: Some(query_tokens),
            source: Some(format!("{hits} / {queries}")),
            unknown: share.is_none().then(|| "nothing was looked up".to_owned()),
        }
    }
}

/// Resets of the counters that figures are made of: as often as the one that was reset most often.
fn resets(families: &BTreeMap<&str, Increase>) -> u64 {
    let used = names::CACHE
        .iter()
        .flat_map(|(hits, queries)| [*hits, *queries])
        .chain(names::PROMPT_TOKENS)
        .chain(names::GENERATION_TOKENS)
        .chain([names::DRAFTS, names::ACCEPTED]);
    used.filter_map(|name| families.get(name))
        .map(|family| family.resets)
        .max()
        .unwrap_or(0)
}

fn range(range: Range) -> GaugeRange {
    GaugeRange {
        mean: range.mean(),
        max: range.max(),
    }
}

/// The values of the first of `names` that the pages have, folded.
fn gauge(pages: &[&Endpoint], names: &[&str], fold: &dyn Fn(f64, f64) -> f64) -> Option<f64> {
    names.iter().find_map(|name| {
        pages
            .iter()
            .flat_map(|page| &page.series)
            .flatten()
            .filter(|series| series.name == *name)
            .filter_map(|series| series.value)
            .reduce(fold)
    })
}

fn covered(from_ns: u64, to_ns: u64, window: Window) -> Option<f64> {
    // The window of a killed run ends with its last scrape.
    let end_ns = if window.end_ns == u64::MAX {
        to_ns
    } else {
        window.end_ns
    };
    let whole = end_ns.checked_sub(window.start_ns).filter(|whole| *whole > 0)?;
    let within = to_ns.min(end_ns).saturating_sub(from_ns.max(window.start_ns));
    Some(within as f64 / whole as f64)
}
