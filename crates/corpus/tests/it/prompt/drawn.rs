//! Drawn prompts: what follows from labels and seed, and the bodies.

use std::collections::BTreeSet;
use std::sync::Arc;

use corpus::prompt::{
    Drawer, DrawnBody, DrawnMessage, DrawnOptions, DrawnPrompt, Envelope, EnvelopeOptions, RequestBody,
    SafeTokens, Stretch, Tokenizer,
};
use serde_json::Value;
use serde_json::value::RawValue;
use tree::segments::Role;

use super::real_pool::qwen2;
use super::{builtin, collect_chunks, envelope};

/// Bodies are made in one place and sent in another.
const _: fn() = || {
    fn goes_anywhere<T: Send + 'static>() {}
    goes_anywhere::<DrawnBody>();
    goes_anywhere::<RequestBody>();
    goes_anywhere::<Arc<Drawer>>();
};

fn drawer(tokenizer: &Tokenizer, seed: u64) -> Drawer {
    Drawer::new(Arc::new(SafeTokens::of(tokenizer).unwrap()), seed)
}

fn ids(drawer: &Drawer, label: u64, tokens: u32) -> Vec<u32> {
    drawer.tokens(Stretch { label, tokens }).collect()
}

fn all_ids(drawer: &Drawer, stretches: &[Stretch]) -> Vec<u32> {
    stretches
        .iter()
        .flat_map(|stretch| drawer.tokens(*stretch))
        .collect()
}

#[test]
fn tokens_follow_from_seed_and_label_alone() {
    let one = drawer(&builtin(), 1);
    let again = drawer(&builtin(), 1);
    let other = drawer(&builtin(), 2);
    let labels = |drawer: &Drawer| {
        [
            drawer.label("prefix_group", "sys"),
            drawer.label("request", "17"),
            drawer.label("request", "sys"),
            drawer.label("request", ""),
            drawer.label("prefix_group:sys", ""),
            drawer.block_label(0),
            drawer.block_label(17),
        ]
    };
    assert_eq!(labels(&one), labels(&again));
    let mut seen = BTreeSet::new();
    for (label, elsewhere) in labels(&one).into_iter().zip(labels(&other)) {
        let long = ids(&one, label, 1000);
        for tokens in [0, 1, 63, 64, 65, 999] {
            assert_eq!(
                ids(&again, label, tokens),
                long[..tokens as usize],
                "{tokens} tokens of {label}"
            );
        }
        assert_ne!(label, elsewhere, "labels are the seed's");
        assert_ne!(
            long,
            ids(&other, label, 1000),
            "the same label under another seed"
        );
        assert!(seen.insert(long), "two labels have the same tokens");
    }
}

/// Computed with numpy's PCG64 and Python's hashlib. A change makes every run send other prompts than before.
#[test]
fn what_is_drawn_is_the_same_everywhere() {
    let safe = Arc::new(SafeTokens::of(&builtin()).unwrap());
    let check = |seed, label: &dyn Fn(&Drawer) -> u64, expected: &str| {
        let drawer = Drawer::new(Arc::clone(&safe), seed);
        let drawn = ids(&drawer, label(&drawer), 32);
        assert_eq!(builtin().decode(&drawn).unwrap(), expected);
    };
    check(
        42,
        &|d| d.label("request", "17"),
        "VoW8mFetW1vEI2fLZxdeol4lfx6OEHo3",
    );
    check(
        7,
        &|d| d.label("prefix_group", "sys"),
        "CLBqkr670kUpW8CxoX2YtmcS28a1OP15",
    );
    check(42, &|d| d.block_label(7), "aI0LmkDbHqcMMaNVGL7IieRMIBkBMxfM");
    check(
        42,
        &|d| d.block_label((1 << 53) - 1),
        "vuGthqXncMkuLJJeGG7J PVV9FCw4PAN",
    );
}

#[test]
fn block_ids_never_share_a_label() {
    let drawer = drawer(&builtin(), 42);
    // Neighbours, and the largest ids that a sidecar may hold.
    let last = (1_u64 << 53) - 1;
    let ids = (0..10_000)
        .chain(last - 10_000..=last)
        .chain((0..53).map(|bit| 1 << bit));
    let ids: BTreeSet<u64> = ids.collect();
    let labels: BTreeSet<u64> = ids.iter().map(|id| drawer.block_label(*id)).collect();
    assert_eq!(labels.len(), ids.len());
}

#[test]
fn all_safe_tokens_are_drawn_about_equally_often() {
    let drawer = drawer(&builtin(), 42);
    let mut counts = [0_u32; 256];
    for id in ids(&drawer, 5, 63_000) {
        counts[id as usize] += 1;
    }
    // 1000 each; the standard deviation is 31.
    for id in drawer.safe_tokens().ids() {
        let count = counts[*id as usize];
        assert!((800..1200).contains(&count), "token {id} was drawn {count} times");
    }
    assert_eq!(counts.iter().sum::<u32>(), 63_000, "nothing else was drawn");
}

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

fn sent(mut body: DrawnBody) -> String {
    let length = body.content_length();
    let first = collect_chunks(length, || body.next_chunk());
    body.rewind();
    body.next_chunk();
    body.rewind();
    assert!(
        collect_chunks(length, || body.next_chunk()) == first,
        "a body starts over"
    );
    String::from_utf8(first).unwrap()
}

fn body(drawer: &Drawer, prompt: DrawnPrompt, fields: &[(String, Box<RawValue>)]) -> DrawnBody {
    let options = DrawnOptions {
        envelope: &envelope(),
        max_tokens: 9,
        fields,
    };
    drawer.body(prompt, &options)
}

fn stretches(lengths: &[u32]) -> Vec<Stretch> {
    let stretch = |(label, tokens): (u64, &u32)| Stretch {
        label,
        tokens: *tokens,
    };
    (0..).zip(lengths).map(stretch).collect()
}

/// A spread of lengths about the size of a step and of a chunk.
const LENGTHS: [&[u32]; 6] = [
    &[],
    &[0],
    &[1],
    &[0, 63, 0, 64, 65, 128, 1, 0],
    &[70_000],
    &[16; 2000],
];

#[test]
fn a_completions_body_holds_exactly_the_ids() {
    let drawer = drawer(&builtin(), 42);
    for lengths in LENGTHS {
        let stretches = stretches(lengths);
        let expected = all_ids(&drawer, &stretches);
        let body = body(&drawer, DrawnPrompt::Ids(stretches), &[]);
        assert_eq!(body.isl_planned(), expected.len() as u64);
        let list: Vec<String> = expected.iter().map(u32::to_string).collect();
        let after = r#""model":"m0","stream":true,"max_completion_tokens":9}"#;
        assert_eq!(
            sent(body),
            format!(r#"{{"prompt":[{}],{after}"#, list.join(",")),
            "{lengths:?}"
        );
    }
}

#[test]
fn a_chat_body_holds_the_text_of_the_ids() {
    let tokenizer = builtin();
    let drawer = drawer(&tokenizer, 42);
    for lengths in LENGTHS {
        let all = stretches(lengths);
        let text = tokenizer.decode(&all_ids(&drawer, &all)).unwrap();
        let message = DrawnMessage {
            role: Role::User,
            stretches: all,
        };
        let body = body(&drawer, DrawnPrompt::Messages(vec![message]), &[]);
        assert_eq!(body.isl_planned(), text.len() as u64);
        let after = r#""model":"m0","stream":true,"max_completion_tokens":9}"#;
        let expected = format!(r#"{{"messages":[{{"role":"user","content":"{text}"}}],{after}"#);
        assert_eq!(sent(body), expected, "{lengths:?}");
    }
}

#[test]
fn messages_keep_their_roles_and_order() {
    let tokenizer = builtin();
    let drawer = drawer(&tokenizer, 42);
    let roles = [Role::System, Role::User, Role::Assistant, Role::User];
    let lengths: [&[u32]; 4] = [&[10, 100], &[64], &[], &[1, 2, 3]];
    let messages: Vec<DrawnMessage> = roles
        .into_iter()
        .zip(lengths)
        .map(|(role, lengths)| DrawnMessage {
            role,
            stretches: stretches(lengths),
        })
        .collect();
    let body = body(&drawer, DrawnPrompt::Messages(messages.clone()), &[]);
    assert_eq!(body.isl_planned(), 180);
    let sent: Value = serde_json::from_str(&sent(body)).unwrap();
    let sent = sent["messages"].as_array().unwrap();
    assert_eq!(sent.len(), 4);
    for ((sent, role), message) in sent
        .iter()
        .zip(["system", "user", "assistant", "user"])
        .zip(&messages)
    {
        let text = tokenizer.decode(&all_ids(&drawer, &message.stretches)).unwrap();
        assert_eq!(*sent, serde_json::json!({"role": role, "content": text}));
    }
}

#[test]
fn no_message_at_all_is_an_empty_list() {
    let drawer = drawer(&builtin(), 42);
    let body = body(&drawer, DrawnPrompt::Messages(Vec::new()), &[]);
    assert_eq!(body.isl_planned(), 0);
    assert_eq!(
        sent(body),
        r#"{"messages":[],"model":"m0","stream":true,"max_completion_tokens":9}"#
    );
}

#[test]
fn a_request_s_own_fields_go_in_front() {
    let drawer = drawer(&builtin(), 42);
    let fields = [
        ("priority".to_owned(), raw("5")),
        ("x \"y\"".to_owned(), raw(r#"{ "a": [ 1, "b c" ] }"#)),
        ("stream".to_owned(), raw("false")),
        ("prompt".to_owned(), raw("[1]")),
        ("messages".to_owned(), raw("[]")),
        ("top_k".to_owned(), raw("7")),
    ];
    let extra = vec![("top_k".to_owned(), raw("3"))];
    let envelope = Envelope::new(&EnvelopeOptions {
        model: "m0".into(),
        extra,
        ..EnvelopeOptions::default()
    });
    let options = DrawnOptions {
        envelope: &Arc::new(envelope.unwrap()),
        max_tokens: 1,
        fields: &fields,
    };
    let after = r#"],"model":"m0","stream":true,"max_completion_tokens":1,"top_k":3}"#;
    for (prompt, key) in [
        (DrawnPrompt::Ids(Vec::new()), "prompt"),
        (DrawnPrompt::Messages(Vec::new()), "messages"),
    ] {
        assert_eq!(
            sent(drawer.body(prompt, &options)),
            format!(r#"{{"priority":5,"x \"y\"":{{"a":[1,"b c"]}},"{key}":[{after}"#)
        );
    }
}

#[test]
fn a_real_vocabulary_s_text_comes_to_the_tokens_planned() {
    let folder = testkit::tempdir().unwrap();
    let Some(tokenizer) = qwen2(folder.path()) else {
        return;
    };
    let drawer = drawer(&tokenizer, 42);
    let blocks: Vec<Stretch> = (0..2000)
        .map(|id| Stretch {
            label: drawer.block_label(id),
            tokens: 16,
        })
        .collect();
    let private = Stretch {
        label: drawer.label("request", "1"),
        tokens: 70_001,
    };
    let stretches = [&blocks[..], &[private]].concat();
    let expected = all_ids(&drawer, &stretches);

    let as_ids = sent(body(&drawer, DrawnPrompt::Ids(stretches.clone()), &[]));
    let as_ids: Value = serde_json::from_str(&as_ids).unwrap();
    assert!(
        as_ids["prompt"] == serde_json::json!(expected),
        "the ids that were drawn"
    );

    let message = DrawnMessage {
        role: Role::User,
        stretches,
    };
    let chat = sent(body(&drawer, DrawnPrompt::Messages(vec![message]), &[]));
    let chat: Value = serde_json::from_str(&chat).unwrap();
    let content = chat["messages"][0]["content"].as_str().unwrap();
    assert!(
        tokenizer.encode(content).unwrap() == expected,
        "the text is encoded to other tokens"
    );
}
