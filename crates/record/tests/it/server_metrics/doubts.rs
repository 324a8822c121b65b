//! What a scenario states beside what is found, and what is missing.

use std::path::Path;

use record::folder::Recorder;
use record::header::RunHeader;
use record::server_metrics::WHOLE_EVERY;
use record::server_metrics::encode::{EncodedLines, Encoder};
use record::summary::Summary;
use serde_json::json;

use super::{HITS, QUERIES, encoded, marks, url, write};
use crate::samples::{answered, header};

fn run(folder: &Path, header: &RunHeader, lines: &[EncodedLines]) -> Summary {
    let mut recorder = Recorder::create(folder, header).unwrap();
    for mark in marks() {
        recorder.mark(&mark).unwrap();
    }
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
