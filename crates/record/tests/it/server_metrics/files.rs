//! `server_metrics.jsonl` as a killed run leaves it, damaged, and read back.

use std::fs;

use proptest::prelude::*;
use record::folder::Recorder;
use record::server_metrics::read::{Reader, Step};
use record::server_metrics::statistics::ServerMetrics;
use record::server_metrics::{SERVER_METRICS_FILE, aiperf};

use super::{AFTER_WARMUP, HITS, QUERIES, encoded, write};
use crate::samples::header;

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
