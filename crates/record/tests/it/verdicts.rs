//! Doubts about a measurement, and the stamp for submission.

use record::folder::{Entry, Losses};
use record::header::{RunHeader, TraceFacts, ValidityInputs};
use record::marks::{Mark, RunEvent, Stop};
use record::request::{FailureKind, Outcome, RequestRecord, Usage};
use record::summary::{Summary, Tally};

use crate::samples::{MS, answered, header, unanswered};

fn summarise(header: RunHeader, stop: Option<Stop>, records: Vec<RequestRecord>) -> Summary {
    let end = |stop| Mark {
        at_ns: 1_000_000 * MS,
        event: RunEvent::RunEnd {
            stop,
            reason: "why".into(),
        },
    };
    let marks: Vec<Mark> = stop.map(end).into_iter().collect();
    let mut tally = Tally::new(Some(header), &marks);
    for record in records {
        tally.push(&Entry {
            record,
            chunks_known: true,
        });
    }
    tally.finish(Losses::default())
}

/// 200 good requests, each changed.
fn many(change: impl Fn(u64, &mut RequestRecord)) -> Vec<RequestRecord> {
    (0..200)
        .map(|index| {
            let at = 100 * index;
            let mut record = answered(index, at, &[at + 50, at + 60, at + 70, at + 80]);
            change(index, &mut record);
            record
        })
        .collect()
}

fn codes(summary: &Summary) -> Vec<&str> {
    summary
        .warnings
        .iter()
        .map(|warning| warning.code.as_str())
        .collect()
}

#[test]
fn a_good_run_has_no_doubts() {
    let summary = summarise(header(), Some(Stop::Done), many(|_, _| ()));
    assert_eq!(summary.warnings, []);
    assert!(summary.validity.unwrap().submission_valid);
}

#[test]
fn each_doubt_is_raised_by_its_own_fault() {
    type Change = fn(u64, &mut RequestRecord);
    let cases: &[(&str, Change)] = &[
        ("late", |index, record| {
            record.stamps.due_ns -= if index % 50 == 1 { 2 * MS } else { 0 }
        }),
        ("client_limit_parsing", |_, record| {
            record.parse_lag_max_ns = 2 * MS;
        }),
        ("no_usage", |index, record| {
            if index == 0 {
                record.usage.completion_tokens = None;
            }
        }),
        ("no_cached_tokens", |_, record| record.usage.cached_tokens = None),
        ("early_finish", |index, record| {
            record.osl_planned += u64::from(index == 0);
        }),
        ("isl_drift", |_, record| record.usage.prompt_tokens = Some(120)),
        ("warm_cache", |_, record| record.usage.cached_tokens = Some(60)),
        ("no_done", |index, record| record.done_seen = index != 0),
        ("malformed_events", |index, record| {
            record.malformed_events = u64::from(index == 0);
        }),
    ];
    for (code, change) in cases {
        let summary = summarise(header(), Some(Stop::Done), many(change));
        assert_eq!(codes(&summary), [*code]);
        assert!(summary.warnings.iter().all(|warning| !warning.advice.is_empty()));
    }
}

/// A run of a trace file whose schedule had so many requests: no warm-up, no lanes, no scenario, no theoretical cache.
fn of_trace(loop_kind: &str, planned: u64, mut records: Vec<RequestRecord>) -> Summary {
    for record in &mut records {
        (record.theoretical_hit_blocks, record.theoretical_total_blocks) = (0, 0);
        record.held_ns = 5 * MS;
    }
    let header = RunHeader {
        dialect: String::new(),
        loop_kind: loop_kind.into(),
        concurrency: 0,
        trace: Some(TraceFacts {
            planned,
            ..TraceFacts::default()
        }),
        validity: ValidityInputs::default(),
        scenario: serde_json::Value::Null,
        ..header()
    };
    summarise(header, Some(Stop::Done), records)
}

#[test]
fn a_run_of_a_trace_is_doubted_only_for_what_it_did_not_send() {
    for loop_kind in ["open", "closed", "sessions"] {
        let summary = of_trace(loop_kind, 200, many(|_, _| ()));
        assert_eq!(
            (codes(&summary), summary.not_sent, &summary.validity),
            (vec![], Some(0), &None)
        );
    }
    assert_eq!(
        summarise(header(), Some(Stop::Done), many(|_, _| ())).not_sent,
        None
    );
    let failed = |index: u64, record: &mut RequestRecord| {
        if index == 0 {
            record.outcome = Outcome::Failed;
        }
    };
    let left = |loop_kind, records| {
        let summary = of_trace(loop_kind, 210, records);
        assert_eq!(summary.not_sent, Some(10));
        let warning = summary.warnings.iter().find(|warning| warning.code == "not_sent");
        warning.unwrap().message.clone()
    };
    let ended = "10 of 210 requests of the trace were not sent: the run ended before their time";
    assert_eq!(left("sessions", many(|_, _| ())), ended);
    assert_eq!(left("open", many(failed)), ended);
    assert_eq!(
        left("sessions", many(failed)),
        "10 of 210 requests of the trace were not sent: a failed request had ended their session, or the run ended before \
         their time"
    );
}

#[test]
fn stuck_lanes_are_named() {
    let marks = [3, 11].map(|lane| Mark {
        at_ns: 5 * MS,
        event: RunEvent::LaneStuck { lane },
    });
    let mut tally = Tally::new(Some(header()), &marks);
    for record in many(|_, _| ()) {
        tally.push(&Entry {
            record,
            chunks_known: true,
        });
    }
    let summary = tally.finish(Losses::default());
    assert_eq!(summary.stuck_lanes, [3, 11]);
    let warning = summary
        .warnings
        .iter()
        .find(|warning| warning.code == "stuck_lanes")
        .unwrap();
    assert!(warning.message.ends_with(": 3, 11"), "{}", warning.message);
}

#[test]
fn doubts_that_come_together() {
    // faults.md 21: four tokens a chunk.
    let coarse = many(|_, record| {
        record.usage.completion_tokens = Some(16);
        record.osl_planned = 16;
    });
    assert_eq!(
        codes(&summarise(header(), Some(Stop::Done), coarse)),
        ["tokens_per_chunk"]
    );

    // faults.md 23 and 40: events arrive in clumps.
    let clumped = many(|_, record| {
        for index in [1, 3] {
            record.chunks[index].at_ns = record.chunks[index - 1].at_ns;
            record.chunks[index].same_read = true;
        }
        record.parse_lag_max_ns = 0;
    });
    assert_eq!(
        codes(&summarise(header(), Some(Stop::Done), clumped)),
        ["bursts", "buffered_stream"]
    );

    let mut cut = many(|_, _| ());
    let truncated = RequestRecord {
        failure_kind: Some(FailureKind::Truncated),
        error: Some("stream ended".into()),
        ..unanswered(200, 0, 5, Outcome::Failed)
    };
    let grace = RequestRecord {
        cancel_cause: Some(record::request::CancelCause::Grace),
        ..unanswered(201, 0, 5, Outcome::Cancelled)
    };
    cut.extend([truncated, grace, unanswered(202, 0, 5, Outcome::Overflow)]);
    let summary = summarise(header(), Some(Stop::Done), cut);
    assert_eq!(codes(&summary), ["failures", "truncated", "overflow", "censored"]);
    assert_eq!(
        summary.warnings[0].message,
        "1 of 202 requests failed: stream ended"
    );
    assert_eq!(
        summary.warnings[2].message,
        "1 of 202 prompts do not fit the window of 32768 tokens"
    );

    let few = summarise(header(), Some(Stop::Interrupt), many(|_, _| ()).split_off(150));
    assert_eq!(codes(&few), ["stopped", "unrecorded", "few_requests"]);
    assert_eq!(
        few.warnings[2].message,
        "50 answers are too few for p99, which needs 200"
    );
    assert_eq!(
        codes(&summarise(header(), None, vec![])),
        ["killed", "nothing_answered"]
    );
}

#[test]
fn reasons_against_submission_stand_beside_their_limits() {
    let inputs = |change: fn(&mut ValidityInputs)| {
        let mut header = header();
        change(&mut header.validity);
        header
    };
    let check = |header: RunHeader, stop, records, expected: &[&str]| {
        let validity = summarise(header, stop, records).validity.unwrap();
        assert_eq!(validity.reason_names(), expected, "{validity:?}");
        assert_eq!(validity.submission_valid, expected.is_empty());
        validity
    };
    let done = Some(Stop::Done);
    let broken =
        inputs(|inputs| inputs.override_locks = vec!["duration is 20 s".into(), "no cache bust".into()]);
    let validity = check(broken, done, many(|_, _| ()), &["unsafe_override"]);
    assert_eq!(validity.reasons[0].detail, "duration is 20 s");
    check(
        inputs(|inputs| inputs.corpus_pinned = false),
        done,
        many(|_, _| ()),
        &["corpus_not_pinned"],
    );
    for stop in [None, Some(Stop::Interrupt), Some(Stop::Abort)] {
        check(header(), stop, many(|_, _| ()), &["run_cancelled"]);
    }

    // Strictly above 1 %: 2 of 200 is valid, 3 of 200 is not. Ordinary failures never matter.
    let overflowing = |last: u64| {
        move |index: u64, record: &mut RequestRecord| {
            if index < last {
                record.outcome = Outcome::Overflow;
            }
        }
    };
    check(header(), done, many(overflowing(2)), &[]);
    let validity = check(
        header(),
        done,
        many(overflowing(3)),
        &["context_overflow_rate_exceeded"],
    );
    assert_eq!(
        validity.reasons[0].detail,
        "3 of 200 answers are context overflows (1.50 %), the limit is 1 %"
    );
    check(
        header(),
        done,
        many(|_, record| record.outcome = Outcome::Failed),
        &[],
    );

    // faults.md 46: ignore_eos is not honoured.
    let short = || many(|_, record| record.osl_planned = 4 + 5000);
    check(header(), done, short(), &["outputs_cut_short"]);
    check(
        inputs(|inputs| inputs.output_length_locked = false),
        done,
        short(),
        &[],
    );
    // Unknown lengths are no short ones.
    check(
        header(),
        done,
        many(|_, record| record.usage = Usage::default()),
        &[],
    );

    // The fork: latencies must have been seen up to 95 % of the window. These end after 20 s.
    let window = |seconds| {
        let mut header = header();
        header.validity.latency_window_s = Some(seconds);
        header
    };
    check(window(21.0), done, many(|_, _| ()), &[]);
    check(window(21.1), done, many(|_, _| ()), &["latency_coverage_too_low"]);
    let first_token_only = many(|index, record| {
        if index > 100 {
            record.stamps.last_content_ns = record.stamps.first_content_ns;
        }
    });
    let validity = check(
        window(20.0),
        done,
        first_token_only,
        &["latency_coverage_too_low"],
    );
    assert!(
        validity.reasons[0].detail.contains("the last ITL 50."),
        "{validity:?}"
    );

    let unnamed = inputs(|inputs| inputs.scenario = None);
    assert_eq!(summarise(unnamed, None, vec![]).validity, None);
}

#[test]
fn the_failure_that_is_named_is_the_most_frequent_one() {
    let mut records = many(|_, _| ());
    let failed = |sequence, kind, text: &str| RequestRecord {
        failure_kind: Some(kind),
        error: Some(text.into()),
        ..unanswered(sequence, 0, 5, Outcome::Failed)
    };
    records.push(failed(200, FailureKind::Truncated, "cut off"));
    records.extend((201..204).map(|sequence| failed(sequence, FailureKind::Connect, "refused")));
    let summary = summarise(header(), Some(Stop::Done), records);
    assert_eq!(
        summary.warnings[0].message,
        "4 of 204 requests failed: 3 times: refused"
    );
}
