//! Text of spans against its plain definition: concatenate the bytes of a message's tokens, read them as UTF-8 with U+FFFD
//! for what is none, write them as a JSON string.

use std::fmt::Write;
use std::sync::Arc;

use corpus::draws::Draws;
use corpus::prompt::{BlockStarts, BodyOptions, Pool, Prompter};
use proptest::prelude::*;
use serde_json::Value;
use tree::{HeadRole, InputKind, PromptStep};

use super::{block_indices, body_of, builtin, collect, envelope, pool_of, real_pool, trace_of};

const SEED: u64 = 42;

/// One user message of `blocks` blocks and `tail` tokens from this pool: as sent, and by definition.
fn both(pool: &Arc<Pool>, blocks: u32, tail: u32) -> (String, String) {
    let trace = trace_of(vec![PromptStep {
        keep_blocks: 0,
        new_blocks: block_indices(0..blocks),
        head_blocks: 0,
        head_role: HeadRole::System,
        tail_tokens: tail,
    }]);
    let body = body_of(&Prompter::new(Arc::clone(pool), SEED), &trace, 0, None);
    let sent = String::from_utf8(collect(body)).expect("a body is UTF-8");

    let ids = pool.ids();
    let draws = Draws::new(SEED, ids.len() as u64);
    let mut tokens: Vec<u32> = Vec::new();
    for id in 1..=i64::from(blocks) {
        let start = draws.block_start("t", id) as usize;
        tokens.extend(ids.iter().cycle().skip(start).take(64));
    }
    let start = draws.tail_start("t", 0, tail) as usize;
    tokens.extend(ids[start..].iter().take(tail as usize));
    let bytes = tokens
        .iter()
        .flat_map(|&id| pool.tokenizer().bytes(id).expect("byte-level").into_owned());
    let bytes: Vec<u8> = bytes.collect();
    let text = Value::from(String::from_utf8_lossy(&bytes)).to_string();
    let defined = format!(
        r#"{{"messages":[{{"role":"user","content":{text}}}],"model":"m0","stream":true,"max_completion_tokens":1}}"#
    );
    (sent, defined)
}

/// Bytes in which characters of all lengths, their parts and what needs escaping are frequent.
fn pool_bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => "[✓✗—aé漢😀\"\\\\\n\t]{1,8}".prop_map(String::into_bytes),
        1 => prop::collection::vec(0_u8..0x20, 1..3),
        1 => prop::collection::vec(0x80_u8.., 1..6),
        1 => Just("😀".as_bytes()[..3].to_vec()),
        1 => Just("—".as_bytes()[..2].to_vec()),
    ];
    prop::collection::vec(piece, 40..120).prop_map(|pieces| {
        let mut bytes = pieces.concat();
        bytes.resize(bytes.len().max(64), b'.');
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_span_has_the_text_of_its_bytes(pool in pool_bytes(), blocks in 0_u32..40, tail in 0_u32..300) {
        let (sent, defined) = both(&pool_of(&pool), blocks, tail);
        prop_assert_eq!(sent, defined);
    }
}

#[test]
fn cut_characters_read_as_python_reads_them() {
    // Printed by `bytes.decode("utf-8", "replace")` of CPython 3.11: each pool is one tail of 64 bytes.
    for (bytes, text) in [
        (&b"\xe2\x9c"[..], "\u{fffd}"),
        (b"\xe2\x28", "\u{fffd}("),
        (b"\xf0\x9f\x98", "\u{fffd}"),
        (b"\xed\xa0\x80", "\u{fffd}\u{fffd}\u{fffd}"),
        (b"\xc0\xaf", "\u{fffd}\u{fffd}"),
        (b"\x9c\x93a", "\u{fffd}\u{fffd}a"),
        (b"\xf4\x90\x80\x80", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
    ] {
        let mut pool = vec![b'.'; 64 - bytes.len()];
        pool.extend_from_slice(bytes);
        let (sent, defined) = both(&pool_of(&pool), 0, 64);
        assert_eq!(sent, defined);
        assert!(sent.contains(&format!(".{text}\"")), "{bytes:x?}: {sent}");
    }
}

#[test]
fn the_real_pool_s_own_characters_are_cut_right() {
    let folder = testkit::tempdir().unwrap();
    let Some(packed) = testkit::shared("oracle/pool/coding_pool_seed42.txt.gz") else {
        return;
    };
    let Some(qwen2) = real_pool::qwen2(folder.path()) else {
        return;
    };
    let text = String::from_utf8(testkit::bytes(&packed)).unwrap();
    // What lies around every `✓`, `✗` and `—`, so that many blocks begin or end inside one.
    let mut dense = String::new();
    for line in text.lines().filter(|line| !line.is_ascii()) {
        let letters: Vec<char> = line.chars().collect();
        let at = letters.iter().position(|letter| !letter.is_ascii()).unwrap();
        dense.extend(&letters[at.saturating_sub(3)..(at + 4).min(letters.len())]);
    }
    for letter in ['✓', '✗', '—'] {
        assert!(dense.contains(letter), "{letter} is not in the pool");
    }
    for tokenizer in [builtin(), qwen2] {
        let pool = Arc::new(Pool::from_text(&dense, tokenizer).unwrap());
        let (sent, defined) = both(&pool, 2000, 50);
        assert!(sent == defined, "a pool of {} tokens", pool.tokens());
    }
}

#[test]
fn bodies_of_many_chunks_and_of_none() {
    let mut lines = String::new();
    for line in 0..4000 {
        writeln!(lines, "{line} ✓ passed — \"fine\"\\").unwrap();
    }
    let pool = pool_of(lines.as_bytes());
    for (blocks, tail) in [(0, 0), (1, 0), (0, 1), (3000, 17), (10, 90_000)] {
        let (sent, defined) = both(&pool, blocks, tail);
        assert!(sent == defined, "{blocks} blocks and {tail} tokens");
    }
}

#[test]
fn roles_marker_and_planned_tokens() {
    let steps = vec![
        PromptStep {
            keep_blocks: 0,
            new_blocks: block_indices(0..3),
            head_blocks: 2,
            head_role: HeadRole::System,
            tail_tokens: 5,
        },
        PromptStep {
            keep_blocks: 3,
            new_blocks: block_indices(3..5),
            head_blocks: 1,
            head_role: HeadRole::Assistant,
            tail_tokens: 6,
        },
    ];
    let trace = trace_of(steps);
    let prompter = Prompter::new(pool_of(&[b'x'; 100]), SEED);
    let x = |tokens| "x".repeat(tokens);
    for (turn, expected, tokens) in [
        (
            0,
            vec![("system", x(128)), ("user", format!("M\n{}", x(69)))],
            197,
        ),
        (
            1,
            vec![
                ("system", x(128)),
                ("user", format!("M\n{}", x(64))),
                ("assistant", x(64)),
                ("user", x(70)),
            ],
            326,
        ),
    ] {
        let body = body_of(&prompter, &trace, turn, Some("M\n"));
        assert_eq!(body.isl_planned(), tokens);
        let sent: Value = serde_json::from_slice(&collect(body)).unwrap();
        let messages: Vec<(&str, String)> = sent["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|message| {
                (
                    message["role"].as_str().unwrap(),
                    message["content"].as_str().unwrap().to_owned(),
                )
            })
            .collect();
        assert_eq!(messages, expected, "turn {turn}");
    }
}

#[test]
fn answers_of_tools_have_their_own_role() {
    let step = |keep: u32, head, rest| PromptStep {
        keep_blocks: keep,
        new_blocks: block_indices(keep..keep + head + rest),
        head_blocks: head,
        head_role: HeadRole::Assistant,
        tail_tokens: 0,
    };
    let mut trace = trace_of(vec![step(0, 0, 1), step(1, 1, 1), step(3, 1, 1), step(5, 1, 1)]);
    for turn in [0, 1, 3] {
        trace.conversations[0].turns[turn].input_kind = Some(InputKind::ToolResult);
    }
    let prompter = Prompter::new(pool_of(&[b'x'; 64]), SEED);
    let options = BodyOptions {
        envelope: &envelope(),
        max_tokens: 1,
        marker: Some("M"),
        tool_shaped: true,
    };
    let turn = tree::TurnRef {
        conversation: 0,
        turn: 3,
    };
    let body = prompter.body(&BlockStarts::new(&trace), &trace, turn, &options);
    let sent = String::from_utf8(collect(body)).unwrap();
    let called = |turn: u32| {
        format!(
            concat!(
                r#"{{"role":"assistant","content":"x","tool_calls":[{{"id":"call_turn_{turn}","type":"function","#,
                r#""function":{{"name":"recorded_tool","arguments":"{{}}"}}}}]}},"#,
                r#"{{"role":"tool","tool_call_id":"call_turn_{turn}","content":"x"}}"#
            ),
            turn = turn
        )
    };
    let expected = [
        r#"{"messages":[{"role":"user","content":"Mx"},"#,
        &called(1),
        r#",{"role":"assistant","content":"x"},{"role":"user","content":"x"},"#,
        &called(3),
        r#"],"model":"m0","stream":true,"max_completion_tokens":1}"#,
    ];
    assert_eq!(sent.replace(&"x".repeat(64), "x"), expected.concat());
}

#[test]
fn a_marker_without_a_user_message_is_absent() {
    let trace = trace_of(vec![PromptStep {
        keep_blocks: 0,
        new_blocks: block_indices(0..1),
        head_blocks: 1,
        head_role: HeadRole::System,
        tail_tokens: 0,
    }]);
    let sent = collect(body_of(
        &Prompter::new(pool_of(&[b'x'; 100]), SEED),
        &trace,
        0,
        Some("MARK"),
    ));
    assert!(!String::from_utf8(sent).unwrap().contains("MARK"));
}

#[test]
fn places_are_the_same_drawn_ahead_or_not() {
    let step = |keep, blocks| PromptStep {
        keep_blocks: keep,
        new_blocks: block_indices(blocks),
        head_blocks: 0,
        head_role: HeadRole::Assistant,
        tail_tokens: 3,
    };
    let trace = trace_of(vec![step(0, 0..300), step(200, 300..500)]);
    let prompter = Prompter::new(pool_of("0123456789".repeat(500).as_bytes()), SEED);
    let turn = tree::TurnRef {
        conversation: 0,
        turn: 1,
    };
    let starts = BlockStarts::new(&trace);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| prompter.prepare(&starts, &trace, turn));
        }
    });
    for block in (0..500).map(tree::BlockIndex) {
        let drawn = prompter.draws().block_start("t", i64::from(block.0) + 1);
        assert_eq!(
            u64::from(prompter.start(&starts, &trace, block)),
            drawn,
            "{block:?}"
        );
    }
}
