//! What is written is what is read.

use proptest::option;
use proptest::prelude::*;
use record::folder::{Entry, Recorder, RunReader};
use record::header::{self, ServerUrl};
use record::marks::{Mark, RunEvent, Stop};
use record::request::{CancelCause, ContentChunk, FailureKind, Outcome, Phase, RequestRecord, Stamps, Usage};
use record::schema::Row;

use crate::samples;

fn stamps() -> impl Strategy<Value = Stamps> {
    (any::<[u64; 2]>(), any::<[Option<u64>; 9]>()).prop_map(|([due_ns, start_ns], later)| Stamps {
        due_ns,
        start_ns,
        connected_ns: later[0],
        headers_written_ns: later[1],
        body_written_ns: later[2],
        first_byte_ns: later[3],
        first_content_ns: later[4],
        first_output_ns: later[5],
        last_content_ns: later[6],
        last_byte_ns: later[7],
        stream_end_ns: later[8],
    })
}

fn chunks() -> impl Strategy<Value = Vec<ContentChunk>> {
    proptest::collection::vec((0u64..1 << 40, any::<bool>()), 0..20).prop_map(|steps| {
        let mut at_ns = 0;
        let mut step = |(since_ns, same_read): (u64, bool)| {
            at_ns += since_ns;
            ContentChunk { at_ns, same_read }
        };
        steps.into_iter().map(&mut step).collect()
    })
}

fn outcome() -> impl Strategy<Value = (Outcome, Option<FailureKind>, Option<CancelCause>)> {
    use record::words::Word;
    fn any_of<T: Word + std::fmt::Debug>() -> impl Strategy<Value = T> {
        (0..T::TABLE.len()).prop_map(|index| T::TABLE[index].0)
    }
    (any_of(), option::of(any_of()), option::of(any_of()))
}

prop_compose! {
    fn any_record()(
        numbers in any::<[u64; 9]>(),
        small in any::<[u32; 4]>(),
        flags in any::<[bool; 2]>(),
        texts in any::<[String; 5]>(),
        maybe in any::<[Option<String>; 3]>(),
        usage in any::<[Option<u64>; 4]>(),
        http_status in any::<Option<u16>>(),
        stamps in stamps(),
        chunks in chunks(),
        outcome in outcome(),
    ) -> RequestRecord {
        let [request_id, conversation_id, trace_id, session_id, marker] = texts;
        let [parent_session_id, finish_reason, error] = maybe;
        let stamps = Stamps {
            first_content_ns: chunks.first().map(|chunk| chunk.at_ns),
            last_content_ns: chunks.last().map(|chunk| chunk.at_ns),
            ..stamps
        };
        RequestRecord {
            request_id, sequence: numbers[0], phase: if flags[0] { Phase::Warmup } else { Phase::Profiling },
            lane: small[0], tree_pass: numbers[1], conversation_id, trace_id, session_id, parent_session_id,
            turn_index: small[1], turns_total: small[2], depth: small[3], marker,
            slo_class: finish_reason.clone(), held_ns: numbers[3], isl_planned: numbers[2],
            osl_planned: numbers[3], theoretical_hit_blocks: numbers[4], theoretical_total_blocks: numbers[5],
            body_bytes: numbers[6], response_bytes: numbers[7], stamps, chunks, reasoning_chunks: 3,
            parse_lag_max_ns: numbers[8], http_status, finish_reason, done_seen: flags[1], malformed_events: 2,
            usage: Usage {
                prompt_tokens: usage[0], completion_tokens: usage[1], cached_tokens: usage[2],
                reasoning_tokens: usage[3],
            },
            outcome: outcome.0, failure_kind: outcome.1, cancel_cause: outcome.2, error,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn records_come_back_with_their_chunks(records in proptest::collection::vec(any_record(), 0..6)) {
        let folder = testkit::tempdir().unwrap();
        let mut recorder = Recorder::create(folder.path(), &samples::header()).unwrap();
        for record in &records {
            recorder.append(record).unwrap();
        }
        let mut reader = RunReader::open(folder.path()).unwrap();
        let found: Vec<Entry> = reader.by_ref().map(Result::unwrap).collect();
        let expected: Vec<Entry> =
            records.into_iter().map(|record| Entry { record, chunks_known: true }).collect();
        prop_assert_eq!(found, expected);
        prop_assert!(reader.losses().none());
    }

    #[test]
    fn no_summary_panics_on_any_record(records in proptest::collection::vec(any_record(), 0..6)) {
        let mut tally = record::summary::Tally::new(Some(samples::header()), &[]);
        for record in records {
            tally.push(&Entry { record, chunks_known: true });
        }
        let summary = tally.finish(record::folder::Losses::default());
        let counts = &summary.profiling.counts;
        prop_assert_eq!(counts.started, counts.recorded() + counts.unrecorded);
    }
}

#[test]
fn a_row_keeps_the_intervals_for_other_tools_and_reads_the_stamps() {
    let mut record = samples::answered(3, 10, &[110, 160, 210]);
    record.parent_session_id = Some("p".into());
    let text = serde_json::to_string(&Row::from_record(&record)).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["v"], 1);
    assert_eq!(value["phase"], "profiling");
    assert_eq!(value["outcome"], "ok");
    assert_eq!(value["ttft_ns"], 100_000_000);
    assert_eq!(value["e2e_ns"], 200_000_000);
    assert_eq!(value["tpot_ns"], 5e7);
    assert_eq!(value["tps_per_user"], 20.0);
    assert!(
        value.get("connect_ns").is_none(),
        "a key without a value is left out"
    );

    let changed = text.replace(
        "\"ttft_ns\":100000000",
        "\"ttft_ns\":1,\"key_of_a_later_version\":{\"a\":[1]}",
    );
    assert_ne!(changed, text);
    let read: Row = serde_json::from_str(&changed).unwrap();
    record.chunks.clear();
    assert_eq!(read.into_record(), record);
}

#[test]
fn header_and_marks_come_back() {
    let folder = testkit::tempdir().unwrap();
    let mut recorder = Recorder::create(folder.path(), &samples::header()).unwrap();
    let marks = [
        RunEvent::PhaseStart(Phase::Warmup),
        RunEvent::SendingEnd(Phase::Warmup),
        RunEvent::PhaseEnd {
            phase: Phase::Warmup,
            started: 4,
        },
        RunEvent::RunEnd {
            stop: Stop::Abort,
            reason: "a primer failed".into(),
        },
    ]
    .map(|event| Mark { at_ns: 7, event });
    for mark in &marks {
        recorder.mark(mark).unwrap();
    }
    recorder.sync().unwrap();
    let later = "{\"v\":1,\"at_ns\":9,\"mark\":\"tea_break\",\"minutes\":3}\n";
    let path = folder.path().join("marks.jsonl");
    std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + later).unwrap();

    let reader = RunReader::open(folder.path()).unwrap();
    assert_eq!(reader.marks(), marks);
    assert_eq!(reader.header(), Some(&samples::header()));
    assert!(!reader.losses().damaged_marks);
    let text = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
    assert!(text.contains("\"loop\": \"closed\""), "{text}");
    assert!(
        text.contains("\"wall_start\": \"2026-02-03T04:05:06.789012345Z\""),
        "{text}"
    );
}

#[test]
fn a_folder_with_a_run_is_not_written_over() {
    let folder = testkit::tempdir().unwrap();
    Recorder::create(folder.path(), &samples::header()).unwrap();
    let error = Recorder::create(folder.path(), &samples::header())
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("already holds a run; name another folder"),
        "{error}"
    );
    let empty = testkit::tempdir().unwrap();
    assert!(RunReader::open(empty.path()).is_err());
    assert!(header::read(&empty.path().join("run.json")).unwrap().is_none());
}

#[test]
fn a_server_url_holds_no_credentials() {
    for (given, kept) in [
        ("http://user:pass@host:8000/v1", "http://host:8000/v1"),
        ("https://host/v1?api_key=secret#x", "https://host/v1"),
        ("http://a@b:c@host", "http://host"),
        ("http://host/path/@name", "http://host/path/@name"),
        ("key@host:80", "host:80"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ] {
        assert_eq!(ServerUrl::new(given).as_str(), kept);
        let read: ServerUrl = serde_json::from_value(given.into()).unwrap();
        assert_eq!(read.as_str(), kept);
    }
}
