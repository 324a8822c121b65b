//! Composing one step: who gets how many tokens of the budget, which blocks that takes, and how long it lasts.
//!
//! vLLM's order: running sequences first, in order of admission; when blocks run out the youngest is put back to the front
//! of the queue and starts over; then, unless that happened, waiting ones as far as slots, budget and blocks go.

use super::{Engine, Sequence};
use crate::mix;

/// What a step is made of, as far as its cost goes.
#[derive(Default)]
struct Load {
    prefill_tokens: usize,
    n_decoding: usize,
    context_tokens: usize,
}

impl Load {
    fn add(&mut self, sequence: &Sequence) {
        if sequence.is_prefill() {
            self.prefill_tokens += sequence.scheduled;
        } else {
            self.n_decoding += 1;
        }
        self.context_tokens += sequence.computed + sequence.scheduled;
    }
}

impl Engine {
    /// Starts the next step at `now_ns`, or at the arrival of the first waiting sequence if nothing else is to be done.
    pub(super) fn start_step(&mut self, now_ns: u64) {
        let start_ns = match self.waiting.front() {
            Some(first) if self.running.is_empty() => now_ns.max(first.arrived_ns),
            _ => now_ns,
        };
        let mut budget = self.config.max_num_batched_tokens;
        let mut load = Load::default();
        let preempted = self.schedule_running(&mut budget, &mut load);
        if !preempted {
            self.admit(start_ns, &mut budget, &mut load);
        }
        if self.running.is_empty() {
            debug_assert!(self.waiting.is_empty(), "an empty pool takes any sequence");
            self.step_end_ns = None;
            return;
        }
        self.counters
            .iteration_tokens
            .add((load.prefill_tokens + load.n_decoding) as f64);
        self.step_end_ns = Some(start_ns + self.duration_ns(&load));
        self.n_steps += 1;
    }

    /// Gives each running sequence its share; true if one had to be put back.
    fn schedule_running(&mut self, budget: &mut usize, load: &mut Load) -> bool {
        let mut preempted = false;
        let mut index = 0;
        while index < self.running.len() && *budget > 0 {
            let sequence = &self.running[index];
            let wanted = (sequence.known() - sequence.computed).min(*budget);
            let n_blocks = self.missing_blocks(sequence, wanted);
            while self.pool.available() < n_blocks && index < self.running.len() {
                self.preempt_youngest();
                preempted = true;
            }
            let Some(sequence) = self.running.get_mut(index) else {
                break;
            };
            self.pool.take(n_blocks, &mut sequence.held);
            sequence.scheduled = wanted;
            *budget -= wanted;
            load.add(sequence);
            self.register(index);
            index += 1;
        }
        preempted
    }

    fn admit(&mut self, start_ns: u64, budget: &mut usize, load: &mut Load) {
        while *budget > 0 && self.running.len() < self.config.max_num_seqs {
            let Some(sequence) = self.waiting.front().filter(|first| first.arrived_ns <= start_ns) else {
                return;
            };
            let cacheable = self.cacheable(sequence);
            let (n_hits, n_idle) = self.pool.lookup(&sequence.work.blocks[..cacheable]);
            let computed = n_hits * self.config.block_size;
            let wanted = (sequence.known() - computed).min(*budget);
            let n_blocks = (computed + wanted).div_ceil(self.config.block_size) - n_hits;
            if n_blocks + n_idle > self.pool.available() {
                return;
            }
            let mut sequence = self.waiting.pop_front().expect("its front was looked at");
            self.pool
                .hold(&sequence.work.blocks[..n_hits], &mut sequence.held);
            self.pool.take(n_blocks, &mut sequence.held);
            sequence.registered = n_hits;
            sequence.computed = computed;
            sequence.scheduled = wanted;
            *budget -= wanted;
            load.add(&sequence);
            if sequence.admitted.is_none() {
                sequence.admitted = Some((start_ns, computed));
                self.counters.admitted(&sequence, start_ns, computed);
            }
            self.running.push(sequence);
            self.register(self.running.len() - 1);
        }
    }

    /// Blocks of `sequence` that may come from the cache: never the one with the last token, which has to be computed for
    /// the next one to follow from it.
    fn cacheable(&self, sequence: &Sequence) -> usize {
        if !self.config.prefix_caching {
            return 0;
        }
        let whole = (sequence.known() - 1) / self.config.block_size;
        whole.min(sequence.work.blocks.len())
    }

    fn missing_blocks(&self, sequence: &Sequence, wanted: usize) -> usize {
        let needed = (sequence.computed + wanted).div_ceil(self.config.block_size);
        needed - sequence.held.len()
    }

    /// Makes the blocks that this step fills findable at once, as vLLM does: a sequence admitted in the same step hits them.
    fn register(&mut self, index: usize) {
        if !self.config.prefix_caching {
            return;
        }
        let sequence = &mut self.running[index];
        let full = (sequence.computed + sequence.scheduled) / self.config.block_size;
        let full = full.min(sequence.work.blocks.len());
        for block in sequence.registered..full {
            self.pool
                .register(sequence.held[block], sequence.work.blocks[block]);
        }
        sequence.registered = full.max(sequence.registered);
    }

    fn preempt_youngest(&mut self) {
        let mut sequence = self.running.pop().expect("somebody holds the blocks");
        debug_assert_eq!(
            sequence.scheduled, 0,
            "victims come from behind those already scheduled"
        );
        self.pool.release(&mut sequence.held);
        sequence.computed = 0;
        sequence.registered = 0;
        self.counters.preemptions += 1;
        self.waiting.push_front(sequence);
    }

    fn duration_ns(&self, load: &Load) -> u64 {
        let costs = &self.config.costs;
        let exact = costs.step_ns as f64
            + costs.prefill_token_ns * load.prefill_tokens as f64
            + costs.decoding_sequence_ns * load.n_decoding as f64
            + costs.context_token_ns * load.context_tokens as f64;
        let swing = 2.0 * mix::unit(self.seed, self.n_steps) - 1.0;
        (exact * (1.0 + self.config.jitter * swing)).round() as u64
    }
}
