//! Whole dumps: hand-written traces, and real ones where the shared folder is there.

use std::fs;
use std::path::Path;

use corpus::dump::{DumpOptions, Layout, digests, dump};
use corpus::{Corpus, LoadOptions, reconstruct};
use serde::Deserialize;

#[derive(Deserialize)]
struct Minitraces {
    cases: Vec<Minitrace>,
}

#[derive(Deserialize)]
struct Minitrace {
    name: String,
    models: Vec<String>,
    options: MinitraceOptions,
    traces: Vec<serde_json::Value>,
    expect: Option<Vec<String>>,
    sha256: Option<String>,
    expect_error: Option<String>,
}

#[derive(Deserialize)]
struct MinitraceOptions {
    trace_idle_gap_cap_seconds: Option<f64>,
}

#[test]
fn minitraces() {
    let file: Minitraces = testkit::json(Path::new("tests/data/minitraces.json"));
    assert_eq!(file.cases.len(), 29);
    let folder = testkit::tempdir().unwrap();
    for case in file.cases {
        check(&case, &folder.path().join("corpus.jsonl"));
    }
}

fn check(case: &Minitrace, path: &Path) {
    let rows: Vec<String> = case.traces.iter().map(ToString::to_string).collect();
    fs::write(path, rows.join("\n")).unwrap();
    let options = LoadOptions {
        reconstruct: reconstruct::Options {
            trace_idle_gap_cap_s: case.options.trace_idle_gap_cap_seconds,
            ..Default::default()
        },
        ..Default::default()
    };
    let loaded = Corpus::load(path, None, &options, None);
    let Some(expected) = &case.expect else {
        assert!(case.expect_error.is_some(), "{}: expects neither", case.name);
        let message = loaded.unwrap_err().to_string();
        let id = case.traces[0]["id"].as_str().unwrap();
        assert!(
            message.contains(id) && !message.contains('\n'),
            "{}: {message}",
            case.name
        );
        return;
    };
    let options = DumpOptions {
        models: case.models.clone(),
        layout: Layout::Together,
        ..Default::default()
    };
    let mut text = Vec::new();
    dump(&loaded.unwrap().traces, &options, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    for (number, (found, expected)) in text.lines().zip(expected).enumerate() {
        assert_eq!(found, expected, "{} line {number}", case.name);
    }
    assert_eq!(text.lines().count(), expected.len(), "{}", case.name);
    let digest = corpus::verify::scan(text.as_bytes(), |_| ()).unwrap().sha256;
    assert_eq!(Some(digest), case.sha256, "{}", case.name);
}

#[derive(Deserialize)]
struct MirrorDigest {
    id: String,
    sha256: String,
}

fn mirror_digests() -> Vec<MirrorDigest> {
    let lines = fs::read_to_string("tests/data/mirror/digests.jsonl").unwrap();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

const CORPUS_B: &str = "64b3235280ba0a8cd3cc65413c35e4293b0f1bc36c8a55b309f2d81dff20b08a";
const CORPUS_C: &str = "6152449188d35e564ad7e01a8081b8232eced361339cadf32d2b3947fdbc58e9";

/// Loads a shared corpus and compares each trace's digest; gives how many traces there were.
fn check_mirror(relative: &str, sha256: &str) -> Option<usize> {
    let packed = testkit::shared(relative)?;
    let folder = testkit::tempdir().unwrap();
    let path = folder.path().join("corpus.jsonl");
    fs::write(&path, testkit::bytes(&packed)).unwrap();
    let corpus = Corpus::load(&path, Some(sha256), &LoadOptions::default(), None).unwrap();
    let expected = mirror_digests();
    let mut found = Vec::new();
    digests(&corpus.traces, &DumpOptions::default(), &mut found).unwrap();
    let found = String::from_utf8(found).unwrap();
    for line in found.lines() {
        let (id, digest) = line.split_once(' ').unwrap();
        let expected = expected.iter().find(|expected| expected.id == id).unwrap();
        assert_eq!(digest, expected.sha256, "{id}");
    }
    if let Some(trace) = corpus.traces.iter().find(|trace| &*trace.id == "trace_0291") {
        let mut text = Vec::new();
        dump(std::slice::from_ref(trace), &DumpOptions::default(), &mut text).unwrap();
        assert_eq!(
            text,
            fs::read("tests/data/mirror/mirror_trace_0291.lines.txt").unwrap()
        );
    }
    Some(found.lines().count())
}

#[test]
fn real_traces_of_corpus_b() {
    if let Some(traces) = check_mirror("oracle/corpora/corpus_b.jsonl.gz", CORPUS_B) {
        assert_eq!(traces, 12);
    }
}

#[test]
fn real_traces_of_corpus_c() {
    if let Some(traces) = check_mirror("oracle/corpora/corpus_c.jsonl.gz", CORPUS_C) {
        assert_eq!(traces, 58);
    }
}
