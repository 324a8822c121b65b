//! What a run's trace says of its server, and leaves out.

use record::trace_rows::{Scraped, trace_header};
use trace::header::header_yaml;

use super::{HITS, Pages, QUERIES, encoded, marks, write};
use crate::samples::header;

/// The lines that the scrapes add to a trace's header.
fn check(pages: Pages<'_>, expected: &[&str]) {
    let folder = testkit::tempdir().unwrap();
    let told = |scraped| header_yaml(&trace_header(&header(), &marks(), scraped));
    let without = told(Scraped::of_folder(folder.path(), &marks()).unwrap());
    assert!(
        without.contains("\n  model: \"m\"\n  max_model_len: 32768\n"),
        "{without}"
    );
    write(folder.path(), &encoded(pages));
    let with = told(Scraped::of_folder(folder.path(), &marks()).unwrap());
    let added: Vec<&str> = with
        .lines()
        .filter(|line| !without.lines().any(|known| known == *line))
        .map(str::trim)
        .collect();
    assert_eq!(added, expected, "{with}");
}

#[test]
fn only_what_is_known_is_told() {
    const CONFIG: &str = "vllm:cache_config_info{block_size=16,gpu_memory_utilization=0.92,engine=0}";
    let begin: &[(&str, f64)] = &[(CONFIG, 1.0), (HITS, 100.0), (QUERIES, 1000.0)];
    check(
        &[(
            0,
            &[
                (1000, begin),
                (3001, &[(CONFIG, 1.0), (HITS, 400.0), (QUERIES, 1500.0)]),
            ],
        )],
        &[
            "type: \"vllm\"",
            "block_size: 16",
            "gpu_memory_utilization: 0.92",
            "observed_kv_metrics:",
            "source: \"vllm:prefix_cache_hits / vllm:prefix_cache_queries\"",
            "hit_rate: 0.6",
            "block_hits: 300",
            "block_queries: 500",
        ],
    );
    // A counter that fell, and hits of what was never looked up.
    for end in [
        [(HITS, 50.0), (QUERIES, 1500.0)],
        [(HITS, 900.0), (QUERIES, 1500.0)],
    ] {
        check(
            &[(0, &[(1000, &[(HITS, 100.0), (QUERIES, 1000.0)]), (3001, &end)])],
            &["type: \"vllm\""],
        );
    }
    // Engines that differ, a label that states nothing, an engine that tells no cache.
    let other: &[(&str, f64)] = &[(
        "vllm:cache_config_info{block_size=32,gpu_memory_utilization=None,engine=1}",
        1.0,
    )];
    check(
        &[(0, &[(1000, begin)]), (1, &[(1001, other)])],
        &["type: \"vllm\""],
    );
    check(
        &[(0, &[(1000, &[("sglang:num_running_reqs", 1.0)])])],
        &["type: \"sglang\""],
    );
    check(&[(0, &[(1000, &[("process_open_fds", 1.0)])])], &[]);
}
