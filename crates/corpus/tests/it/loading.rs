//! Files that are wrong, each with the one message that it must give; and oddities that only draw a warning.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use corpus::select::Selection;
use corpus::{Corpus, Error, LoadOptions, Stage};

/// A row that is right, with one request at the top level and one in a subagent.
const ROW: &str = r#"{"id":"a","models":["A"],"block_size":64,"hash_id_scope":"local","tool_tokens":0,"system_tokens":0,"totals":null,"requests":[{"t":0,"type":"s","model":"A","in":200,"out":70,"hash_ids":[1,2,3],"input_types":["text"],"output_types":[],"stop":"","api_time":2.5,"think_time":null,"ttft":0.5},{"t":5,"type":"subagent","agent_id":"x","subagent_type":"Explore","duration_ms":null,"total_tokens":1,"tool_use_count":null,"status":"completed","requests":[{"t":6,"type":"n","model":"A","in":64,"out":1,"hash_ids":[9]}],"models":["A"],"tool_tokens":0,"system_tokens":0}]}"#;

/// `ROW` with one part replaced.
fn row(from: &str, to: &str) -> String {
    assert!(ROW.contains(from), "{from}");
    ROW.replacen(from, to, 1)
}

struct File {
    _folder: testkit::TempDir,
    path: PathBuf,
}

fn file(text: impl AsRef<[u8]>) -> File {
    let folder = testkit::tempdir().unwrap();
    let path = folder.path().join("corpus.jsonl");
    fs::write(&path, text).unwrap();
    File {
        _folder: folder,
        path,
    }
}

fn load(text: impl AsRef<[u8]>) -> Result<Corpus, Error> {
    Corpus::load(&file(text).path, None, &LoadOptions::default(), None)
}

/// Loads `text` and compares the message, the file's name cut off.
fn check(text: impl AsRef<[u8]>, expected: &str) {
    let file = file(text);
    let error = Corpus::load(&file.path, None, &LoadOptions::default(), None)
        .unwrap_err()
        .to_string();
    let message = error.strip_prefix(file.path.to_str().unwrap()).unwrap();
    assert_eq!(message, expected);
}

#[test]
fn the_row_itself_is_right() {
    let corpus = load(ROW).unwrap();
    assert_eq!(corpus.traces.len(), 1);
    assert_eq!(corpus.traces[0].conversations.len(), 2);
    assert_eq!(corpus.warnings, []);
    assert_eq!((corpus.inner_times.absolute, corpus.inner_times.relative), (1, 0));
}

#[test]
fn rows_that_are_not_json() {
    let second = |text: &str| format!("{ROW}\n{text}\n");
    check(second("not json"), ":2:2: not JSON: expected ident");
    check(
        second(&ROW[..100]),
        ":2:100: not JSON: EOF while parsing a string",
    );
    check(
        second(&format!("{ROW}}}")),
        &format!(":2:{}: not JSON: trailing characters", ROW.len() + 1),
    );
    check(
        format!("{ROW}\n\n{ROW}\n"),
        ":2: an empty line between rows; one JSON object a line is right",
    );
    check(
        format!("{ROW}\n[1]"),
        ":2: row: invalid type: sequence, expected an object, a Weka trace",
    );
    check(
        "{\n  \"id\": \"a\",\n  \"models\": [\"A\"\n",
        ":3:16: not JSON: EOF while parsing a list",
    );
    check(
        "",
        ": none of 0 traces is left: at least one row and an entry cap of at least 1 are needed",
    );
    check(b"\xff\xfe", ":1:1: not JSON: expected value");
}

#[test]
fn keys_of_a_row() {
    let cases = [
        (r#""id":"a","#, "", ":1: id: is missing; the trace's id is needed"),
        (
            r#""id":"a","#,
            r#""id":7,"#,
            ":1: id: invalid type: integer `7`, expected a string",
        ),
        (
            r#""models":["A"],"#,
            "",
            ":1: models: is missing; a list of model names is needed",
        ),
        (
            r#""models":["A"],"#,
            r#""models":["A",null],"#,
            ":1: models[1]: invalid type: null, expected a string",
        ),
        (
            "64",
            "0",
            ":1: block_size: 0 is no block size; a number above 0 is right",
        ),
        (
            "local",
            "global",
            ":1: hash_id_scope: `global` is not replayed; only `local` hash ids are",
        ),
        (
            "null",
            "[]",
            ":1: totals: invalid type: sequence, expected an object or null",
        ),
        (
            r#""totals":null"#,
            r#""total":null"#,
            ":1: total: unknown field `total`, expected one of `id`, `models`, `block_size`, `hash_id_scope`, \
             `tool_tokens`, `system_tokens`, `requests`, `totals`",
        ),
        (
            r#""id":"a","#,
            r#""id":"a","id":"b","#,
            ":1: id: duplicate field `id`",
        ),
    ];
    for (from, to, expected) in cases {
        check(row(from, to), expected);
    }
}

#[test]
fn keys_of_a_request() {
    let integer = "expected an integer of at most 64 bits";
    let cases = [
        (
            r#""t":0,"#,
            "",
            "requests[0].t: is missing; a start in seconds is needed".to_owned(),
        ),
        (
            r#""t":0,"#,
            r#""t":"x","#,
            r#"requests[0].t: invalid value: string "x", expected a number"#.into(),
        ),
        (
            r#""t":0,"#,
            r#""t":"inf","#,
            "requests[0].t: inf is no start in seconds; at most 1e11 either way is right".into(),
        ),
        (
            r#""s""#,
            r#""x""#,
            "requests[0].type: `x` is no type; `n`, `s` or `subagent` is right".into(),
        ),
        (
            r#""s""#,
            r#""n""#,
            "requests[0].ttft: an entry of type `n` has no such key; leave it out".into(),
        ),
        (
            r#""type":"s","#,
            "",
            "requests[0].type: is missing; `n`, `s` or `subagent` is needed".into(),
        ),
        (
            r#""model":"A","#,
            "",
            "requests[0].model: is missing; the recorded model is needed".into(),
        ),
        (
            "200",
            "200.5",
            format!("requests[0].in: invalid value: floating point `200.5`, {integer}"),
        ),
        (
            "200",
            r#""200.5""#,
            format!(r#"requests[0].in: invalid value: string "200.5", {integer}"#),
        ),
        (
            "200",
            "null",
            format!("requests[0].in: invalid type: null, {integer}"),
        ),
        (
            "200",
            "-1",
            "requests[0].in: -1 is no number of tokens; 0 to 4294967295 is right".into(),
        ),
        (
            r#""in":200"#,
            r#""in":200,"input_length":200"#,
            "requests[0].input_length: duplicate field `in`".into(),
        ),
        (
            "[1,2,3]",
            "[1,null,3]",
            format!("requests[0].hash_ids[1]: invalid type: null, {integer}"),
        ),
        (
            "[1,2,3]",
            "null",
            "requests[0].hash_ids: invalid type: null, expected a list of integers".into(),
        ),
        (
            "[1,2,3]",
            "[1,18446744073709551615]",
            format!("requests[0].hash_ids[1]: invalid value: integer `18446744073709551615`, {integer}"),
        ),
        (
            r#""stop":"""#,
            r#""stop":null"#,
            "requests[0].stop: invalid type: null, expected a string".into(),
        ),
        (
            "2.5",
            "1e12",
            "requests[0].api_time: 1000000000000 is no duration in seconds; at most 1e11 is right".into(),
        ),
        (
            "2.5",
            "true",
            "requests[0].api_time: invalid type: boolean `true`, expected a number".into(),
        ),
        (
            r#""stop":"""#,
            r#""status":"x""#,
            "requests[0].status: an entry of type `s` has no such key; leave it out".into(),
        ),
    ];
    for (from, to, expected) in cases {
        check(row(from, to), &format!(":1: {expected}"));
    }
    let unknown = load(row(r#""stop":"""#, r#""halt":"""#)).unwrap_err().to_string();
    assert!(
        unknown.contains(":1: requests[0].halt: unknown field `halt`, expected one of `t`, `type`"),
        "{unknown}"
    );
}

#[test]
fn keys_of_a_subagent() {
    let inner = r#"{"t":6,"type":"n","#;
    let cases = [
        (
            r#""agent_id":"x","#,
            "",
            "requests[1].agent_id: is missing; the subagent's id is needed",
        ),
        (
            r#""subagent_type":"Explore","#,
            "",
            "requests[1].subagent_type: is missing; the subagent's type is needed",
        ),
        (
            r#""status":"completed","#,
            "",
            "requests[1].status: is missing; how the subagent ended is needed",
        ),
        (
            r#""status":"completed","#,
            r#""stop":"","#,
            "requests[1].stop: an entry of type `subagent` has no such key; leave it out",
        ),
        (
            inner,
            r#"{"t":6,"type":"subagent","#,
            "requests[1].requests[0].type: a subagent inside a subagent; only `n` and `s` are right here",
        ),
        (
            inner,
            r#"{"t":null,"type":"n","#,
            "requests[1].requests[0].t: invalid type: null, expected a number",
        ),
        (
            r#""models":["A"],"tool_tokens":0,"system_tokens":0}]"#,
            r#""models":["A"],"tool_tokens":null,"system_tokens":0}]"#,
            "requests[1].tool_tokens: invalid type: null, expected an integer of at most 64 bits",
        ),
    ];
    for (from, to, expected) in cases {
        check(row(from, to), &format!(":1: {expected}"));
    }
}

#[test]
fn lenient_types_and_null_where_it_is_allowed() {
    let cases = [
        ("200", "200.0"),
        ("200", r#"" 200 ""#),
        ("200", r#""2e2""#),
        (r#""out":70"#, r#""out":true"#),
        (r#""in":200,"out":70"#, r#""input_length":200,"output_length":70"#),
        (r#""t":0,"#, r#""t":"0.0","#),
        (
            r#""tool_tokens":0,"system_tokens":0,"totals":null"#,
            r#""tool_tokens":null,"system_tokens":null,"totals":{"a":[1]}"#,
        ),
        (r#""totals":null,"#, ""),
        ("2.5", "null"),
        ("0.5", "null"),
        (r#","ttft":0.5"#, ""),
        (
            r#""hash_ids":[1,2,3],"input_types":["text"],"output_types":[],"stop":"","#,
            "",
        ),
    ];
    for (from, to) in cases {
        let corpus = load(row(from, to)).unwrap();
        assert_eq!(
            corpus.traces[0].conversations[0].turns[0].input_tokens, 200,
            "{from} -> {to}"
        );
    }
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
