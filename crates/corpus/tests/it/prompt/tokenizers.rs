//! Tokenizers from files and without one, and what is said of files that are none.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use corpus::prompt::{Pool, Prompter, Tokenizer};
use serde_json::json;
use tree::{HeadRole, PromptStep};

use super::{block_indices, body_of, builtin, collect, data, trace_of};

#[test]
fn the_byte_tokenizer_as_a_file_is_the_built_in_one() {
    let folder = data("byte_tokenizer");
    let files = [folder.clone(), folder.join("tokenizer.json")];
    let text = "a\"✓ ✗ — é\n\u{0}漢😀";
    for path in files {
        let file = Tokenizer::open(path.to_str().unwrap()).unwrap();
        let builtin = Tokenizer::open("builtin").unwrap();
        assert!(file.is_byte_level() && file.sha256().is_some() && builtin.sha256().is_none());
        let ids = builtin.encode(text).unwrap();
        assert_eq!(ids.len(), text.len());
        assert_eq!(file.encode(text).unwrap(), ids);
        for ids in [&ids[..], &ids[..5], &ids[6..]] {
            assert_eq!(file.decode(ids).unwrap(), builtin.decode(ids).unwrap());
        }
        for id in 0..=256 {
            assert_eq!(file.bytes(id), builtin.bytes(id), "token {id}");
            assert_eq!(file.contains(id), id < 256, "token {id}");
        }
    }
}

#[test]
fn a_vocabulary_without_bytes_is_decoded_message_by_message() {
    let folder = testkit::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    // Metaspace: the first token of a message loses its leading blank, so text is no concatenation.
    let vocab = json!({"<unk>": 0, "\u{2581}one": 1, "\u{2581}two": 2, "\u{2581}\"three": 3});
    let file = json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": [],
        "normalizer": null,
        "pre_tokenizer": {"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "always", "split": true},
        "post_processor": null,
        "decoder": {"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "always", "split": true},
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "<unk>"},
    });
    fs::write(&path, file.to_string()).unwrap();
    let tokenizer = Arc::new(Tokenizer::load(&path).unwrap());
    assert!(!tokenizer.is_byte_level() && tokenizer.bytes(1).is_none());
    assert_eq!(tokenizer.decode(&[1, 3, 2]).unwrap(), "one \"three two");

    let pool = Arc::new(Pool::from_ids([1, 2, 3].repeat(70), Arc::clone(&tokenizer)).unwrap());
    assert!(!pool.is_sliced());
    let trace = trace_of(vec![PromptStep {
        keep_blocks: 0,
        new_blocks: block_indices(0..5),
        head_blocks: 2,
        head_role: HeadRole::System,
        tail_tokens: 9,
    }]);
    let sent = collect(body_of(&Prompter::new(pool, 42), &trace, 0, Some("M ")));
    let sent: serde_json::Value = serde_json::from_slice(&sent).unwrap();
    for (message, words) in [(0, 2 * 64), (1, 3 * 64 + 9)] {
        let text = sent["messages"][message]["content"].as_str().unwrap();
        let text = text.strip_prefix("M ").unwrap_or(text);
        assert!(!text.starts_with(' '), "the first blank goes: {text}");
        assert_eq!(text.split(' ').count(), words, "message {message}");
    }
}

fn refusal<T>(result: Result<T, corpus::prompt::PromptError>) -> String {
    match result {
        Ok(_) => panic!("it was accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_no_tokenizer_is_named() {
    let folder = testkit::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    let said = refusal(Tokenizer::load(folder.path()));
    assert!(
        said.contains("holds no tokenizer.json") && said.contains("builtin"),
        "{said}"
    );
    let said = refusal(Tokenizer::load(Path::new("no/such/file.json")));
    assert!(
        said.starts_with("cannot read tokenizer no/such/file.json"),
        "{said}"
    );
    for text in [
        "",
        "{",
        "[]",
        "{}",
        r#"{"model": 3}"#,
        r#"{"version":"1.0","model":{"type":"BPE","vocab":[]}}"#,
    ] {
        fs::write(&path, text).unwrap();
        let said = refusal(Tokenizer::load(&path));
        assert!(said.contains("is not a tokenizer.json of"), "{text}: {said}");
    }
}

#[test]
fn what_is_no_pool_is_named() {
    let folder = testkit::tempdir().unwrap();
    for (name, bytes, expected) in [
        (
            "a.txt",
            vec![b'x'; 63],
            "prompt pool has 63 tokens; a block alone takes 64",
        ),
        (
            "b.txt",
            [&[b'x'; 70][..], b"\xff"].concat(),
            "is not UTF-8 at byte 70",
        ),
        (
            "c.u32le",
            vec![0; 4 * 64 + 1],
            "has 257 bytes; ids are little-endian u32",
        ),
        (
            "d.u32le",
            [&[0; 4 * 64][..], &[0, 1, 0, 0]].concat(),
            "holds id 256 at position 64, which the tokenizer does not have",
        ),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let said = refusal(Pool::load(&path, builtin()));
        assert!(said.contains(expected), "{name}: {said}");
    }
}

#[test]
fn the_pool_that_needs_no_file_serves_any_tokenizer() {
    let pool = Pool::built_in(builtin()).unwrap();
    assert!(pool.tokens() > 200_000);
    let text = String::from_utf8(pool.ids().iter().map(|&id| id as u8).collect()).unwrap();
    assert_eq!(Pool::from_text(&text, builtin()).unwrap().sha256(), pool.sha256());
}
