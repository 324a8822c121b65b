//! What a person sees.

use record::folder::Losses;
use record::header::RunHeader;
use record::server_metrics::statistics::{CounterHits, GaugeRange, ScrapedPage, ServerMetrics, Speculation};
use record::summary::{Summary, Tally};
use report::text::{Paint, WIDTH, render};

use crate::samples;

fn summary() -> Summary {
    summary_of(samples::header(), None)
}

fn summary_of(header: RunHeader, metrics: Option<ServerMetrics>) -> Summary {
    let mut tally = Tally::new(Some(header), &samples::marks()).beside(metrics);
    for record in samples::records() {
        tally.push(&record::folder::Entry {
            record,
            chunks_known: true,
        });
    }
    tally.finish(Losses::default())
}

#[test]
fn the_text_is_this() {
    let expected = include_str!("../data/summary.txt");
    let found = render(&summary(), Paint::Plain);
    assert!(found == expected, "the text is now:\n{found}");
}

/// The part that tells of the server, and the warnings that come of it.
fn of_the_server(header: RunHeader, metrics: Option<ServerMetrics>) -> String {
    let text = render(&summary_of(header, metrics), Paint::Plain);
    assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
    let start = text.find("by the server's own metrics").unwrap_or(text.len());
    text[start..].replace("\n\n", "\n")
}

#[test]
fn the_server_is_told_of_in_a_few_lines() {
    let page = |port: u32, scrapes, missed, problem: Option<&str>| ScrapedPage {
        url: format!("http://127.0.0.1:{port}/metrics"),
        scrapes,
        missed,
        first_problem: problem.map(str::to_owned),
        skipped_lines: 0,
    };
    let metrics = ServerMetrics {
        endpoints: vec![
            page(8000, 64, 1, Some("status 503")),
            page(8001, 0, 63, Some("status 404")),
        ],
        covered_share: Some(1.0),
        cache: CounterHits {
            share: Some(0.625),
            hit_tokens: Some(562_500.0),
            query_tokens: Some(900_000.0),
            source: Some("vllm:prefix_cache_hits / vllm:prefix_cache_queries".into()),
            unknown: None,
        },
        running: GaugeRange {
            mean: Some(3.25),
            max: Some(7.0),
        },
        waiting: GaugeRange {
            mean: Some(0.0),
            max: Some(0.0),
        },
        kv_usage: GaugeRange {
            mean: Some(0.125),
            max: Some(0.5),
        },
        prompt_tokens: Some(900_000.0),
        generation_tokens: Some(450.0),
        speculation: Speculation {
            drafts: Some(200.0),
            accepted_tokens: Some(290.0),
            acceptance_length: Some(2.45),
        },
        ..ServerMetrics::default()
    };
    let stated = RunHeader {
        scenario: serde_json::json!({
            "engine_version": "0.31.0",
            "workload": {"replay": {"acceptance": {"length": 2.8, "num_speculative_tokens": 3}}},
        }),
        ..samples::header()
    };
    let found = of_the_server(stated, Some(metrics));
    assert!(
        found.starts_with(include_str!("../data/server.txt")),
        "the text is now:\n{found}"
    );
    let absent = ServerMetrics {
        endpoints: vec![page(8000, 0, 9, Some("refused"))],
        ..ServerMetrics::default()
    };
    let found = of_the_server(samples::header(), Some(absent));
    let expected = "by the server's own metrics, in the measurement\n\
                    read from   http://127.0.0.1:8000/metrics: never there, refused\n";
    assert!(found.starts_with(expected), "{found}");
    assert_eq!(of_the_server(samples::header(), None), "");
}

#[test]
fn it_fits_the_screen_and_keeps_a_servers_escapes_out() {
    let plain = render(&summary(), Paint::Plain);
    assert!(
        plain
            .lines()
            .all(|line| line.chars().count() <= WIDTH && line.trim_end() == line),
        "{plain}"
    );
    assert!(!plain.contains('\u{1b}'));
    let empty = render(&Tally::new(None, &[]).finish(Losses::default()), Paint::Plain);
    assert!(empty.contains("TTFT, ms") && empty.contains('—'), "{empty}");
    assert!(!empty.contains("0.00"), "{empty}");
}

#[test]
fn colour_adds_nothing_but_colour() {
    let coloured = render(&summary(), Paint::Colour);
    let mut plain = coloured.clone();
    for code in ["[1m", "[31m", "[32m", "[33m", "[0m"] {
        plain = plain.replace(&format!("\u{1b}{code}"), "");
    }
    assert_ne!(plain, coloured);
    assert_eq!(plain, render(&summary(), Paint::Plain));
}
