//! The scheduler and its cost model, as a pure discrete-event simulation in vLLM's shape.
//!
//! Sequences wait first come, first served. Time goes in steps: each step gives every running sequence its next token, or the
//! next chunk of its prompt, within one token budget, and then admits waiting ones; the step's cost says when it ends. The
//! caller says what time it is ([`Engine::submit`], [`Engine::advance`]) and asks when to come back ([`Engine::deadline`]).
//! Steps follow each other at their computed times however late the caller comes. Never reads a clock.

mod counters;
mod schedule;

use std::collections::VecDeque;

pub use counters::{Counters, Histogram};

use crate::config::EngineConfig;
use crate::prefix_cache::{BlockId, BlockPool};

/// Names one sequence for the life of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SequenceId(pub u64);

/// Why a sequence ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Finish {
    /// The model ended its answer.
    Stop,
    /// The limit on output tokens was reached.
    Length,
    /// The client went away.
    Abort,
}

impl Finish {
    /// The word for it in answers and metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::Abort => "abort",
        }
    }
}

/// What one sequence needs. How its answer ends is settled before it starts, so that it depends on nothing but the request.
#[derive(Debug, Clone)]
pub struct Work {
    /// Prompt length, at least 1.
    pub prompt_tokens: usize,
    /// Output length, at least 1.
    pub output_tokens: usize,
    /// Stated limit on the output, for the metrics.
    pub max_tokens: usize,
    /// How the answer ends.
    pub finish: Finish,
    /// Chained hashes of the full blocks of prompt and output together (`tokens::Tokens::chain`).
    pub blocks: Vec<u64>,
}

/// One output token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Emission {
    /// Whose it is.
    pub sequence: SequenceId,
    /// When its step ended, in the caller's nanoseconds.
    pub at_ns: u64,
    /// Which output token it is, from 1.
    pub nth: usize,
    /// Prompt tokens that came from the prefix cache when the sequence was first admitted.
    pub cached_tokens: usize,
    /// Set with the last token.
    pub finish: Option<Finish>,
}

struct Sequence {
    id: SequenceId,
    work: Work,
    arrived_ns: u64,
    /// Tokens whose KV entries exist.
    computed: usize,
    generated: usize,
    /// Tokens that the step under way computes.
    scheduled: usize,
    held: Vec<BlockId>,
    /// Blocks whose hash has been registered.
    registered: usize,
    /// First admission: its time and the cached tokens.
    admitted: Option<(u64, usize)>,
    first_token_ns: u64,
    last_token_ns: u64,
}

impl Sequence {
    /// Tokens there are so far, prompt and output.
    fn known(&self) -> usize {
        self.work.prompt_tokens + self.generated
    }

    fn is_prefill(&self) -> bool {
        self.known() - self.computed > 1 || self.generated == 0
    }
}

/// See the module's text.
pub struct Engine {
    config: EngineConfig,
    seed: u64,
    pool: BlockPool,
    waiting: VecDeque<Sequence>,
    /// In order of admission.
    running: Vec<Sequence>,
    /// When the step under way ends.
    step_end_ns: Option<u64>,
    n_steps: u64,
    next_id: u64,
    counters: Counters,
}

impl Engine {
    /// An idle engine; `seed` drives the jitter of step times and nothing else.
    pub fn new(config: EngineConfig, seed: u64) -> Self {
        Self {
            pool: BlockPool::new(config.kv_blocks),
            config,
            seed,
            waiting: VecDeque::new(),
            running: Vec::new(),
            step_end_ns: None,
            n_steps: 0,
            next_id: 0,
            counters: Counters::default(),
        }
    }

    /// Puts `work` at the end of the queue. Times must not run backwards from call to call.
    ///
    /// # Panics
    /// If a length is 0, or if the sequence could never fit into the KV blocks.
    pub fn submit(&mut self, now_ns: u64, work: Work) -> SequenceId {
        assert!(work.prompt_tokens > 0 && work.output_tokens > 0, "{work:?}");
        let n_blocks = (work.prompt_tokens + work.output_tokens).div_ceil(self.config.block_size);
        assert!(n_blocks <= self.config.kv_blocks, "{n_blocks} blocks never fit");
        let id = SequenceId(self.next_id);
        self.next_id += 1;
        self.waiting.push_back(Sequence {
            id,
            work,
            arrived_ns: now_ns,
            computed: 0,
            generated: 0,
            scheduled: 0,
            held: Vec::new(),
            registered: 0,
            admitted: None,
            first_token_ns: 0,
            last_token_ns: 0,
        });
        if self.step_end_ns.is_none() {
            self.start_step(now_ns);
        }
        id
    }

    /// Forgets a sequence at once, wherever it is; the step under way keeps its length. False if it had ended before.
    pub fn abort(&mut self, id: SequenceId) -> bool {
        if let Some(at) = self.waiting.iter().position(|sequence| sequence.id == id) {
            self.waiting.remove(at);
        } else if let Some(at) = self.running.iter().position(|sequence| sequence.id == id) {
            let mut sequence = self.running.remove(at);
            self.pool.release(&mut sequence.held);
        } else {
            return false;
        }
        self.counters.finished(Finish::Abort);
        true
    }

    /// When the step under way ends; `None` when there is nothing to do.
    pub fn deadline(&self) -> Option<u64> {
        self.step_end_ns
    }

    /// Ends every step that is due by `now_ns`, and appends what they emitted in order of time.
    pub fn advance(&mut self, now_ns: u64, emissions: &mut Vec<Emission>) {
        while let Some(end_ns) = self.step_end_ns.filter(|end| *end <= now_ns) {
            self.finish_step(end_ns, emissions);
            self.start_step(end_ns);
        }
    }

    /// Sequences in the batch.
    pub fn n_running(&self) -> usize {
        self.running.len()
    }

    /// Sequences in the queue.
    pub fn n_waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The blocks and who holds them.
    pub fn pool(&self) -> &BlockPool {
        &self.pool
    }

    /// What has been counted so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    fn finish_step(&mut self, end_ns: u64, emissions: &mut Vec<Emission>) {
        let Self {
            running,
            pool,
            counters,
            ..
        } = self;
        running.retain_mut(|sequence| {
            sequence.computed += std::mem::take(&mut sequence.scheduled);
            if sequence.computed < sequence.known() {
                return true;
            }
            emissions.push(sequence.emit(end_ns, counters));
            if sequence.generated < sequence.work.output_tokens {
                return true;
            }
            counters.ended(sequence);
            pool.release(&mut sequence.held);
            false
        });
    }
}

impl Sequence {
    fn emit(&mut self, at_ns: u64, counters: &mut Counters) -> Emission {
        self.generated += 1;
        if self.generated == 1 {
            self.first_token_ns = at_ns;
            counters.first_token(self, at_ns);
        } else {
            counters.next_token(at_ns - self.last_token_ns);
        }
        self.last_token_ns = at_ns;
        Emission {
            sequence: self.id,
            at_ns,
            nth: self.generated,
            cached_tokens: self.admitted.expect("only the admitted emit").1,
            finish: (self.generated == self.work.output_tokens).then_some(self.work.finish),
        }
    }
}
