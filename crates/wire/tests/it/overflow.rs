//! The context-overflow classifier against aiperf's own vectors, and the bound on error texts.

use std::path::Path;

use serde::Deserialize;
use wire::error::{CONTEXT_OVERFLOW_WORDS, ERROR_TEXT_BYTES_MAX, bounded, is_context_overflow};

#[derive(Deserialize)]
struct Vectors {
    substrings: Vec<String>,
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    text: String,
    is_overflow: bool,
}

#[test]
fn vectors() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/context_overflow.json");
    let vectors: Vectors = testkit::json(&file);
    assert_eq!(vectors.substrings, CONTEXT_OVERFLOW_WORDS);
    assert!(vectors.vectors.len() > 5);
    for Vector { text, is_overflow } in vectors.vectors {
        assert_eq!(is_context_overflow(&text), is_overflow, "{text:?}");
    }
}

#[test]
fn nested_and_escaped() {
    assert!(is_context_overflow(
        r#"{"error":{"message":"context\u0020length"}}"#
    ));
    assert!(is_context_overflow(r#"{"error":"Maximum\u0020Context"}"#));
    assert!(!is_context_overflow(r#"{"error":{"message":"no\u0020room"}}"#));
}

#[test]
fn long_texts_are_cut_at_a_character() {
    assert_eq!(bounded("short"), "short");
    let cut = bounded(&"é".repeat(ERROR_TEXT_BYTES_MAX));
    assert!(cut.len() <= ERROR_TEXT_BYTES_MAX && cut.len() > ERROR_TEXT_BYTES_MAX - 4);
    assert!(cut.ends_with("é…"));
}
