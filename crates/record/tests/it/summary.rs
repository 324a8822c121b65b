//! The summary of a small run, with figures worked out by hand.

use std::collections::BTreeMap;

use record::folder::{Entry, Losses};
use record::header::Slo;
use record::marks::{Mark, RunEvent, Stop};
use record::request::{CancelCause, FailureKind, Outcome, Phase, RequestRecord};
use record::summary::{Summary, Tally};

use crate::samples::{MS, answered, header, unanswered};

/// A warm-up of one request, then a measurement from 100 ms that sends until 600 ms and ends at 900 ms.
pub(crate) fn marks() -> Vec<Mark> {
    [
        (0, RunEvent::PhaseStart(Phase::Warmup)),
        (20, RunEvent::SendingEnd(Phase::Warmup)),
        (
            60,
            RunEvent::PhaseEnd {
                phase: Phase::Warmup,
                started: 1,
            },
        ),
        (100, RunEvent::PhaseStart(Phase::Profiling)),
        (600, RunEvent::SendingEnd(Phase::Profiling)),
        (
            900,
            RunEvent::PhaseEnd {
                phase: Phase::Profiling,
                started: 6,
            },
        ),
        (
            901,
            RunEvent::RunEnd {
                stop: Stop::Done,
                reason: String::new(),
            },
        ),
    ]
    .map(|(at_ms, event)| Mark {
        at_ns: at_ms * MS,
        event,
    })
    .into()
}

pub(crate) fn records() -> Vec<RequestRecord> {
    let warmup = RequestRecord {
        phase: Phase::Warmup,
        ..answered(0, 10, &[50])
    };
    let early = RequestRecord {
        osl_planned: 5,
        ..answered(2, 300, &[600, 610, 620, 630])
    };
    let refused = RequestRecord {
        failure_kind: Some(FailureKind::Refused),
        http_status: Some(503),
        error: Some("engine 17 is dead".into()),
        ..unanswered(3, 310, 400, Outcome::Failed)
    };
    let overflow = RequestRecord {
        http_status: Some(400),
        error: Some("maximum context length is 32768".into()),
        ..unanswered(4, 320, 420, Outcome::Overflow)
    };
    let cut = RequestRecord {
        cancel_cause: Some(CancelCause::Grace),
        ..unanswered(5, 330, 900, Outcome::Cancelled)
    };
    vec![
        warmup,
        answered(0, 100, &[200, 220, 240]),
        answered(1, 150, &[200, 240]),
        early,
        refused,
        overflow,
        cut,
    ]
}

pub(crate) fn summarise(marks: &[Mark], records: Vec<RequestRecord>, slo: BTreeMap<String, Slo>) -> Summary {
    let mut tally = Tally::new(Some(record::header::RunHeader { slo, ..header() }), marks);
    for record in records {
        tally.push(&Entry {
            record,
            chunks_known: true,
        });
    }
    tally.finish(Losses::default())
}

fn near(found: Option<f64>, expected: f64) {
    let found = found.unwrap();
    assert!(
        (found - expected).abs() < 1e-9 * expected.abs().max(1.0),
        "{found}, not {expected}"
    );
}

#[test]
fn counts_add_up_and_say_why() {
    let summary = summarise(&marks(), records(), BTreeMap::new());
    let counts = &summary.profiling.counts;
    assert_eq!(
        (
            counts.started,
            counts.ok,
            counts.failed,
            counts.overflow,
            counts.cancelled,
            counts.unrecorded
        ),
        (6, 3, 1, 1, 1, 0)
    );
    assert_eq!(counts.failure_kinds, BTreeMap::from([("refused".to_owned(), 1)]));
    assert_eq!(counts.cancel_causes, BTreeMap::from([("grace".to_owned(), 1)]));
    assert_eq!(
        summary.profiling.first_error.as_deref(),
        Some("engine 17 is dead")
    );
    assert_eq!(summary.profiling.errors.len(), 2);
    let warmup = summary.warmup.unwrap();
    assert_eq!((warmup.counts.started, warmup.counts.ok), (1, 1));
}

#[test]
fn latency_is_over_the_answered_requests_of_the_measurement() {
    let profiling = summarise(&marks(), records(), BTreeMap::new()).profiling;
    let ttft = profiling.ttft_ms;
    assert_eq!((ttft.n, ttft.missing), (3, 0));
    assert_eq!(
        (ttft.min, ttft.p50, ttft.mean, ttft.max),
        (Some(50.0), Some(100.0), Some(150.0), Some(300.0))
    );
    near(ttft.std, (35000.0f64 / 3.0).sqrt());
    assert_eq!((ttft.p90, ttft.p99), (None, None));
    near(profiling.tpot_ms.mean, 70.0 / 3.0);
    near(profiling.tps_per_user.p50, 50.0);
    near(profiling.full_response_itl_ms.max, 41.0);
    near(profiling.e2e_ms.mean, (140.0 + 90.0 + 330.0) / 3.0);
    let itl = profiling.itl_ms.distribution;
    assert_eq!((itl.n, itl.p50), (6, Some(15.0)));
    near(itl.mean, 110.0 / 6.0);
    near(itl.std, (2700.0 / 6.0 - (110.0f64 / 6.0).powi(2)).sqrt());
}

#[test]
fn each_window_has_its_own_rates() {
    let throughput = summarise(&marks(), records(), BTreeMap::new())
        .profiling
        .throughput;
    let send = throughput.send.unwrap();
    assert_eq!(
        (send.start_ns, send.end_ns, send.requests),
        (100 * MS, 600 * MS, 2)
    );
    near(send.rps, 4.0);
    near(send.output_tps, 10.0);
    near(send.total_tps, 410.0);
    let span = throughput.span.unwrap();
    assert_eq!(
        (span.start_ns, span.end_ns, span.requests),
        (100 * MS, 631 * MS, 3)
    );
    near(span.output_tps, 9.0 / 0.531);
    let phase = throughput.phase.unwrap();
    near(phase.rps, 3.75);
    near(phase.output_tps, 11.25);
    assert!(throughput.end_stated);
}

#[test]
fn cache_hits_and_early_answers_are_shares_of_sums() {
    let profiling = summarise(&marks(), records(), BTreeMap::new()).profiling;
    near(profiling.cache.theoretical_share, 0.25);
    near(profiling.cache.reported_share, 0.25);
    assert_eq!(profiling.cache.reported_requests, 3);
    near(profiling.early_finish.share, 1.0 / 3.0);
    near(profiling.tokens.per_chunk, 1.0);
    assert_eq!(
        (profiling.tokens.osl, profiling.tokens.osl_planned),
        (Some(9), 10)
    );
}

#[test]
fn what_the_cap_held_back_is_told_beside_lateness() {
    let mut records = records();
    assert_eq!(
        summarise(&marks(), records.clone(), BTreeMap::new())
            .profiling
            .held,
        None
    );
    records[1].held_ns = 30 * MS;
    records[6].held_ns = 50 * MS;
    let profiling = summarise(&marks(), records, BTreeMap::new()).profiling;
    let held = profiling.held.unwrap();
    assert_eq!((held.requests, held.delay_ms.n), (2, 2));
    assert_eq!((held.delay_ms.p50, held.delay_ms.max), (Some(40.0), Some(50.0)));
    assert_eq!(profiling.client.lateness_ms.max, Some(0.0));
}

#[test]
fn a_server_that_counts_nothing_leaves_figures_empty_not_zero() {
    // faults.md 22
    let mut records = records();
    for record in &mut records {
        record.usage = record::request::Usage::default();
    }
    let profiling = summarise(&marks(), records, BTreeMap::new()).profiling;
    assert_eq!((profiling.tpot_ms.n, profiling.tpot_ms.missing), (0, 3));
    assert_eq!(
        (
            profiling.osl.n,
            profiling.tokens.osl,
            profiling.early_finish.share
        ),
        (0, None, None)
    );
    let span = profiling.throughput.span.unwrap();
    assert_eq!((span.output_tps, span.total_tps), (None, None));
    assert!(span.rps.is_some());
    assert_eq!(profiling.cache.reported_share, None);
    assert_eq!(profiling.tps_per_user.mean, None);
}

#[test]
fn a_killed_run_ends_with_its_last_stamp_and_counts_what_was_in_flight() {
    let mut records = records();
    records.truncate(5);
    records.remove(2); // sequence 1 was still in flight
    let summary = summarise(&marks()[..4], records, BTreeMap::new());
    assert_eq!((summary.end.stop, summary.end.at_ns), (None, 631 * MS));
    let counts = &summary.profiling.counts;
    assert_eq!((counts.started, counts.recorded(), counts.unrecorded), (4, 3, 1));
    assert_eq!(summary.losses.unrecorded_requests, 1);
    let throughput = summary.profiling.throughput;
    assert!(!throughput.end_stated);
    let send = throughput.send.unwrap();
    assert_eq!((send.end_ns, send.requests), (631 * MS, 2));
}

#[test]
fn an_empty_run_has_a_summary() {
    let summary = summarise(&[], vec![], BTreeMap::new());
    assert_eq!(summary.warmup, None);
    assert_eq!(
        summary.profiling.throughput,
        record::summary::PhaseThroughput::default()
    );
    assert_eq!(summary.profiling.counts.started, 0);
}

#[test]
fn the_file_comes_back_and_is_the_same_each_time() {
    let summary = summarise(&marks(), records(), BTreeMap::new());
    let text = serde_json::to_string_pretty(&summary).unwrap();
    assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), summary);
    assert_eq!(summarise(&marks(), records(), BTreeMap::new()), summary);
}

#[test]
fn errors_that_differ_in_numbers_alone_are_one() {
    let mut failed = Vec::new();
    for index in 0..60 {
        let mut record = unanswered(index, 100, 200, Outcome::Failed);
        record.failure_kind = Some(FailureKind::Connect);
        record.error = Some(if index % 2 == 0 {
            format!("peer 10.0.0.{index}:80 refused")
        } else {
            format!("kind {} of text", "x".repeat(index as usize))
        });
        failed.push(record);
    }
    let errors = summarise(&[], failed, BTreeMap::new()).profiling.errors;
    assert_eq!(errors.len(), record::summary::ERROR_GROUPS_MAX + 1);
    assert_eq!(
        (errors[0].count, errors[0].text.as_str()),
        (30, "peer 10.0.0.0:80 refused")
    );
    assert_eq!(errors.iter().map(|group| group.count).sum::<u64>(), 60);
}
