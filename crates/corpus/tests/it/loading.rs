//! Whole files: digests, ids, selection, line ends, progress; and oddities that only draw a warning.

use std::sync::atomic::{AtomicU64, Ordering};

use corpus::select::Selection;
use corpus::{Corpus, LoadOptions, Stage};

use crate::rows::{ROW, check, file, load, row};

#[test]
fn the_row_itself_is_right() {
    let corpus = load(ROW).unwrap();
    assert_eq!(corpus.traces.len(), 1);
    assert_eq!(corpus.traces[0].conversations.len(), 2);
    assert_eq!(corpus.warnings, []);
    assert_eq!((corpus.inner_times.absolute, corpus.inner_times.relative), (1, 0));
}

#[test]
fn ids_are_unique_and_the_first_error_in_the_file_counts() {
    let other = row(r#""id":"a""#, r#""id":"b""#);
    check(
        format!("{ROW}\n{other}\n{ROW}\nnot json\n"),
        ":3: id: duplicate id `a`, first used on line 1; every trace needs an id of its own",
    );
    check(
        format!(
            "{other}\n{}\n",
            row(
                "0,\"system_tokens\":0,\"totals\"",
                "500,\"system_tokens\":0,\"totals\""
            )
        ),
        ":2: trace `a`: turn 0 of `a` declares a prefix of 8 blocks (tool_tokens 500 + system_tokens 0) but has 3 hash \
         ids; at least as many ids as prefix blocks are needed",
    );
    let rows = format!("{ROW}\n{other}\nnot json\n");
    let options = LoadOptions {
        selection: Selection {
            entries: Some(2),
            max_context_length: None,
        },
        ..Default::default()
    };
    let corpus = Corpus::load(&file(rows).path, None, &options, None).unwrap();
    assert_eq!(
        corpus.traces.len(),
        2,
        "rows behind the entry cap are not looked at"
    );
}

#[test]
fn a_wrong_digest_is_found_before_anything_is_parsed() {
    let file = file("not json");
    let digest = "9c0c7eb2f4edd9a9d49a1f5b3f8b8f5e4b4dbd0b9d3a3d2d3c1b7a1f0e5f6a7b";
    let error = Corpus::load(&file.path, Some(digest), &LoadOptions::default(), None).unwrap_err();
    let found = corpus::verify::scan_file(&file.path).unwrap().sha256;
    let expected = format!(
        "{}: sha256 is {found}, but {digest} is expected; fetch the file again or state its own digest",
        file.path.display()
    );
    assert_eq!(error.to_string(), expected);
    let error = Corpus::load(&file.path, Some("abc"), &LoadOptions::default(), None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`abc` is no sha256 digest; 64 hexadecimal digits are right"
    );
}

#[test]
fn a_right_digest_in_either_case_and_a_missing_file() {
    let file = file(ROW);
    let digest = corpus::verify::scan_file(&file.path).unwrap().sha256;
    for stated in [digest.clone(), digest.to_uppercase()] {
        let corpus = Corpus::load(&file.path, Some(&stated), &LoadOptions::default(), None).unwrap();
        assert_eq!(
            (corpus.sha256.as_str(), corpus.bytes),
            (digest.as_str(), ROW.len() as u64)
        );
    }
    let absent = file.path.with_file_name("absent");
    let error = Corpus::load(&absent, None, &LoadOptions::default(), None).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{}: No such file or directory (os error 2)", absent.display())
    );
}

#[test]
fn nothing_is_left() {
    let options = LoadOptions {
        selection: Selection {
            max_context_length: Some(269),
            entries: None,
        },
        ..Default::default()
    };
    let file = file(ROW);
    let error = Corpus::load(&file.path, None, &options, None)
        .unwrap_err()
        .to_string();
    let expected =
        ": none of 1 traces is left: the context limit is 269 tokens and the largest trace needs 270";
    assert_eq!(error.strip_prefix(file.path.to_str().unwrap()), Some(expected));
}

#[test]
fn lines_ends_and_whole_documents() {
    let expected = load(ROW).unwrap().traces;
    let value: serde_json::Value = serde_json::from_str(ROW).unwrap();
    let pretty = serde_json::to_string_pretty(&value).unwrap();
    for text in [
        format!("{ROW}\n"),
        format!("{ROW}\r\n\r\n\n"),
        format!("  {ROW}  \n"),
        pretty.clone(),
        format!("{pretty}\n\n"),
    ] {
        assert_eq!(load(&text).unwrap().traces, expected, "{text}");
    }
    check(
        pretty.replacen("\"in\": 200", "\"in\": -5", 1),
        ":1: requests[0].in: -5 is no number of tokens; 0 to 4294967295 is right",
    );
}

#[test]
fn progress_ends_with_the_whole_file() {
    let other = row(r#""id":"a""#, r#""id":"b""#);
    let text = format!("{ROW}\n{other}\n");
    let (verified, read) = (AtomicU64::new(0), AtomicU64::new(0));
    let progress = |progress: corpus::Progress| {
        assert_eq!(progress.total_bytes, text.len() as u64);
        let done = match progress.stage {
            Stage::Verify => &verified,
            Stage::Read => &read,
        };
        done.fetch_max(progress.done_bytes, Ordering::Relaxed);
    };
    Corpus::load(&file(&text).path, None, &LoadOptions::default(), Some(&progress)).unwrap();
    assert_eq!(verified.into_inner(), text.len() as u64);
    assert_eq!(read.into_inner(), text.len() as u64);
}

/// Loads `text` and compares its warnings.
fn check_warnings(text: &str, expected: &[&str]) {
    let found: Vec<String> = load(text)
        .unwrap()
        .warnings
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn oddities_are_warned_of() {
    let ids = |count: u64| {
        format!(
            "[{}]",
            (1..=count).map(|id| id.to_string()).collect::<Vec<_>>().join(",")
        )
    };
    check_warnings(
        &row("64", "128"),
        &["line 1, trace `a`: block_size: 128 is declared, 64 is used, as aiperf 0.12.0 does"],
    );
    let prompt = |input: &str, ids: &str| row("200", input).replacen("[1,2,3]", ids, 1);
    check_warnings(
        &prompt("756", &ids(12)),
        &[
            "line 1, trace `a`: requests[0].hash_ids: 12 ids for 756 prompt tokens: its last, partial block has one too, \
           which replay ignores (1 requests)",
        ],
    );
    check_warnings(
        &prompt("20", &ids(2)),
        &[
            "line 1, trace `a`: requests[0].hash_ids: 2 ids for 20 prompt tokens: a whole block or more beyond the \
           prompt, which replay ignores (1 requests)",
        ],
    );
    check_warnings(
        &prompt("256", &ids(3)),
        &[
            "line 1, trace `a`: requests[0].hash_ids: 3 ids for 256 prompt tokens: fewer than its whole blocks; text of \
           its own fills the rest (1 requests)",
        ],
    );
    check_warnings(
        &row(r#""t":5,"#, r#""t":5,"#).replacen(r#"[{"t":6,"type":"n""#, r#"[{"t":4.999999,"type":"n""#, 1),
        &[],
    );
}

#[test]
fn inner_times_of_both_conventions() {
    let relative = ROW.replace(r#""t":6"#, r#""t":1"#);
    let corpus = load(&relative).unwrap();
    assert_eq!((corpus.inner_times.absolute, corpus.inner_times.relative), (0, 1));
    assert_eq!(
        corpus.traces[0].conversations[1].turns[0].timestamp_ms,
        Some(6000.0)
    );
    let other = relative.replacen(r#""id":"a""#, r#""id":"b""#, 1);
    check_warnings(
        &format!("{ROW}\n{other}"),
        &[
            "subagent requests count their time from the trace's start (1) and from the spawn (1); each was read by its \
           own value, as aiperf 0.12.0 does",
        ],
    );
}
