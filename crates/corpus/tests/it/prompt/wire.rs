//! Whole bodies that aiperf 0.12.0's own classes wrote, with its seed-42 pool and the byte tokenizer, byte for byte.

use std::sync::Arc;

use corpus::prompt::{BodyOptions, Envelope, EnvelopeOptions, Pool, Prompter};
use corpus::reconstruct::Options;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::recorded::Recorded;
use super::{builtin, collect, data};

#[derive(Deserialize)]
struct Wire {
    pool: Vec<PoolFacts>,
    marker: String,
    block_texts: Vec<BlockText>,
    requests: Vec<Sent>,
}

#[derive(Deserialize)]
struct PoolFacts {
    sha256_utf8: String,
    byte_tokenizer_corpus_size: Option<u32>,
}

#[derive(Deserialize)]
struct BlockText {
    trace_id: String,
    hash_id: i64,
    text: String,
}

#[derive(Deserialize)]
struct Sent {
    trace: String,
    conversation: String,
    turn: usize,
    use_server_token_count: bool,
    max_tokens_override: Option<u64>,
    body: String,
}

#[derive(Deserialize)]
struct Minitraces {
    cases: Vec<Minitrace>,
}

#[derive(Deserialize)]
struct Minitrace {
    name: String,
    traces: Vec<Box<RawValue>>,
}

#[test]
fn bodies_are_aiperf_s_byte_for_byte() {
    let Some(packed) = testkit::shared("oracle/pool/coding_pool_seed42.txt.gz") else {
        return;
    };
    let text = String::from_utf8(testkit::bytes(&packed)).unwrap();
    let wire: Wire = testkit::json(&data("wire.json"));
    let minitraces: Minitraces = testkit::json(&data("minitraces.json"));
    let pool = Arc::new(Pool::from_text(&text, builtin()).unwrap());
    assert_eq!(pool.sha256(), wire.pool[0].sha256_utf8);
    assert_eq!(Some(pool.tokens()), wire.pool[0].byte_tokenizer_corpus_size);
    let prompter = Prompter::new(pool, 42);

    assert_eq!((wire.block_texts.len(), wire.requests.len()), (3, 11));
    for block in &wire.block_texts {
        let start = prompter.draws().block_start(&block.trace_id, block.hash_id) as usize;
        assert_eq!(
            text[start..start + 64],
            block.text,
            "{} {}",
            block.trace_id,
            block.hash_id
        );
    }
    for sent in &wire.requests {
        let case = minitraces
            .cases
            .iter()
            .find(|case| case.name == sent.trace)
            .unwrap();
        let recorded = Recorded::new(case.traces[0].get().as_bytes(), &Options::default());
        let (place, turn) = recorded.turn(&sent.conversation, sent.turn);
        let envelope = EnvelopeOptions {
            model: "m0".into(),
            ignore_eos: true,
            usage: sent.use_server_token_count,
            ..EnvelopeOptions::default()
        };
        let options = BodyOptions {
            envelope: &Arc::new(Envelope::new(&envelope).unwrap()),
            max_tokens: sent.max_tokens_override.unwrap_or(turn.max_tokens),
            marker: Some(&wire.marker),
            tool_shaped: false,
        };
        let body = recorded.body(&prompter, place, &options);
        assert_eq!(body.isl_planned(), turn.input_tokens);
        let body = String::from_utf8(collect(body)).unwrap();
        assert_eq!(body, sent.body, "{} turn {}", sent.conversation, sent.turn);
    }
}

#[test]
fn a_body_of_the_built_in_pool_is_the_same_everywhere() {
    let minitraces: Minitraces = testkit::json(&data("minitraces.json"));
    let case = &minitraces.cases[0];
    let recorded = Recorded::new(case.traces[0].get().as_bytes(), &Options::default());
    let prompter = Prompter::new(Arc::new(Pool::built_in(builtin()).unwrap()), 42);
    let options = BodyOptions {
        envelope: &super::envelope(),
        max_tokens: 5,
        marker: None,
        tool_shaped: false,
    };
    let (place, _) = recorded.turn("mini01", 0);
    let body = String::from_utf8(collect(recorded.body(&prompter, place, &options))).unwrap();
    let expected = concat!(
        r#"{"messages":[{"role":"user","content":"\n    return sorted(found, key=lambda item: item.local_record)\n\n\n\n"#,
        r#"| --- | --- | ---: |\n| `brief_digest` | early | 75080 |\n| `cold | steady | 96797 |\n| `large_socket` "#,
        r#"| fresh | 28359 |\n\n| name |\n  name:"}],"model":"m0","stream":true,"max_completion_tokens":5}"#
    );
    assert_eq!(body, expected);
}
