//! Prompts of the fixture `agentic-mini`: what is equal in them is what `index.json` says, block by block.

use std::path::PathBuf;
use std::sync::Arc;

use corpus::prompt::{Drawer, DrawnPrompt, SafeTokens, Stretch, Tokenizer};
use corpus::recorded::{Context, Form, RecordedPrompts};
use trace::recording::{LoadOptions, Recording};
use trace::verify::Reference;
use tree::segments::Role;

fn fixture(name: &str) -> PathBuf {
    testkit::checkout()
        .join("crates/trace/tests/data/trace")
        .join(name)
}

fn recording(with_sidecar: bool) -> Recording {
    let reference = Reference {
        token_blocks: with_sidecar.then(|| {
            let digest = "ae58b4ae471c12377dbe7c76e94868aac4698bc3958515f64fc523a67421c23d";
            (fixture("valid/agentic-mini.blocks.jsonl"), digest.to_owned())
        }),
        ..Reference::of_data(&fixture("valid/agentic-mini.csv"))
    };
    let options = LoadOptions {
        include_failed: true,
        ..LoadOptions::default()
    };
    Recording::load(&reference, options).unwrap()
}

fn prompts(context: Context, form: Form) -> RecordedPrompts {
    let tokens = SafeTokens::of(&Tokenizer::builtin()).unwrap();
    RecordedPrompts::new(Drawer::new(Arc::new(tokens), 42), context, form)
}

fn ids(prompts: &RecordedPrompts, stretches: &[Stretch]) -> Vec<u32> {
    let drawn = stretches
        .iter()
        .flat_map(|stretch| prompts.drawer().tokens(*stretch));
    drawn.collect()
}

/// The token ids of every prompt, in order of arrival, with its request id.
fn all(recording: &Recording, context: Context) -> Vec<(u64, Vec<u32>)> {
    let prompts = prompts(context, Form::Completions);
    let one = |request| {
        let DrawnPrompt::Ids(stretches) = prompts.prompt(recording, request).unwrap() else {
            panic!("completions take ids");
        };
        let ids = ids(&prompts, &stretches);
        assert_eq!(
            ids.len() as u64,
            prompts.tokens(recording, request),
            "request {}",
            request.request_id
        );
        (request.request_id, ids)
    };
    recording.requests.iter().map(one).collect()
}

fn shared(one: &[u32], other: &[u32]) -> usize {
    one.iter()
        .zip(other)
        .take_while(|(one, other)| one == other)
        .count()
}

#[test]
fn a_sidecar_s_sharing_is_the_prompts_sharing() {
    let index: serde_json::Value = testkit::json(&fixture("index.json"));
    let expected = index["valid"][0]["prefix_blocks_in_arrival_order"]
        .as_array()
        .unwrap();
    let prompts = all(&recording(true), Context::Continued);
    assert_eq!(prompts.len(), expected.len());
    let mut by_request: Vec<_> = expected.iter().collect();
    by_request.sort_by_key(|row| row["request_id"].as_u64());
    for (at, (request, prompt)) in prompts.iter().enumerate() {
        let row = by_request[*request as usize];
        let seen = prompts[..at]
            .iter()
            .map(|(_, earlier)| shared(prompt, earlier) / 16);
        let stated = row["leading_blocks_seen_before"].as_u64().unwrap();
        assert_eq!(seen.max().unwrap_or(0) as u64, stated, "request {request}");
        assert_eq!(
            (prompt.len() / 16) as u64,
            row["full_blocks"].as_u64().unwrap(),
            "request {request}"
        );
    }
}

#[test]
fn without_a_sidecar_groups_and_rounds_share() {
    let prompts = all(&recording(false), Context::Continued);
    let of = |request: u64| &prompts.iter().find(|(id, _)| *id == request).unwrap().1;
    // One group of 64 tokens over both sessions; each session's second round begins with its first.
    assert!(
        (64..67).contains(&shared(of(0), of(1))),
        "a token or two may be equal by chance"
    );
    assert_eq!((shared(of(0), of(3)), of(0).len()), (100, 100));
    assert_eq!((shared(of(1), of(5)), of(1).len()), (104, 104));
    // No group, so what the server counted is sent: 203 tokens, not 200. A row that failed has no count.
    assert_eq!((of(2).len(), of(4).len()), (203, 50));
    assert!(shared(of(2), of(4)) < 3);
}

#[test]
fn independent_rounds_share_their_group_alone() {
    let prompts = all(&recording(false), Context::Independent);
    let of = |request: u64| &prompts.iter().find(|(id, _)| *id == request).unwrap().1;
    assert!((64..67).contains(&shared(of(0), of(3))));
    assert_eq!(of(3).len(), 148);
}

#[test]
fn accumulated_rounds_hold_the_conversation_so_far() {
    let recording = recording(false);
    let prompts = prompts(Context::Accumulate, Form::Chat);
    let find = |id| {
        recording
            .requests
            .iter()
            .find(|request| request.request_id == id)
            .unwrap()
    };
    let DrawnPrompt::Messages(messages) = prompts.prompt(&recording, find(3)).unwrap() else {
        panic!("chat takes messages");
    };
    let lengths: Vec<_> = messages
        .iter()
        .map(|message| (message.role, ids(&prompts, &message.stretches).len()))
        .collect();
    // Group and first input, the recorded answer, the second round's new input.
    assert_eq!(
        lengths,
        [(Role::User, 64 + 36), (Role::Assistant, 8), (Role::User, 84)]
    );
    assert_eq!(prompts.tokens(&recording, find(3)), 64 + 36 + 8 + 84);
}
