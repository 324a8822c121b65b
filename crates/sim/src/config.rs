//! Every number of a simulated server, by name, and three sets of them.
//!
//! A [`Config`] is checked as a whole before anything binds. Presets differ only in values; nothing else asks which one it was.

use std::net::{Ipv4Addr, SocketAddr};

use crate::faults::Fault;
use crate::tokens::Template;
use crate::{Error, Result};

/// Cost of a step, each term in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// Any step, however little it does.
    pub step_ns: u64,
    /// Each prompt token computed, that is not taken from the cache.
    pub prefill_token_ns: f64,
    /// Each sequence that gets its next token.
    pub decoding_sequence_ns: f64,
    /// Each token of context of each sequence in the step: reading its KV entries.
    pub context_token_ns: f64,
}

/// The scheduler's limits, named as vLLM's flags, and its costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EngineConfig {
    /// Most sequences in a step.
    pub max_num_seqs: usize,
    /// Most tokens in a step, prompt chunks and next tokens together.
    pub max_num_batched_tokens: usize,
    /// Tokens of a KV block; hits are counted in whole blocks.
    pub block_size: usize,
    /// KV blocks there are.
    pub kv_blocks: usize,
    /// Whether blocks of ended sequences are found again.
    pub prefix_caching: bool,
    /// How long steps take.
    pub costs: Costs,
    /// A step lasts its cost times a seeded factor within 1 ± this.
    pub jitter: f64,
}

/// What the observation log keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogConfig {
    /// Requests that are kept; later ones are only counted.
    pub entries_max: usize,
    /// Keep request bodies, too.
    pub keep_bodies: bool,
    /// Keep the time of every token-carrying chunk, too.
    pub keep_chunk_times: bool,
}

/// A simulated server.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Where to listen; port 0 takes any free one.
    pub listen: SocketAddr,
    /// Name of the one model there is.
    pub model: String,
    /// Most tokens of prompt and output together.
    pub max_model_len: usize,
    /// Demanded as `Authorization: Bearer` on `/v1` paths, if set.
    pub api_key: Option<String>,
    /// Drives answers' texts and lengths, ids and jitter.
    pub seed: u64,
    /// Mean length of an answer that may end by itself (`ignore_eos` not set), of a geometric distribution.
    pub natural_output_tokens: f64,
    /// State `prompt_tokens_details` in `usage`, vLLM's `--enable-prompt-tokens-details`.
    pub prompt_tokens_details: bool,
    /// From messages to tokens.
    pub template: Template,
    /// Scheduler, cache and costs.
    pub engine: EngineConfig,
    /// What is kept about requests.
    pub log: LogConfig,
    /// Misbehaviour from the start; `Server::set_faults` changes it later.
    pub faults: Vec<Fault>,
    /// Longest request body; a longer one is answered 413.
    pub body_bytes_max: usize,
    /// Most open connections; one more is closed at once.
    pub connections_max: usize,
}

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

impl Config {
    /// A mid-sized model on one accelerator: an uncached prompt of 10,000 to 30,000 tokens takes some 120 to 360 ms to its
    /// first token, gaps are 7 ms alone and 10 to 20 ms with 16 to 64 long conversations in the batch.
    pub fn demo() -> Self {
        Self {
            listen: LOOPBACK,
            model: "sim".to_owned(),
            max_model_len: 131_072,
            api_key: None,
            seed: 42,
            natural_output_tokens: 400.0,
            prompt_tokens_details: true,
            template: Template::default(),
            engine: EngineConfig {
                max_num_seqs: 256,
                max_num_batched_tokens: 4096,
                block_size: 16,
                kv_blocks: 131_072,
                prefix_caching: true,
                costs: Costs {
                    step_ns: 7_000_000,
                    prefill_token_ns: 10_000.0,
                    decoding_sequence_ns: 60_000.0,
                    context_token_ns: 5.0,
                },
                jitter: 0.05,
            },
            log: LogConfig {
                entries_max: 100_000,
                keep_bodies: false,
                keep_chunk_times: false,
            },
            faults: Vec::new(),
            body_bytes_max: 64 << 20,
            connections_max: 16_384,
        }
    }

    /// Costs nothing: every answer is complete as soon as the request is read. Its events share few writes.
    pub fn instant() -> Self {
        Self::paced(0)
    }

    /// Every step takes `step_ns`, whatever it does: the first token after one or two steps, then one in each.
    pub fn paced(step_ns: u64) -> Self {
        let mut config = Self::demo();
        config.engine.costs = Costs {
            step_ns,
            prefill_token_ns: 0.0,
            decoding_sequence_ns: 0.0,
            context_token_ns: 0.0,
        };
        config.engine.max_num_seqs = 4096;
        config.engine.max_num_batched_tokens = 1 << 20;
        config.engine.jitter = 0.0;
        config
    }

    /// The first thing that makes this no server.
    pub fn check(&self) -> Result<()> {
        let engine = &self.engine;
        let fits = engine.kv_blocks.saturating_mul(engine.block_size) >= self.max_model_len;
        let costs = &engine.costs;
        let terms = [
            costs.prefill_token_ns,
            costs.decoding_sequence_ns,
            costs.context_token_ns,
        ];
        let rules = [
            ("max_model_len", self.max_model_len >= 2, "at least 2"),
            (
                "bytes_per_token",
                self.template.bytes_per_token >= 1,
                "at least 1",
            ),
            (
                "natural_output_tokens",
                self.natural_output_tokens >= 1.0,
                "at least 1",
            ),
            ("max_num_seqs", engine.max_num_seqs >= 1, "at least 1"),
            (
                "max_num_batched_tokens",
                engine.max_num_batched_tokens >= engine.max_num_seqs,
                "at least max_num_seqs",
            ),
            ("block_size", engine.block_size >= 1, "at least 1"),
            ("kv_blocks", fits, "enough for one sequence of max_model_len"),
            (
                "kv_blocks",
                engine.kv_blocks < u32::MAX as usize,
                "below 2^32 - 1",
            ),
            (
                "jitter",
                (0.0..1.0).contains(&engine.jitter),
                "at least 0 and below 1",
            ),
            (
                "costs",
                terms.iter().all(|term| (0.0..1e12).contains(term)),
                "from 0 to 1000 s each",
            ),
            ("model", !self.model.is_empty(), "a name"),
        ];
        match rules.into_iter().find(|(_, holds, _)| !holds) {
            Some((field, _, expected)) => Err(Error::Config { field, expected }),
            None => Ok(()),
        }
    }
}
