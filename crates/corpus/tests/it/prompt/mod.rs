//! Prompts: places, text and bodies.

mod captures;
mod drawn;
mod real_pool;
mod recorded;
mod safe_tokens;
mod seams;
mod tokenizers;
mod wire;

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use corpus::prompt::{
    BlockStarts, BodyOptions, CHUNK_BYTES, Envelope, EnvelopeOptions, Pool, Prompter, RequestBody, Tokenizer,
};
use tree::{BlockIndex, Conversation, PromptStep, Source, SourceKind, TheoreticalCache, Trace, Turn};

/// A file that lies beside the tests.
fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

fn builtin() -> Arc<Tokenizer> {
    Arc::new(Tokenizer::builtin())
}

/// A pool of the built-in tokenizer whose text is these bytes.
fn pool_of(bytes: &[u8]) -> Arc<Pool> {
    let ids = bytes.iter().copied().map(u32::from).collect();
    Arc::new(Pool::from_ids(ids, builtin()).expect("at least 64 bytes"))
}

/// A trace of one conversation called `t` with these steps; hash ids count from 1.
fn trace_of(steps: Vec<PromptStep>) -> Trace {
    let used = steps.iter().flat_map(|step| step.new_blocks.iter());
    let blocks = used.map(|block| block.0 + 1).max().unwrap_or(0);
    let turn = |prompt| Turn {
        timestamp_ms: None,
        delay_ms: None,
        api_time_ms: None,
        model: 0,
        max_tokens: 1,
        input_tokens: 0,
        input_kind: None,
        source: Source {
            outer: 0,
            inner: None,
            kind: SourceKind::WekaMain,
        },
        cache: TheoreticalCache::default(),
        spawns: Vec::new(),
        joins: Vec::new(),
        predecessors: Vec::new(),
        prompt,
    };
    let root = Conversation {
        id: "t".into(),
        parent: None,
        depth: 0,
        replay_scope: "t".into(),
        turns: steps.into_iter().map(turn).collect(),
        branches: Vec::new(),
    };
    Trace {
        id: "t".into(),
        conversations: vec![root],
        block_ids: (1..=i64::from(blocks)).collect(),
        peak_tokens: 0,
    }
}

fn envelope() -> Arc<Envelope> {
    let options = EnvelopeOptions {
        model: "m0".into(),
        ..EnvelopeOptions::default()
    };
    Arc::new(Envelope::new(&options).expect("nothing in it is refused"))
}

/// The whole body, its chunks and length checked on the way.
fn collect(mut body: RequestBody) -> Vec<u8> {
    let length = body.content_length();
    collect_chunks(length, || body.next_chunk())
}

fn collect_chunks(length: u64, mut next_chunk: impl FnMut() -> Option<Bytes>) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(chunk) = next_chunk() {
        assert!(chunk.len() <= CHUNK_BYTES, "a chunk of {} bytes", chunk.len());
        assert_eq!(whole.len() % CHUNK_BYTES, 0, "only the last chunk may be short");
        whole.extend_from_slice(&chunk);
    }
    assert!(next_chunk().is_none(), "a body ends once");
    assert_eq!(length, whole.len() as u64, "content length");
    whole
}

fn block_indices(range: std::ops::Range<u32>) -> Box<[BlockIndex]> {
    range.map(BlockIndex).collect()
}

/// The body of one turn of the only conversation of `trace`.
fn body_of(prompter: &Prompter, trace: &Trace, turn: usize, marker: Option<&str>) -> RequestBody {
    let turn = tree::TurnRef {
        conversation: 0,
        turn,
    };
    let starts = BlockStarts::new(trace);
    let options = BodyOptions {
        envelope: &envelope(),
        max_tokens: 1,
        marker,
        tool_shaped: false,
    };
    prompter.body(&starts, trace, turn, &options)
}
