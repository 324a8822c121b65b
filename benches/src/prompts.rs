//! Request bodies, gathered from the pool while they are sent, against copying the same bytes and against serializing the
//! same messages with `serde_json`.

use crate::contest::{Way, cost, least};
use crate::files;
use crate::table::Line;
use bytes::BytesMut;
use corpus::prompt::{
    BlockStarts, BodyOptions, Envelope, EnvelopeOptions, Pool, Prompter, RequestBody, Tokenizer,
};
use corpus::{Corpus, LoadOptions};
use std::sync::Arc;
use tree::{Trace, TurnRef};

/// Bytes of bodies that a round makes, at least.
const BODIES_BYTES: u64 = 64 << 20;
const MARKER: &str = "0123456789ab";

pub(crate) fn measure() -> anyhow::Result<Vec<Line>> {
    let folder = testkit::tempdir()?;
    let file = files::write(folder.path().join("corpus.jsonl"), &files::rows())?;
    let corpus = Corpus::load(&file.path, Some(&file.sha256), &LoadOptions::default(), None)?;
    let tokenizer = Arc::new(Tokenizer::open("builtin")?);
    let prompter = Prompter::new(Arc::new(Pool::built_in(tokenizer)?), 42);
    let envelope = Arc::new(Envelope::new(&EnvelopeOptions {
        model: "some-org/Some-Model-32B".to_owned(),
        usage: true,
        ignore_eos: true,
        ..EnvelopeOptions::default()
    })?);
    let job = Job::new(&prompter, &envelope, &corpus.traces);
    let values = job
        .bodies
        .iter()
        .map(|body| serde_json::from_slice(body))
        .collect::<Result<Vec<_>, _>>()?;
    let per_byte = |(ns, made): (f64, u64)| {
        assert_eq!(made, job.bytes, "every way makes every byte");
        ns / job.bytes as f64
    };
    let ways: [Way<'_>; 4] = [
        ("first", Box::new(|| per_byte(cost(|| job.make(Job::blank))))),
        (
            "again",
            Box::new(|| per_byte(cost(|| job.make(|job, at| job.drawn[at].clone())))),
        ),
        ("copy", Box::new(|| per_byte(cost(|| job.copy())))),
        ("serde_json", Box::new(|| per_byte(cost(|| serialize(&values))))),
    ];
    let [first, again, copy, serialized] = least(ways);
    Ok(vec![
        Line::new("bodies made", job.bodies.len() as f64, ""),
        Line::new(
            "their mean size",
            job.bytes as f64 / job.bodies.len() as f64 / 1e3,
            "KB",
        ),
        Line::new("a body whose blocks were drawn before", 1e3 / again, "MB/s"),
        Line::new("the same ÷ copying its bytes", again / copy, "×"),
        Line::new("the same ÷ serde_json serializing it", again / serialized, "×"),
        Line::new("a body whose blocks are drawn with it", 1e3 / first, "MB/s"),
        Line::new("the same ÷ serde_json serializing it", first / serialized, "×"),
    ])
}

/// Which bodies are made, and what they are.
struct Job<'a> {
    prompter: &'a Prompter,
    envelope: &'a Arc<Envelope>,
    turns: Vec<(&'a Trace, TurnRef)>,
    /// For each of them, its trace's blocks, drawn.
    drawn: Vec<Arc<BlockStarts>>,
    bodies: Vec<Vec<u8>>,
    bytes: u64,
}

impl<'a> Job<'a> {
    /// The last turns of root conversations, a trace after the other, until there is enough.
    fn new(prompter: &'a Prompter, envelope: &'a Arc<Envelope>, traces: &'a [Trace]) -> Self {
        let mut job = Self {
            prompter,
            envelope,
            turns: Vec::new(),
            drawn: Vec::new(),
            bodies: Vec::new(),
            bytes: 0,
        };
        for trace in traces {
            let Some(turn) = trace.conversations[0].turns.len().checked_sub(1) else {
                continue;
            };
            if job.bytes >= BODIES_BYTES {
                break;
            }
            job.turns.push((
                trace,
                TurnRef {
                    conversation: 0,
                    turn,
                },
            ));
            job.drawn.push(Arc::new(BlockStarts::new(trace)));
            let mut body = job.body(job.turns.len() - 1, &job.drawn[job.turns.len() - 1]);
            let mut bytes = Vec::new();
            while let Some(chunk) = body.next_chunk() {
                bytes.extend_from_slice(&chunk);
            }
            job.bytes += bytes.len() as u64;
            job.bodies.push(bytes);
        }
        job
    }

    fn blank(&self, at: usize) -> Arc<BlockStarts> {
        Arc::new(BlockStarts::new(self.turns[at].0))
    }

    fn body(&self, at: usize, starts: &BlockStarts) -> RequestBody {
        let (trace, turn) = self.turns[at];
        let marker = corpus::prompt::marker::text(MARKER);
        let options = BodyOptions {
            envelope: self.envelope,
            max_tokens: 100,
            marker: Some(&marker),
            tool_shaped: false,
        };
        self.prompter.body(starts, trace, turn, &options)
    }

    /// Makes all bodies, chunk by chunk as they are sent.
    fn make(&self, starts: impl Fn(&Self, usize) -> Arc<BlockStarts>) -> u64 {
        let mut made = 0;
        for at in 0..self.turns.len() {
            let mut body = self.body(at, &starts(self, at));
            while let Some(chunk) = body.next_chunk() {
                made += std::hint::black_box(&chunk).len() as u64;
            }
        }
        made
    }

    /// Copies the bytes of all bodies into buffers of the size in which they are sent.
    fn copy(&self) -> u64 {
        let mut made = 0;
        for piece in self
            .bodies
            .iter()
            .flat_map(|body| body.chunks(corpus::prompt::CHUNK_BYTES))
        {
            let mut buffer = BytesMut::with_capacity(piece.len());
            buffer.extend_from_slice(piece);
            made += std::hint::black_box(&buffer.freeze()).len() as u64;
        }
        made
    }
}

fn serialize(values: &[serde_json::Value]) -> u64 {
    let one = |value| {
        serde_json::to_vec(value)
            .expect("a value with text keys can be written")
            .len() as u64
    };
    values.iter().map(one).sum()
}
