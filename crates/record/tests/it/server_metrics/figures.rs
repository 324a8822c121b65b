//! Windows, late, missing and reset counters, several pages.

use record::server_metrics::statistics::ServerMetrics;
use record::server_metrics::window::Window;

use super::{AFTER_WARMUP, HITS, Pages, QUERIES, encoded, figures, write};
use crate::samples::MS;

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
