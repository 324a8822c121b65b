//! Inputs that broke other clients, by their numbers in the list of cases, each with its right answer.

use std::io::Write;
use std::path::PathBuf;

use tempfile::TempDir;
use trace::pace::{Pace, Schedule};
use trace::recording::{LoadOptions, Recording};
use trace::verify::{Reference, verify};
use trace::{Severity, TimeUnit};

use crate::mooncake::read_text;
use crate::support::places;

const HEADER: &str = "request_id,client_id,tenant_id,slo_class,session_id,round_index,prefix_group,prefix_length,streaming,\
input_tokens,output_tokens,text_tokens,image_tokens,audio_tokens,video_tokens,reason_ratio,model,deadline_us,\
server_input_tokens,arrival_time_us,send_time_us,first_chunk_time_us,last_chunk_time_us,num_chunks,status,error_message,\
finish_reason";

/// Request `id` of `input` prompt tokens that arrived at `at`.
fn row(id: u64, input: i64, at: i64) -> String {
    format!("{id},c,,,,0,,0,true,{input},8,{input},0,0,0,0,m,0,0,{at},{at},0,0,0,ok,,")
}

fn csv(rows: &[String]) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.csv");
    let mut file = std::fs::File::create(&path).unwrap();
    writeln!(file, "{HEADER}").unwrap();
    for row in rows {
        writeln!(file, "{row}").unwrap();
    }
    (folder, path)
}

fn load(rows: &[String], unit: TimeUnit) -> Recording {
    let (_folder, path) = csv(rows);
    let reference = Reference {
        time_unit: unit,
        ..Reference::of_data(&path)
    };
    Recording::load(&reference, LoadOptions::default()).unwrap()
}

#[test]
fn case_28_cumulative_rows_are_whole_prompts_and_deltas_are_told() {
    let (entries, problems) = read_text(concat!(
        "{\"session_id\":\"a\",\"timestamp\":0,\"input_length\":1024,\"output_length\":9,\"hash_ids\":[1,2]}\n",
        "{\"session_id\":\"a\",\"delay\":5,\"input_length\":1536,\"output_length\":9,\"hash_ids\":[1,2,3]}\n",
    ));
    assert_eq!(problems.list(), []);
    assert_eq!(entries[1].input, 1536, "the history is in it once");
    assert_eq!(entries[1].hash_ids, [1, 2, 3]);
    let (_, problems) = read_text(concat!(
        "{\"session_id\":\"a\",\"timestamp\":0,\"input_length\":1024,\"output_length\":9,\"hash_ids\":[1,2]}\n",
        "{\"session_id\":\"a\",\"delay\":5,\"input_length\":512,\"output_length\":9,\"hash_ids\":[3]}\n",
    ));
    assert_eq!(places(&problems, Severity::Warning), ["file"]);
    assert!(problems.list()[0].to_string().contains("mooncake-delta"));
}

#[test]
fn case_29_timestamps() {
    let line = |at: &str| format!("{{{at}\"input_length\":5,\"output_length\":1}}\n");
    for (what, stamps, errors, warnings) in [
        (
            "some lack one",
            vec!["\"timestamp\":1,", "", "\"timestamp\":3,"],
            vec!["line 2: timestamp"],
            vec![],
        ),
        (
            "one is negative",
            vec!["\"timestamp\":1,", "\"timestamp\":-2,"],
            vec!["line 2: timestamp"],
            vec![],
        ),
        (
            "unsorted",
            vec!["\"timestamp\":5,", "\"timestamp\":1,", "\"timestamp\":5,"],
            vec![],
            vec!["line 2: timestamp"],
        ),
        (
            "equal",
            vec!["\"timestamp\":5,", "\"timestamp\":5,"],
            vec![],
            vec![],
        ),
        ("none has one", vec!["", ""], vec![], vec![]),
    ] {
        let text: String = stamps.iter().map(|stamp| line(stamp)).collect();
        let (_, problems) = read_text(&text);
        assert_eq!(places(&problems, Severity::Error), errors, "{what}");
        assert_eq!(places(&problems, Severity::Warning), warnings, "{what}");
    }
    // Unsorted and equal rows of a CSV: in order of arrival, then of id.
    let recording = load(
        &[row(2, 1, 50), row(1, 1, 50), row(0, 1, 90), row(3, 1, 10)],
        TimeUnit::Microsecond,
    );
    let order: Vec<_> = recording
        .requests
        .iter()
        .map(|request| (request.request_id, request.at_us))
        .collect();
    assert_eq!(order, [(3, 0), (1, 40), (2, 40), (0, 80)]);
}

#[test]
fn case_30_a_lacking_column_is_one_error_that_names_it() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.csv");
    let header = HEADER.replace("output_tokens,", "");
    std::fs::write(&path, format!("{header}\n1\n2\n")).unwrap();
    let verified = verify(&Reference::of_data(&path)).unwrap();
    assert_eq!(
        places(&verified.problems, Severity::Error),
        ["header: output_tokens"]
    );
    assert_eq!(verified.problems.list()[0].line, Some(1));
}

#[test]
fn case_31_empty_rows_are_counted_and_silence_is_cut_as_told() {
    let rows = [
        row(0, 10, 0),
        row(1, 0, 5),
        row(2, 10, 7_200_000_000),
        row(3, 10, 7_201_000_000),
    ];
    let recording = load(&rows, TimeUnit::Microsecond);
    assert_eq!(recording.skipped.empty, 1);
    assert_eq!(recording.requests.len(), 3);
    let pace = Pace {
        speedup: 1.0,
        gap_cap_s: Some(60.0),
    };
    let schedule = Schedule::of(&recording, pace);
    assert_eq!(schedule.due_ns, [0, 60_000_000_000, 61_000_000_000]);
    assert_eq!((schedule.gaps_cut, schedule.silence_cut_s), (1, 7140.0));
}

#[test]
fn case_32_what_a_window_never_reaches_is_known_before_it_begins() {
    let recording = load(
        &[row(0, 10, 0), row(1, 10, 56_000_000_000)],
        TimeUnit::Microsecond,
    );
    let schedule = Schedule::of(&recording, Pace::default());
    assert_eq!(schedule.never_started(&recording, 60.0), (1, Some(56_000.0)));
    let cut = Pace {
        gap_cap_s: Some(1.0),
        ..Pace::default()
    };
    assert_eq!(
        Schedule::of(&recording, cut).never_started(&recording, 60.0),
        (0, None)
    );
}

#[test]
fn case_33_more_ids_than_blocks() {
    let (_, problems) = read_text(concat!(
        "{\"timestamp\":0,\"input_length\":20,\"output_length\":1,\"hash_ids\":[1]}\n",
        "{\"timestamp\":1,\"input_length\":20,\"output_length\":1,\"hash_ids\":[1,2]}\n",
    ));
    assert_eq!(places(&problems, Severity::Error), ["line 2: hash_ids"]);
    assert_eq!(problems.list()[0].found, "2 ids for 20 tokens");
}

#[test]
fn case_34_the_first_request_is_at_zero_whatever_the_unit() {
    for (unit, second) in [
        (TimeUnit::Second, 1),
        (TimeUnit::Millisecond, 1_000),
        (TimeUnit::Microsecond, 1_000_000),
        (TimeUnit::Nanosecond, 1_000_000_000),
    ] {
        let start = 1_767_225_600 * second;
        let recording = load(&[row(0, 5, start), row(1, 5, start + 2 * second)], unit);
        assert_eq!(recording.first_us, 1_767_225_600_000_000, "{unit:?}");
        let at: Vec<_> = recording.requests.iter().map(|request| request.at_us).collect();
        assert_eq!(at, [0, 2_000_000], "{unit:?}");
    }
}

#[test]
fn case_55_the_cap_counts_replayed_seconds() {
    let recording = load(
        &[row(0, 5, 0), row(1, 5, 300_000_000), row(2, 5, 1_300_000_000)],
        TimeUnit::Microsecond,
    );
    let pace = Pace {
        speedup: 10.0,
        gap_cap_s: Some(60.0),
    };
    let schedule = Schedule::of(&recording, pace);
    // 300 recorded seconds are 30; 1000 are 100, of which 60 stay.
    assert_eq!(schedule.due_ns, [0, 30_000_000_000, 90_000_000_000]);
    assert_eq!(schedule.silence_cut_s, 40.0);
}
