//! Goodput by class (`trace-csv` §7), over records as `trace::goodput` counts it over rows.

use std::collections::BTreeMap;
use std::fs::File;

use proptest::prelude::*;
use record::header::Slo;
use record::request::{CancelCause, FailureKind, Outcome, RequestRecord};
use record::summary::{DEFAULT_CLASS, DimensionMet, PhaseSummary};
use record::trace_rows::TraceRows;
use serde::Deserialize;
use trace::csv::{Row, Rows, Step};
use trace::{Problems, TimeUnit};

use crate::samples::{answered, header, unanswered};
use crate::summary::{marks, summarise};

fn slo(ttft_ms: f64, itl_ms: f64, e2e_ms: f64) -> Slo {
    Slo {
        ttft_ms,
        itl_ms,
        e2e_ms,
    }
}

/// A record of the measurement with these times in µs: when it began, its first and its last chunk.
fn timed(class: &str, [start_us, first_us, last_us]: [u64; 3], osl: Option<u64>) -> RequestRecord {
    let mut record = answered(0, 0, &[0]);
    let stamps = &mut record.stamps;
    (stamps.due_ns, stamps.start_ns) = (start_us * 1000, start_us * 1000);
    stamps.headers_written_ns = Some(start_us * 1000);
    stamps.first_content_ns = Some(first_us * 1000);
    stamps.last_content_ns = Some(last_us * 1000);
    (stamps.first_byte_ns, stamps.last_byte_ns) = (stamps.first_content_ns, stamps.last_content_ns);
    stamps.stream_end_ns = stamps.last_content_ns;
    record.usage.completion_tokens = osl;
    record.slo_class = (!class.is_empty()).then(|| class.to_owned());
    record
}

fn of(records: Vec<RequestRecord>, slo: &[(&str, Slo)]) -> PhaseSummary {
    let slo = slo.iter().map(|(class, slo)| ((*class).to_owned(), *slo));
    summarise(&marks(), records, slo.collect()).profiling
}

#[derive(Deserialize)]
struct Index {
    valid: Vec<Valid>,
}

#[derive(Deserialize)]
struct Valid {
    goodput: Option<Expected>,
}

#[derive(Deserialize)]
struct Expected {
    runtime_s: f64,
    per_class: BTreeMap<String, Class>,
    total: Total,
}

#[derive(Deserialize)]
struct Class {
    count: u64,
    good: u64,
    slo_attainment: f64,
    goodput_rps: f64,
}

#[derive(Deserialize)]
struct Total {
    count: u64,
    good: u64,
}

/// The row's latencies and outcome, moved in time so that the last answer ends `runtime_us` after the first start.
fn of_row(row: &Row<'_>, runtime_us: u64) -> RequestRecord {
    if row.status != "ok" {
        let mut record = unanswered(0, 0, 0, Outcome::Failed);
        record.slo_class = Some(row.slo_class.to_owned());
        return record;
    }
    let [ttft_us, e2e_us] = [row.ttft_us(), row.e2e_us()].map(|time| time.unwrap().cast_unsigned());
    let start_us = if row.request_id == 5 {
        runtime_us - e2e_us
    } else {
        0
    };
    let osl = Some(u64::from(row.output_tokens));
    timed(
        row.slo_class,
        [start_us, start_us + ttft_us, start_us + e2e_us],
        osl,
    )
}

#[test]
fn the_worked_figures_of_agentic_mini() {
    let data = testkit::checkout().join("crates/trace/tests/data/trace");
    let index: Index = testkit::json(&data.join("index.json"));
    let expected = index.valid.into_iter().find_map(|valid| valid.goodput).unwrap();
    let targets = [
        ("batch", slo(0.0, 0.0, 1000.0)),
        ("critical", slo(500.0, 50.0, 30_000.0)),
        ("standard", slo(100.0, 0.0, 0.0)),
    ];
    let file = data.join("valid/agentic-mini.csv");
    let mut problems = Problems::new(&file);
    let input = File::open(&file).unwrap();
    let mut rows = Rows::new(&file, input, TimeUnit::default(), &mut problems)
        .unwrap()
        .unwrap();
    let mut records = Vec::new();
    while let Step::Row { row, .. } = rows.next(&mut problems).unwrap() {
        records.push(of_row(&row, (expected.runtime_s * 1e6) as u64));
    }
    let found = of(records, &targets);
    assert_eq!(found.throughput.span.unwrap().seconds, expected.runtime_s);
    assert_eq!(found.goodput.len(), expected.per_class.len());
    for (class, expected) in &expected.per_class {
        let goodput = &found.goodput[class];
        assert_eq!(
            (goodput.counted, goodput.slo_met),
            (expected.count, expected.good),
            "{class}"
        );
        assert_eq!(goodput.share, Some(expected.slo_attainment), "{class}");
        assert_eq!(goodput.goodput_rps, Some(expected.goodput_rps), "{class}");
    }
    let total = found.goodput_total.unwrap();
    assert_eq!(
        (total.counted, total.slo_met),
        (expected.total.count, expected.total.good)
    );
    // `derived` in the same file: TTFT 120, 70 and 600 ms, mean ITL 40, none (one token) and 150 ms.
    let critical = &found.goodput["critical"].dimensions;
    let each = ["ttft_ms", "itl_ms", "e2e_ms"].map(|name| (critical[name].met, critical[name].measured));
    assert_eq!(each, [(2, 3), (2, 3), (3, 3)]);
    let batch = BTreeMap::from([("e2e_ms".to_owned(), DimensionMet { met: 1, measured: 1 })]);
    assert_eq!(found.goodput["batch"].dimensions, batch);
}

/// Met and counted of `a`, met and measured of its three targets, met and counted of `default`.
type Counts = ([u64; 2], [[u64; 2]; 3], [u64; 2]);

/// The class `a` is bound to a TTFT of 5 ms, 2 ms a token and 9 ms in all; `default` to a TTFT of 5 ms.
#[test]
fn each_request_is_counted_by_its_class_and_outcome() {
    let targets = [("a", slo(5.0, 2.0, 9.0)), (DEFAULT_CLASS, slo(5.0, 0.0, 0.0))];
    let failed = |outcome, class: &str| RequestRecord {
        slo_class: (!class.is_empty()).then(|| class.to_owned()),
        failure_kind: (outcome == Outcome::Failed).then_some(FailureKind::TimedOut),
        cancel_cause: (outcome == Outcome::Cancelled).then_some(CancelCause::Grace),
        ..unanswered(0, 0, 5, outcome)
    };
    let at = |class: &str, first_us: u64, last_us: u64, osl| {
        timed(class, [1000, 1000 + first_us, 1000 + last_us], osl)
    };
    let no_stamps = RequestRecord {
        stamps: failed(Outcome::Ok, "a").stamps,
        ..at("a", 1, 2, Some(2))
    };
    let cases: [(&str, RequestRecord, Counts); 12] = [
        (
            "at every target",
            at("a", 5000, 9000, Some(3)),
            ([1, 1], [[1, 1]; 3], [0, 0]),
        ),
        (
            "a µs late",
            at("a", 5001, 9000, Some(4)),
            ([0, 1], [[0, 1], [1, 1], [1, 1]], [0, 0]),
        ),
        (
            "slow tokens",
            at("a", 4000, 9000, Some(3)),
            ([0, 1], [[1, 1], [0, 1], [1, 1]], [0, 0]),
        ),
        (
            "one token",
            at("a", 5000, 9000, Some(1)),
            ([1, 1], [[1, 1]; 3], [0, 0]),
        ),
        (
            "not counted by the server",
            at("a", 5000, 9000, None),
            ([0, 1], [[1, 1], [0, 0], [1, 1]], [0, 0]),
        ),
        ("no times", no_stamps, ([0, 1], [[0, 0]; 3], [0, 0])),
        (
            "failed",
            failed(Outcome::Failed, "a"),
            ([0, 1], [[0, 0]; 3], [0, 0]),
        ),
        (
            "overflow",
            failed(Outcome::Overflow, "a"),
            ([0, 1], [[0, 0]; 3], [0, 0]),
        ),
        (
            "cancelled by us",
            failed(Outcome::Cancelled, "a"),
            ([0, 0], [[0, 0]; 3], [0, 0]),
        ),
        (
            "another class",
            at("b", 5000, 9000, Some(3)),
            ([0, 0], [[0, 0]; 3], [0, 0]),
        ),
        (
            "no class",
            at("", 5000, 99_000, Some(2)),
            ([0, 0], [[0, 0]; 3], [1, 1]),
        ),
        (
            "an empty class",
            RequestRecord {
                slo_class: Some(String::new()),
                ..at("", 5000, 99_000, None)
            },
            ([0, 0], [[0, 0]; 3], [1, 1]),
        ),
    ];
    for (name, record, (a, dimensions, default)) in cases {
        let found = of(vec![record], &targets);
        let counts = |class: &str| [found.goodput[class].slo_met, found.goodput[class].counted];
        assert_eq!((counts("a"), counts(DEFAULT_CLASS)), (a, default), "{name}");
        let each = ["ttft_ms", "itl_ms", "e2e_ms"].map(|target| {
            let of = found.goodput["a"].dimensions[target];
            [of.met, of.measured]
        });
        assert_eq!(each, dimensions, "{name}");
        let total = found.goodput_total.unwrap();
        assert_eq!(
            [total.slo_met, total.counted],
            [a[0] + default[0], a[1] + default[1]],
            "{name}"
        );
    }
    assert_eq!(of(vec![at("a", 5000, 9000, Some(3))], &[]).goodput_total, None);
}

prop_compose! {
    /// Small numbers, so that values often meet their targets exactly.
    fn any_request()(
        class in prop::sample::select(vec!["", "a", "b", "c"]), outcome in 0..4u8, start in 1..9u64, ttft in 0..4u64,
        more in 0..7u64, osl in 0..5u64,
    ) -> RequestRecord {
        let record = timed(class, [start, start + ttft, start + ttft + more], Some(osl));
        match outcome {
            0 | 1 => record,
            2 => RequestRecord { outcome: Outcome::Failed, failure_kind: Some(FailureKind::TimedOut), ..record },
            _ => RequestRecord { outcome: Outcome::Overflow, ..record },
        }
    }
}

prop_compose! {
    /// Targets of whole µs; 0 bounds nothing.
    fn any_slo()(us in [0..5u32, 0..5, 0..9]) -> Slo {
        let [ttft, itl, e2e] = us.map(|us| f64::from(us) / 1e3);
        slo(ttft, itl, e2e)
    }
}

proptest! {
    #[test]
    fn records_and_their_rows_agree(
        records in prop::collection::vec(any_request(), 0..12), slos in prop::array::uniform3(any_slo()),
    ) {
        let targets: Vec<(&str, Slo)> = [DEFAULT_CLASS, "a", "b"].into_iter().zip(slos).collect();
        let mut by_rows = trace::goodput::Goodput::new(targets.iter().map(|(class, slo)| {
            let Slo { ttft_ms, itl_ms, e2e_ms } = *slo;
            ((*class).to_owned(), trace::header::Slo { ttft_ms, itl_ms, e2e_ms })
        }));
        let mut rows = TraceRows::new(&header(), &marks());
        for record in &records {
            by_rows.row(&rows.row(record));
        }
        let by_records = of(records, &targets);
        for (class, attained) in by_rows.classes() {
            let goodput = &by_records.goodput[class];
            prop_assert_eq!((goodput.slo_met, goodput.counted), (attained.good, attained.count));
        }
        let total = by_records.goodput_total.unwrap();
        prop_assert_eq!((total.slo_met, total.counted), (by_rows.total().good, by_rows.total().count));
    }
}
