//! What the server said about itself during the measurement, and what the scenario states of it.

use record::server_metrics::statistics::{GaugeRange, ScrapedPage, ServerMetrics};
use record::stated::Stated;
use record::summary::Summary;

use super::blocks::fact;
use super::quantity::{count, foreign, number, percent};
use super::{Paint, Role};

/// Pages that are shown; `summary.json` has all.
const PAGES_SHOWN: usize = 4;

/// Empty without scrapes and without anything stated.
pub(super) fn metrics(summary: &Summary, paint: Paint) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(metrics) = &summary.server_metrics {
        lines.extend(figures(metrics));
    }
    if let Some(stated) = &summary.stated {
        lines.extend(beside(stated));
    }
    if !lines.is_empty() {
        let heading = "by the server's own metrics, in the measurement";
        lines.insert(0, paint.paint(Role::Heading, heading));
    }
    lines
}

fn figures(metrics: &ServerMetrics) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, page) in metrics.endpoints.iter().take(PAGES_SHOWN).enumerate() {
        lines.extend(fact(if index == 0 { "read from" } else { "" }, &source(page)));
    }
    if metrics.endpoints.len() > PAGES_SHOWN {
        lines.extend(fact("", "more in summary.json"));
    }
    if metrics.endpoints.iter().all(|page| page.scrapes == 0) {
        return lines;
    }
    let cache = &metrics.cache;
    let hits = match (&cache.unknown, &cache.source) {
        (Some(why), _) => format!("unknown: {}", foreign(why)),
        (None, source) => format!(
            "{} of {} tokens, by {}",
            percent(cache.share),
            number(cache.query_tokens, 0),
            source.as_deref().unwrap_or("counters")
        ),
    };
    lines.extend(fact("cache hits", &hits));
    let range = |of: GaugeRange| format!("{} mean, {} max", number(of.mean, 1), number(of.max, 0));
    let load = format!(
        "{} running; {} waiting",
        range(metrics.running),
        range(metrics.waiting)
    );
    lines.extend(fact("batch", &load));
    let usage = format!(
        "{} full on average, {} at most",
        percent(metrics.kv_usage.mean),
        percent(metrics.kv_usage.max)
    );
    lines.extend(fact("KV cache", &usage));
    let tokens = format!(
        "{} prompt, {} output, {} preemptions",
        number(metrics.prompt_tokens, 0),
        number(metrics.generation_tokens, 0),
        number(metrics.preemptions, 0)
    );
    lines.extend(fact("tokens", &tokens));
    if let Some(length) = metrics.speculation.acceptance_length {
        let speculation = format!(
            "{} tokens a verification step, over {} drafts",
            number(Some(length), 2),
            number(metrics.speculation.drafts, 0)
        );
        lines.extend(fact("acceptance", &speculation));
    }
    lines
}

fn source(page: &ScrapedPage) -> String {
    let url = foreign(&page.url);
    match (&page.first_problem, page.scrapes) {
        (Some(problem), 0) => format!("{url}: never there, {}", foreign(problem)),
        _ if page.missed > 0 => format!(
            "{url}, {} times; failures: {}",
            count(page.scrapes),
            count(page.missed)
        ),
        _ => format!("{url}, {} times", count(page.scrapes)),
    }
}

fn beside(stated: &Stated) -> Vec<String> {
    let mut told = Vec::new();
    if stated.acceptance_length.is_some() {
        told.push(format!(
            "acceptance length {} stated, {} realised",
            number(stated.acceptance_length, 2),
            number(stated.acceptance_length_realised, 2)
        ));
    }
    if let Some(version) = &stated.engine_version {
        let served = stated.engine_version_served.as_deref().unwrap_or("—");
        told.push(format!(
            "engine version {} stated, {} served",
            foreign(version),
            foreign(served)
        ));
    }
    fact("scenario", &told.join("; "))
}
