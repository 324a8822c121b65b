//! Mooncake fixtures and what other clients stumbled over.

use std::io::Write;
use std::path::Path;

use trace::mooncake::{Entries, Entry, Options, Read};
use trace::{Problems, Severity};

use crate::support::{data, places};

pub(crate) fn read(path: &Path, options: Options) -> (Vec<Entry>, Problems) {
    let mut problems = Problems::new(path);
    let mut entries = Entries::open(path, options).unwrap();
    let mut list = Vec::new();
    loop {
        match entries.next(&mut problems).unwrap() {
            Read::Entry(entry) => list.push(entry),
            Read::Wrong => {}
            Read::End => return (list, problems),
        }
    }
}

pub(crate) fn read_text(text: &str) -> (Vec<Entry>, Problems) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    read(file.path(), Options::default())
}

#[test]
fn fixtures_are_read() {
    let (basic, problems) = read(&data("mooncake/mooncake-basic.jsonl"), Options::default());
    assert_eq!(problems.list(), []);
    let seen: Vec<_> = basic
        .iter()
        .map(|entry| (entry.line, entry.input, entry.output, entry.at_ms))
        .collect();
    assert_eq!(
        seen,
        [
            (1, 2048, 128, Some(0.0)),
            (2, 1500, 32, Some(400.0)),
            (3, 512, 8, Some(900.0))
        ]
    );
    let (sessions, problems) = read(&data("mooncake/mooncake-sessions.jsonl"), Options::default());
    assert_eq!(problems.list(), []);
    let seen: Vec<_> = sessions
        .iter()
        .map(|entry| (entry.session.as_deref().unwrap(), entry.turn, entry.delay_ms))
        .collect();
    assert_eq!(
        seen,
        [
            ("a", 0, None),
            ("b", 0, None),
            ("a", 1, Some(5000.0)),
            ("b", 1, Some(1200.0))
        ]
    );
}

#[test]
fn a_prompt_longer_than_its_ids_keeps_its_length_unless_told() {
    let path = data("mooncake/mooncake-alias-names.jsonl");
    let (entries, problems) = read(&path, Options::default());
    assert_eq!(
        entries.iter().map(|entry| entry.input).collect::<Vec<_>>(),
        [600, 2000]
    );
    assert_eq!(places(&problems, Severity::Warning), ["line 2: hash_ids"]);
    let clamped = Options {
        clamp_to_blocks: true,
        ..Options::default()
    };
    let (entries, _) = read(&path, clamped);
    assert_eq!(
        entries.iter().map(|entry| entry.input).collect::<Vec<_>>(),
        [600, 1024]
    );
}

#[test]
fn wrong_lines_are_named() {
    for (name, at) in [
        ("bad-first-turn-delay.jsonl", "line 1: delay"),
        ("bad-negative-gap.jsonl", "line 2: timestamp"),
        ("bad-no-output-length.jsonl", "line 1: output_length"),
    ] {
        let (_, problems) = read(&data("mooncake").join(name), Options::default());
        assert_eq!(places(&problems, Severity::Error), [at], "{name}");
    }
    for (text, at) in [
        ("", "file"),
        ("{\"output_length\":1,\"messages\":[]}\n", "line 1: messages"),
        ("{\"output_length\":1}\n", "line 1: input_length"),
        ("\n[1]\n", "line 2"),
        ("{\"input_length\":-1,\"output_length\":1}", "line 1"),
        (
            "{\"timestamp\":-5,\"input_length\":1,\"output_length\":1}",
            "line 1: timestamp",
        ),
    ] {
        let (_, problems) = read_text(text);
        assert_eq!(places(&problems, Severity::Error), [at], "{text}");
    }
}
