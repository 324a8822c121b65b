//! Which tokens are safe to draw, and that their joined text is encoded to the tokens drawn.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use corpus::prompt::{Drawer, PromptError, SafeTokens, Stretch, Tokenizer};
use serde_json::{Value, json};

use super::real_pool::qwen2;
use super::{builtin, data};

/// Draws `tokens` tokens under `seed` and encodes their decoded texts, joined.
fn check_comes_back(tokenizer: &Tokenizer, safe: &Arc<SafeTokens>, seed: u64, tokens: u32) {
    let drawer = Drawer::new(Arc::clone(safe), seed);
    let label = drawer.label("request", "0");
    let drawn: Vec<u32> = drawer.tokens(Stretch { label, tokens }).collect();
    assert_eq!(drawn.len(), tokens as usize);
    let text = tokenizer.decode(&drawn).unwrap();
    let encoded = tokenizer.encode(&text).unwrap();
    assert!(
        encoded == drawn,
        "seed {seed}: {tokens} tokens came back as {}",
        encoded.len()
    );
}

#[test]
fn a_real_vocabulary_s_tokens_come_back() {
    let folder = testkit::tempdir().unwrap();
    let Some(tokenizer) = qwen2(folder.path()) else {
        return;
    };
    let safe = Arc::new(SafeTokens::of(&tokenizer).unwrap());
    // 41,547 entries are a blank and ASCII letters; nearly all must be there for prompts that are unlike each other.
    assert!(
        (40_000..=41_547).contains(&safe.len()),
        "{} safe tokens",
        safe.len()
    );
    assert!(
        safe.ids().is_sorted_by(|a, b| a < b),
        "ids are listed once, ascending"
    );
    for &id in safe.ids() {
        let bytes = tokenizer.bytes(id).unwrap();
        let (blank, word) = bytes.split_first().unwrap();
        assert!(
            *blank == b' ' && !word.is_empty() && word.iter().all(u8::is_ascii_alphabetic),
            "{id}"
        );
    }
    for seed in [0, 1, 42] {
        check_comes_back(&tokenizer, &safe, seed, 100_000);
    }
}

#[test]
fn where_no_token_is_a_word_single_letters_are_drawn() {
    let expected: Vec<u32> = (0..=u8::MAX)
        .filter(|byte| byte.is_ascii_alphanumeric() || *byte == b' ')
        .map(u32::from)
        .collect();
    let file = Arc::new(Tokenizer::load(&data("byte_tokenizer")).unwrap());
    for tokenizer in [builtin(), file] {
        let safe = Arc::new(SafeTokens::of(&tokenizer).unwrap());
        assert_eq!(safe.ids(), expected);
        assert_eq!(safe.len(), 63);
        check_comes_back(&tokenizer, &safe, 7, 10_000);
    }
}

/// 60 words of two letters, `ba`, `be` … `ru`.
fn pairs() -> Vec<String> {
    let mut pairs = Vec::new();
    for first in "bdfghjklmnpr".chars() {
        pairs.extend("aeiou".chars().map(|second| format!("{first}{second}")));
    }
    pairs
}

/// A `tokenizer.json` of this vocabulary (ids by position) and these other parts.
fn tokenizer(folder: &Path, vocabulary: &[String], model: &Value, parts: &Value) -> Tokenizer {
    let vocab: BTreeMap<&str, usize> = vocabulary.iter().map(String::as_str).zip(0..).collect();
    let mut file = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": null, "post_processor": null, "decoder": null, "model": {"vocab": vocab},
    });
    merge(&mut file["model"], model);
    merge(&mut file, parts);
    let path = folder.join("tokenizer.json");
    fs::write(&path, file.to_string()).unwrap();
    Tokenizer::load(&path).unwrap()
}

fn merge(into: &mut Value, from: &Value) {
    for (key, value) in from.as_object().unwrap() {
        into[key] = value.clone();
    }
}

fn metaspace() -> Value {
    let metaspace =
        json!({"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "always", "split": true});
    json!({"pre_tokenizer": metaspace, "decoder": metaspace})
}

#[test]
fn sentence_pieces_are_words_with_their_mark() {
    let folder = testkit::tempdir().unwrap();
    // Each pair with the mark and without; what is no word; an added token that looks like one.
    let mut vocabulary = vec!["<unk>".to_owned(), "\u{2581}".to_owned(), "\u{2581}b2".to_owned()];
    vocabulary.extend(pairs().iter().map(|pair| format!("\u{2581}{pair}")));
    vocabulary.extend(pairs());
    vocabulary.push("\u{2581}added".into());
    let added = vocabulary.len() - 1;
    let pieces: Vec<Value> = vocabulary.iter().map(|piece| json!([piece, -1.0])).collect();
    let mut parts = metaspace();
    merge(
        &mut parts,
        &json!({"added_tokens": [{
            "id": added, "content": "\u{2581}added", "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": false,
        }]}),
    );
    let model = json!({"type": "Unigram", "unk_id": 0, "vocab": pieces});
    let tokenizer = tokenizer(folder.path(), &vocabulary, &model, &parts);
    assert!(!tokenizer.is_byte_level());
    let safe = Arc::new(SafeTokens::of(&tokenizer).unwrap());
    assert_eq!(safe.ids(), (3..63).collect::<Vec<u32>>());
    check_comes_back(&tokenizer, &safe, 3, 5_000);
}

#[test]
fn word_pieces_are_words_without_a_mark() {
    let folder = testkit::tempdir().unwrap();
    let mut vocabulary = vec!["[UNK]".to_owned()];
    vocabulary.extend(pairs());
    vocabulary.extend(pairs().iter().map(|pair| format!("##{pair}")));
    vocabulary.push("Ba".into()); // the normalizer makes `ba` of it
    let model = json!({
        "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
    });
    let parts = json!({
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
    });
    let tokenizer = tokenizer(folder.path(), &vocabulary, &model, &parts);
    let safe = Arc::new(SafeTokens::of(&tokenizer).unwrap());
    assert_eq!(safe.ids(), (1..61).collect::<Vec<u32>>());
    check_comes_back(&tokenizer, &safe, 3, 5_000);
}

/// Merges without a pre-tokenizer, as Llama 2 has them: letters to pairs, mark to pair, and these marked pairs with each
/// other. Ids: 0 is `<unk>`, then the marked pairs from 1 to 60.
fn merging(folder: &Path, across: &[(&str, &str)]) -> Tokenizer {
    let marked: Vec<String> = pairs().iter().map(|pair| format!("\u{2581}{pair}")).collect();
    let mut vocabulary = vec!["<unk>".to_owned()];
    vocabulary.extend_from_slice(&marked);
    vocabulary.extend(pairs());
    vocabulary.extend("\u{2581}bdfghjklmnpraeiou".chars().map(String::from));
    vocabulary.push("\u{2581}\u{2581}".into());
    let mut merges = vec![json!(["\u{2581}", "\u{2581}"])];
    merges.extend(pairs().iter().map(|pair| json!([&pair[..1], &pair[1..]])));
    merges.extend(pairs().iter().map(|pair| json!(["\u{2581}", pair])));
    for (left, right) in across {
        let (left, right) = (format!("\u{2581}{left}"), format!("\u{2581}{right}"));
        vocabulary.push(format!("{left}{right}"));
        merges.push(json!([left, right]));
    }
    let model = json!({
        "type": "BPE", "dropout": null, "unk_token": "<unk>", "continuing_subword_prefix": null,
        "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": false, "merges": merges,
    });
    let blank = json!({"type": "Replace", "pattern": {"String": " "}, "content": "\u{2581}"});
    let prefix = json!({"type": "Prepend", "prepend": "\u{2581}"});
    let back = json!({"type": "Replace", "pattern": {"String": "\u{2581}"}, "content": " "});
    let strip = json!({"type": "Strip", "content": " ", "start": 1, "stop": 0});
    let parts = json!({
        "normalizer": {"type": "Sequence", "normalizers": [prefix, blank]},
        "decoder": {"type": "Sequence", "decoders": [back, {"type": "Fuse"}, strip]},
    });
    tokenizer(folder, &vocabulary, &model, &parts)
}

#[test]
fn a_blank_put_before_a_text_blames_no_word() {
    let folder = testkit::tempdir().unwrap();
    let tokenizer = merging(folder.path(), &[]);
    // What the first word of a text comes to is the tokenizer's affair: the blank of its own merges with the word's.
    assert_eq!(tokenizer.encode(" ba ba").unwrap().len(), 3);
    let safe = Arc::new(SafeTokens::of(&tokenizer).unwrap());
    assert_eq!(safe.ids(), (1..61).collect::<Vec<u32>>());
    check_comes_back(&tokenizer, &safe, 3, 5_000);
}

#[test]
fn of_words_that_merge_one_is_dropped() {
    let folder = testkit::tempdir().unwrap();
    // Words 1, 2 and 60; the first merges with itself.
    let tokenizer = merging(folder.path(), &[("ba", "ba"), ("be", "ru")]);
    assert_eq!(tokenizer.encode("be ru ba ba").unwrap().len(), 2);
    let safe = Arc::new(SafeTokens::of(&tokenizer).unwrap());
    assert_eq!(safe.ids(), (2..60).collect::<Vec<u32>>());
    check_comes_back(&tokenizer, &safe, 3, 50_000);

    let all = pairs();
    let all: Vec<(&str, &str)> = all
        .iter()
        .flat_map(|left| all.iter().map(|right| (&**left, &**right)))
        .collect();
    let error = SafeTokens::of(&merging(folder.path(), &all)).err().unwrap();
    assert!(
        matches!(error, PromptError::TooFewSafeTokens { safe: 0..32, .. }),
        "{error}"
    );
}

#[test]
fn a_vocabulary_of_too_few_words_is_refused() {
    let folder = testkit::tempdir().unwrap();
    let mut vocabulary = vec!["<unk>".to_owned()];
    vocabulary.extend(pairs()[..31].iter().map(|pair| format!("\u{2581}{pair}")));
    let model = json!({"type": "WordLevel", "unk_token": "<unk>"});
    let said = |vocabulary: &[String]| {
        let tokenizer = tokenizer(folder.path(), vocabulary, &model, &metaspace());
        SafeTokens::of(&tokenizer)
            .map(|safe| safe.len())
            .map_err(|error| {
                assert!(matches!(error, PromptError::TooFewSafeTokens { .. }));
                error.to_string()
            })
    };
    let error = said(&vocabulary).unwrap_err();
    assert!(
        error.starts_with("the tokenizer has 31 plain words or letters, of which 31 stay the same tokens"),
        "{error}"
    );
    assert!(
        error.contains("32 are needed") && error.contains("hint: ") && error.contains("`builtin`"),
        "{error}"
    );
    vocabulary.push("\u{2581}enough".into());
    assert_eq!(said(&vocabulary), Ok(32));
}
