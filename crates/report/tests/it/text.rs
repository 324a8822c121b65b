//! What a person sees.

use record::folder::Losses;
use record::header::{RunHeader, Slo, TraceFacts, ValidityInputs};
use record::request::Phase;
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

/// An open run of a trace file: no lanes, no dialect, no warm-up, no recorded corpus, two classes with targets.
fn of_trace() -> Summary {
    let slo = |ttft_ms| Slo {
        ttft_ms,
        ..Slo::default()
    };
    let header = RunHeader {
        dialect: String::new(),
        loop_kind: "open".into(),
        concurrency: 0,
        selection: None,
        trace: Some(TraceFacts {
            file: "chat.csv".into(),
            rows: 1062,
            planned: 1050,
            skipped_failed: 9,
            skipped_empty: 3,
            sessions: 120,
            speedup: 2.0,
            sidecar: false,
            endpoint: "/v1/completions".into(),
            context: "independent".into(),
            span_s: 60.0,
        }),
        validity: ValidityInputs::default(),
        slo: [
            ("batch".to_owned(), slo(170.0)),
            ("critical".to_owned(), slo(120.0)),
        ]
        .into(),
        ..samples::header()
    };
    let mut tally = Tally::new(Some(header), &samples::marks()[3..]);
    let measured = samples::records().into_iter();
    for mut record in measured.filter(|record| record.phase == Phase::Profiling) {
        let class = ["batch", "critical", ""][record.sequence as usize % 3];
        record.slo_class = (!class.is_empty()).then(|| class.to_owned());
        record.held_ns = u64::from(record.sequence % 10 == 9) * record.sequence * 1_000_000;
        record.isl_planned = 20_400;
        (record.theoretical_hit_blocks, record.theoretical_total_blocks) = (0, 0);
        tally.push(&record::folder::Entry {
            record,
            chunks_known: true,
        });
    }
    tally.finish(Losses::default())
}

#[test]
fn the_text_of_a_trace_is_this() {
    let summary = of_trace();
    assert_eq!((summary.not_sent, &summary.warmup), (Some(1003), &None));
    let found = render(&summary, Paint::Plain);
    assert!(found.lines().all(|line| line.chars().count() <= WIDTH), "{found}");
    let expected = include_str!("../data/trace.txt");
    assert!(found == expected, "the text is now:\n{found}");
}

#[test]
fn each_way_to_replay_a_trace_is_named() {
    let of = |loop_kind: &str, concurrency, speedup, sidecar| {
        let mut summary = of_trace();
        let run = summary.run.as_mut().unwrap();
        (run.loop_kind, run.concurrency) = (loop_kind.to_owned(), concurrency);
        let trace = run.trace.as_mut().unwrap();
        (trace.speedup, trace.sidecar) = (speedup, sidecar);
        (trace.skipped_failed, trace.skipped_empty) = (0, 0);
        let text = render(&summary, Paint::Plain);
        let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap()[12..].to_owned();
        [line("load"), line("trace")]
    };
    let rest = "sent to /v1/completions, context independent";
    let by_length = format!("1,062 rows, prompts by length, {rest}");
    assert_eq!(
        of("closed", 16, 1.0, true),
        [
            "closed loop of chat.csv: 1,050 requests in 120 sessions, 16 in flight, seed 42".to_owned(),
            format!("1,062 rows, prompts by block ids, {rest}"),
        ]
    );
    assert_eq!(
        of("sessions", 0, 0.5, false),
        [
            "sessions at 0.5× of chat.csv: 1,050 requests in 120 sessions over 60.0 s, seed 42",
            &by_length
        ]
    );
    assert_eq!(
        of("open", 0, 1.0, false),
        [
            "open loop of chat.csv: 1,050 requests in 120 sessions over 60.0 s, seed 42",
            &by_length
        ]
    );
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
