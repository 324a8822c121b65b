//! Figures from the server's metrics: windows, late, missing and reset counters, and files as a killed run leaves them.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use record::folder::Recorder;
use record::header::{RunHeader, ServerUrl};
use record::marks::{Mark, RunEvent, Stop};
use record::request::Phase;
use record::server_metrics::encode::{EncodedLines, Encoder, Writer};
use record::server_metrics::read::{Reader, Step};
use record::server_metrics::statistics::ServerMetrics;
use record::server_metrics::window::Window;
use record::server_metrics::{Family, Kind, SERVER_METRICS_FILE, Sample, Scrape, WHOLE_EVERY, Why, aiperf};
use record::summary::Summary;
use serde_json::{Value, json};

use crate::samples::{MS, answered, header};

const HITS: &str = "vllm:prefix_cache_hits_total";
const QUERIES: &str = "vllm:prefix_cache_queries_total";

/// A page at `at_ms` with these samples: `name` or `name{label=value}`. Kinds are guessed from names.
fn scrape(at_ms: u64, samples: &[(&str, f64)]) -> Scrape {
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

fn url(number: u32) -> ServerUrl {
    ServerUrl::new(&format!(
        "http://user:secret@127.0.0.1:{}/metrics?key=secret",
        8000 + number
    ))
}

type Pages<'a> = &'a [(u32, &'a [(u64, &'a [(&'a str, f64)])])];

/// Scrapes of some pages, in the order of time.
fn encoded(pages: Pages<'_>) -> Vec<EncodedLines> {
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

fn write(folder: &Path, lines: &[EncodedLines]) {
    let mut writer = Writer::create(folder).unwrap();
    for lines in lines {
        writer.append(lines).unwrap();
    }
    writer.sync().unwrap();
}

/// From 1 s to 3 s, with a warm-up before it whose last request ended at 1 s.
const AFTER_WARMUP: Window = Window {
    start_ns: 1000 * MS,
    end_ns: 3000 * MS,
    quiet_from_ns: 1000 * MS,
};

fn figures(pages: Pages<'_>) -> ServerMetrics {
    let folder = testkit::tempdir().unwrap();
    write(folder.path(), &encoded(pages));
    ServerMetrics::of_folder(folder.path(), Some(AFTER_WARMUP))
        .unwrap()
        .unwrap()
}

/// Hits, queries, resets, and why the share is unknown.
fn check(pages: Pages<'_>, hits: Option<f64>, queries: Option<f64>, resets: u64, unknown: Option<&str>) {
    let found = figures(pages);
    assert_eq!(
        (
            found.cache.hit_tokens,
            found.cache.query_tokens,
            found.resets,
            found.cache.unknown.as_deref()
        ),
        (hits, queries, resets, unknown),
        "{pages:?}"
    );
    let share = hits.zip(queries).filter(|(_, queries)| *queries > 0.0);
    assert_eq!(found.cache.share, share.map(|(hits, queries)| hits / queries));
}

#[test]
fn counters_are_counted_within_the_window_alone() {
    check(
        &[(
            0,
            &[
                (0, &[(HITS, 100.0), (QUERIES, 1000.0)]),
                (950, &[(HITS, 100.0), (QUERIES, 1400.0)]),
                (1010, &[(HITS, 110.0), (QUERIES, 1500.0)]),
                (2000, &[(HITS, 400.0), (QUERIES, 1900.0)]),
                (3001, &[(HITS, 710.0), (QUERIES, 2500.0)]),
                (3500, &[(HITS, 999.0), (QUERIES, 9999.0)]),
            ],
        )],
        Some(600.0),
        Some(1000.0),
        0,
        None,
    );
}

#[test]
fn case_53() {
    let batch = "the server has only sglang:cache_hit_rate, which is of single batches";
    let gauge: &[(&str, f64)] = &[("sglang:cache_hit_rate", 0.9)];
    check(
        &[(0, &[(1000, gauge), (3000, gauge)])],
        None,
        None,
        0,
        Some(batch),
    );
    let other: &[(&str, f64)] = &[("process_open_fds", 3.0)];
    let none = "the server has no counters of prefix-cache hits";
    check(&[(0, &[(1000, other), (3000, other)])], None, None, 0, Some(none));
    // A family that first appears in mid-run counts from zero.
    check(
        &[(
            0,
            &[
                (1000, other),
                (2000, &[(HITS, 30.0), (QUERIES, 40.0)]),
                (3000, &[(HITS, 60.0), (QUERIES, 100.0)]),
            ],
        )],
        Some(60.0),
        Some(100.0),
        0,
        None,
    );
    // A restart: what was counted before it stays counted.
    check(
        &[(
            0,
            &[
                (1000, &[(HITS, 500.0), (QUERIES, 1000.0)]),
                (1500, &[(HITS, 550.0), (QUERIES, 1100.0)]),
                (2000, other),
                (2500, &[(HITS, 10.0), (QUERIES, 20.0)]),
                (3000, &[(HITS, 40.0), (QUERIES, 60.0)]),
            ],
        )],
        Some(90.0),
        Some(160.0),
        1,
        None,
    );
    check(
        &[(
            0,
            &[
                (1000, &[(HITS, 5.0), (QUERIES, 9.0)]),
                (3000, &[(HITS, 5.0), (QUERIES, 9.0)]),
            ],
        )],
        Some(0.0),
        Some(0.0),
        0,
        Some("nothing was looked up"),
    );
    let once = "no page was read at two times around the measurement";
    check(
        &[(0, &[(2000, &[(HITS, 5.0), (QUERIES, 9.0)])])],
        None,
        None,
        0,
        Some(once),
    );
}

#[test]
fn pages_and_engines_are_added() {
    let page = |engine: &'static str, hits: f64| -> [(&'static str, f64); 5] {
        let name = |name: &str| -> &'static str { format!("{name}{{engine={engine}}}").leak() };
        [
            (name(HITS), hits),
            (name(QUERIES), 2.0 * hits),
            (name("vllm:num_requests_running"), hits / 10.0),
            (name("vllm:num_requests_waiting"), 1.0),
            (name("vllm:kv_cache_usage_perc"), hits / 1000.0),
        ]
    };
    let (a, b, c, d) = (
        page("0", 10.0),
        page("1", 20.0),
        page("0", 110.0),
        page("1", 220.0),
    );
    let (start, end) = ([a, b].concat(), [c, d].concat());
    let found = figures(&[
        (0, &[(1000, &start), (2999, &end), (3001, &end)]),
        (1, &[(1000, &a), (3002, &c)]),
    ]);
    assert_eq!(found.cache.hit_tokens, Some(400.0));
    assert_eq!(found.cache.share, Some(0.5));
    assert_eq!(
        found.cache.source.as_deref(),
        Some("vllm:prefix_cache_hits / vllm:prefix_cache_queries")
    );
    assert_eq!(found.running.max, Some(44.0));
    assert_eq!(found.waiting.max, Some(3.0));
    assert_eq!(found.kv_usage.max, Some(0.22));
    assert_eq!(found.from_ns, Some(1000 * MS + 1));
    assert_eq!(found.to_ns, Some(3001 * MS + 1));
    assert!(
        found.endpoints.iter().all(|page| !page.url.contains("secret")),
        "{found:?}"
    );
}

#[test]
fn values_that_are_no_numbers_are_absent() {
    let found = figures(&[(
        0,
        &[
            (
                1000,
                &[
                    ("vllm:num_requests_running", f64::NAN),
                    (HITS, 1.0),
                    ("a_created", 1.7e9),
                ],
            ),
            (3000, &[("vllm:num_requests_running", f64::INFINITY), (HITS, 2.0)]),
        ],
    )]);
    assert_eq!((found.running.mean, found.damaged_lines), (None, 0));
}

#[test]
fn the_first_scrape_of_a_window_is_chosen_by_what_went_on_before_it() {
    let page: &[(&str, f64)] = &[(HITS, 1.0)];
    let chosen = |stamps: &[u64], quiet_from_ms: u64| {
        let folder = testkit::tempdir().unwrap();
        let scrapes: Vec<_> = stamps.iter().map(|at| (*at, page)).collect();
        write(folder.path(), &encoded(&[(0, &scrapes)]));
        let window = Window {
            quiet_from_ns: quiet_from_ms * MS,
            ..AFTER_WARMUP
        };
        let found = ServerMetrics::of_folder(folder.path(), Some(window))
            .unwrap()
            .unwrap();
        (found.from_ns.map(|at| at / MS), found.to_ns.map(|at| at / MS))
    };
    // The warm-up ended with the window's start: the nearest.
    assert_eq!(chosen(&[500, 1010, 2000, 3010], 1000), (Some(1010), Some(3010)));
    assert_eq!(chosen(&[995, 1010, 2000, 2990], 1000), (Some(995), Some(2990)));
    // Nothing of ours went on since the one before: that one.
    assert_eq!(
        chosen(&[500, 1010, 2000, 3010, 4000], 400),
        (Some(500), Some(3010))
    );
    // A page that came late, one that was never read again.
    assert_eq!(chosen(&[1700, 2000, 3010], 1000), (Some(1700), Some(3010)));
    assert_eq!(chosen(&[100, 200], 1000), (None, None));
    assert_eq!(chosen(&[3500, 3600], 1000), (None, None));
}

fn marks(stop: bool) -> Vec<Mark> {
    let profiling = Phase::Profiling;
    let mut marks = vec![
        (1000, RunEvent::PhaseStart(profiling)),
        (2500, RunEvent::SendingEnd(profiling)),
        // A computed end of grace, behind the end of the run.
        (
            9000,
            RunEvent::PhaseEnd {
                phase: profiling,
                started: 1,
            },
        ),
    ];
    if stop {
        let reason = String::new();
        marks.push((
            3000,
            RunEvent::RunEnd {
                stop: Stop::Done,
                reason,
            },
        ));
    }
    let marks = marks.into_iter();
    marks
        .map(|(at_ms, event)| Mark {
            at_ns: at_ms * MS,
            event,
        })
        .collect()
}

fn run(folder: &Path, header: &RunHeader, lines: &[EncodedLines]) -> Summary {
    let mut recorder = Recorder::create(folder, header).unwrap();
    marks(true).iter().for_each(|mark| recorder.mark(mark).unwrap());
    recorder.append(&answered(0, 1100, &[1200, 1210])).unwrap();
    write(folder, lines);
    Summary::of_folder(folder).unwrap()
}

fn codes(summary: &Summary) -> Vec<&str> {
    summary
        .warnings
        .iter()
        .map(|warning| warning.code.as_str())
        .collect()
}

#[test]
fn what_is_stated_stands_beside_what_is_found() {
    let page = |drafts: f64, accepted: f64| {
        [
            ("vllm:spec_decode_num_drafts_total", drafts),
            ("vllm:spec_decode_num_accepted_tokens_total", accepted),
        ]
    };
    let lines = encoded(&[(0, &[(900, &page(100.0, 50.0)), (3100, &page(1100.0, 1500.0))])]);
    let cases = [
        (
            json!({"length": 2.5, "num_speculative_tokens": 3}),
            json!("0.32.0"),
            "v0.32.0+cpu",
            [false, false],
        ),
        (
            json!({"rates": [0.9, 0.5]}),
            json!("0.31.0"),
            "0.32.0",
            [false, true],
        ),
        (
            json!({"length": 2.7, "num_speculative_tokens": 3}),
            json!(0.32),
            "0.32.0",
            [true, true],
        ),
    ];
    for (acceptance, version, served, [gap, mismatch]) in cases {
        let folder = testkit::tempdir().unwrap();
        let mut header = header();
        header.server.version = Some(served.to_owned());
        header.scenario = json!({
            "engine_version": version,
            "workload": {"replay": {"acceptance": acceptance}},
        });
        let summary = run(folder.path(), &header, &lines);
        let stated = summary.stated.clone().unwrap();
        assert_eq!(stated.acceptance_length_realised, Some(2.45));
        let codes = codes(&summary);
        assert_eq!(codes.contains(&"acceptance"), gap, "{stated:?}");
        assert_eq!(codes.contains(&"engine_version"), mismatch, "{stated:?}");
    }
    let folder = testkit::tempdir().unwrap();
    assert_eq!(run(folder.path(), &header(), &[]).stated, None);
}

#[test]
fn doubts_name_what_is_missing() {
    let mut encoder = Encoder::new(1, url(1));
    let mut misses = Vec::new();
    for at in 0..130 {
        misses.extend(encoder.miss(at, "status 404"));
    }
    assert_eq!(misses.len() as u64, 130_u64.div_ceil(u64::from(WHOLE_EVERY)));
    let page: &[(&str, f64)] = &[(HITS, 9.0), (QUERIES, 9.0)];
    let reset: &[(&str, f64)] = &[(HITS, 1.0), (QUERIES, 2.0)];
    let mut lines = encoded(&[(0, &[(1000, page), (2000, reset)])]);
    lines.extend(misses);
    let folder = testkit::tempdir().unwrap();
    let summary = run(folder.path(), &header(), &lines);
    let metrics = summary.server_metrics.clone().unwrap();
    assert_eq!(metrics.endpoints[1].first_problem.as_deref(), Some("status 404"));
    assert_eq!(metrics.endpoints[1].missed, 121);
    assert_eq!(metrics.covered_share, Some(0.5));
    let codes = codes(&summary);
    for code in ["no_server_metrics", "counter_resets", "scraped_partly"] {
        assert!(codes.contains(&code), "{code} is not in {codes:?}");
    }
}

#[test]
fn a_killed_run_loses_its_last_line_at_most() {
    let folder = testkit::tempdir().unwrap();
    let page = |n: f64| [(HITS, n), (QUERIES, 2.0 * n), ("still", 1.0)];
    let pages: Vec<_> = (0..5).map(|n| (1000 + 500 * n, page(n as f64))).collect();
    let pages: Vec<(u64, &[(&str, f64)])> = pages.iter().map(|(at, page)| (*at, page.as_slice())).collect();
    write(folder.path(), &encoded(&[(0, &pages)]));
    let path = folder.path().join(SERVER_METRICS_FILE);
    let whole = fs::read(&path).unwrap();
    let mut seen = 0;
    for length in 0..=whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let found = ServerMetrics::of_folder(folder.path(), Some(AFTER_WARMUP))
            .unwrap()
            .unwrap();
        let scrapes = found.endpoints.first().map_or(0, |page| page.scrapes);
        assert!(scrapes >= seen && found.damaged_lines <= 1);
        seen = scrapes;
        if scrapes >= 2 {
            assert_eq!(found.cache.hit_tokens, Some((scrapes - 1) as f64));
        }
    }
    // A damaged line in the middle costs itself, and what it told.
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] = b'!';
        fs::write(&path, &damaged).unwrap();
        ServerMetrics::of_folder(folder.path(), Some(AFTER_WARMUP)).unwrap();
    }
    fs::write(&path, "{\"v\":9,\"endpoint\":0}\n").unwrap();
    let error = ServerMetrics::of_folder(folder.path(), None)
        .unwrap_err()
        .to_string();
    assert!(error.contains("schema version 9"), "{error}");
}

#[test]
fn without_scrapes_there_is_nothing_to_say() {
    let folder = testkit::tempdir().unwrap();
    assert_eq!(
        ServerMetrics::of_folder(folder.path(), Some(AFTER_WARMUP)).unwrap(),
        None
    );
    let export = folder.path().join("server_metrics_export.json");
    Recorder::create(folder.path(), &header()).unwrap();
    assert!(!aiperf::write(folder.path(), &export).unwrap());
    assert!(!export.exists());
}

proptest! {
    #[test]
    fn every_value_comes_back(pages in proptest::collection::vec(
        proptest::collection::btree_map(0_usize..8, prop_oneof![Just(0.0), Just(1.0), any::<f64>()], 0..8), 1..150,
    )) {
        let folder = testkit::tempdir().unwrap();
        let names = ["a:b_total", "b", "b{x=1}", "b{x=2}", "c_bucket{le=0.5}", "c_bucket{le=+Inf}", "c_sum", "d"];
        let pages: Vec<Vec<(&str, f64)>> =
            pages.iter().map(|page| page.iter().map(|(number, value)| (names[*number], *value)).collect()).collect();
        let timed: Vec<(u64, &[(&str, f64)])> = (0..).zip(&pages).map(|(at, page)| (at, page.as_slice())).collect();
        write(folder.path(), &encoded(&[(0, &timed)]));
        let mut reader = Reader::open(folder.path()).unwrap().unwrap();
        for page in &pages {
            let step = reader.next_step().unwrap();
            prop_assert!(matches!(step, Some(Step::Scrape(_))));
            let mut found: Vec<(String, f64)> = reader.endpoints()[0].series.iter().flatten().filter_map(|series| {
                let labels: Vec<String> = series.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
                let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
                Some((format!("{}{labels}", series.name), series.value?))
            }).collect();
            found.sort_by(|one, other| one.0.cmp(&other.0));
            let mut expected: Vec<(String, f64)> =
                page.iter().filter(|(_, value)| value.is_finite()).map(|(name, value)| ((*name).to_owned(), *value)).collect();
            expected.sort_by(|one, other| one.0.cmp(&other.0));
            prop_assert_eq!(found, expected);
        }
        prop_assert!(reader.next_step().unwrap().is_none());
    }
}

/// Every key of an export, with lists and maps of free keys folded: `metrics.*.series[].stats.rate`.
fn key_paths(value: &Value, path: &str, found: &mut std::collections::BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let free = ["metrics", "warmup_metrics", "endpoint_info", "labels", "buckets"];
                let is_free = free.iter().any(|name| path.ends_with(name));
                let key = if is_free { "*" } else { key.as_str() };
                // A histogram, a gauge and a counter have keys of their own.
                let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
                key_paths(value, &format!("{path}.{key}{kind}"), found);
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| key_paths(item, &format!("{path}[]"), found)),
        _ => {
            found.insert(path.to_owned());
        }
    }
}

#[test]
fn the_export_has_the_keys_of_a_real_one() {
    let page = |n: f64| {
        [
            ("vllm:prefix_cache_hits_total{engine=0}", 10.0 * n),
            ("vllm:num_requests_running{engine=0}", n),
            ("vllm:prompt_tokens_total", n),
            ("vllm:ttft_seconds_bucket{engine=0,le=0.01}", 0.0),
            ("vllm:ttft_seconds_bucket{engine=0,le=0.05}", 5.0 * n),
            ("vllm:ttft_seconds_bucket{engine=0,le=+Inf}", 5.0 * n),
            ("vllm:ttft_seconds_sum{engine=0}", n),
            ("vllm:ttft_seconds_count{engine=0}", 5.0 * n),
            ("vllm:idle_seconds_bucket{le=+Inf}", 0.0),
            ("vllm:idle_seconds_sum", 0.0),
            ("vllm:idle_seconds_count", 0.0),
        ]
    };
    let folder = testkit::tempdir().unwrap();
    let pages: Vec<_> = (0..14_u64).map(|n| (n * 250, page(n as f64))).collect();
    let pages: Vec<(u64, &[(&str, f64)])> = pages.iter().map(|(at, page)| (*at, page.as_slice())).collect();
    let mut recorder = Recorder::create(folder.path(), &header()).unwrap();
    let warmup = Phase::Warmup;
    for (at_ms, event) in [
        (10, RunEvent::PhaseStart(warmup)),
        (
            1000,
            RunEvent::PhaseEnd {
                phase: warmup,
                started: 2,
            },
        ),
    ] {
        recorder
            .mark(&Mark {
                at_ns: at_ms * MS,
                event,
            })
            .unwrap();
    }
    marks(true).iter().for_each(|mark| recorder.mark(mark).unwrap());
    write(folder.path(), &encoded(&[(0, &pages)]));
    let file = folder.path().join("server_metrics_export.json");
    assert!(aiperf::write_sliced(folder.path(), &file, 750 * MS).unwrap());
    let ours: Value = testkit::json(&file);

    // Scrapes at 1000 ms (n = 4) to 3000 ms (n = 12); slices of 750 ms, the last one cut to 500.
    let counter = &ours["metrics"]["vllm:prefix_cache_hits"]["series"][0];
    assert_eq!(counter["stats"]["total"], 80.0);
    assert_eq!(counter["stats"]["rate"], 40.0);
    assert_eq!(counter["stats"]["rate_avg"], 40.0);
    let slices = counter["timeslices"].as_array().unwrap();
    let totals: Vec<f64> = slices
        .iter()
        .map(|slice| slice["total"].as_f64().unwrap())
        .collect();
    assert_eq!(totals, [30.0, 30.0, 20.0]);
    assert_eq!(slices[2]["is_complete"], false);
    let start = header().wall_start.as_nanosecond() as u64 + 1000 * MS;
    assert_eq!(
        ours["summary"]["phase_time_ranges"]["profiling"],
        json!({"start_ns": start, "end_ns": start + 2000 * MS})
    );
    assert_eq!(slices[0]["start_ns"], start + 1);
    let gauge = &ours["metrics"]["vllm:num_requests_running"]["series"][0]["stats"];
    assert_eq!(
        (&gauge["avg"], &gauge["min"], &gauge["max"]),
        (&json!(8.0), &json!(4.0), &json!(12.0))
    );
    let histogram = &ours["metrics"]["vllm:ttft_seconds"]["series"][0];
    assert_eq!(histogram["stats"]["count"], 40);
    assert_eq!(histogram["buckets"], json!({"0.01": 0, "0.05": 40, "+Inf": 40}));
    assert_eq!(
        ours["metrics"]["vllm:idle_seconds"]["series"][0]["stats"],
        json!({"count": 0})
    );
    // The warm-up's figures are its own.
    assert_eq!(
        ours["warmup_metrics"]["vllm:prefix_cache_hits"]["series"][0]["stats"]["total"],
        40.0
    );

    let Some(real) =
        testkit::shared("oracle/captures/aiperf_outputs/a_c4_realvllm/server_metrics_export.json.gz")
    else {
        return;
    };
    let mut real: Value = testkit::json(&real);
    let mut ours = ours;
    for export in [&mut real, &mut ours] {
        export.as_object_mut().unwrap().remove("input_config").unwrap();
        // A kind in aiperf's lists that this run has none of.
        export["metrics"]
            .as_object_mut()
            .unwrap()
            .retain(|_, metric| metric["type"] != "unknown");
    }
    let (mut theirs, mut found) = Default::default();
    key_paths(&real, "", &mut theirs);
    key_paths(&ours, "", &mut found);
    let only =
        |one: &std::collections::BTreeSet<String>, other| one.difference(other).cloned().collect::<Vec<_>>();
    assert_eq!(
        (only(&theirs, &found), only(&found, &theirs)),
        (Vec::new(), Vec::new())
    );
}
