//! What the engine counts on the way, under vLLM's definitions; `metrics` writes it down.

use super::{Finish, Sequence};

/// A cumulative histogram over fixed upper bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    bounds: &'static [f64],
    /// One for each bound and one for what is above the last.
    counts: Vec<u64>,
    sum: f64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        Self {
            bounds,
            counts: vec![0; bounds.len() + 1],
            sum: 0.0,
        }
    }

    /// Counts one value.
    pub(crate) fn add(&mut self, value: f64) {
        let place = self.bounds.partition_point(|bound| *bound < value);
        self.counts[place] += 1;
        self.sum += value;
    }

    /// Each upper bound with how many values lie at or below it.
    pub fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> {
        let mut below = 0;
        self.bounds.iter().zip(&self.counts).map(move |(bound, count)| {
            below += count;
            (*bound, below)
        })
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Their sum.
    pub fn sum(&self) -> f64 {
        self.sum
    }
}

// The bounds of vLLM 0.32's own /metrics.
const TTFT_S: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0,
    80.0, 160.0, 640.0, 2560.0,
];
const TOKEN_S: &[f64] = &[
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
];
const REQUEST_S: &[f64] = &[
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0,
    960.0, 1920.0, 7680.0,
];
const STEP_TOKENS: &[f64] = &[
    1.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0,
];
const LENGTH_TOKENS: &[f64] = &[
    1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 10_000.0, 20_000.0,
    50_000.0, 100_000.0,
];

/// Totals and distributions since the engine was made. Times are simulated ones, in seconds.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    missing_docs,
    reason = "each is named after the vLLM metric whose help text says what it is"
)]
pub struct Counters {
    pub prefix_cache_queries: u64,
    pub prefix_cache_hits: u64,
    pub prompt_tokens: u64,
    pub prompt_tokens_cached: u64,
    pub generation_tokens: u64,
    pub preemptions: u64,
    pub success_stop: u64,
    pub success_length: u64,
    pub success_abort: u64,
    pub iteration_tokens: Histogram,
    pub request_prompt_tokens: Histogram,
    pub request_generation_tokens: Histogram,
    pub request_params_max_tokens: Histogram,
    pub request_prefill_kv_computed_tokens: Histogram,
    pub time_to_first_token: Histogram,
    pub inter_token_latency: Histogram,
    pub request_time_per_output_token: Histogram,
    pub e2e_request_latency: Histogram,
    pub request_queue_time: Histogram,
    pub request_inference_time: Histogram,
    pub request_prefill_time: Histogram,
    pub request_decode_time: Histogram,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            prefix_cache_queries: 0,
            prefix_cache_hits: 0,
            prompt_tokens: 0,
            prompt_tokens_cached: 0,
            generation_tokens: 0,
            preemptions: 0,
            success_stop: 0,
            success_length: 0,
            success_abort: 0,
            iteration_tokens: Histogram::new(STEP_TOKENS),
            request_prompt_tokens: Histogram::new(LENGTH_TOKENS),
            request_generation_tokens: Histogram::new(LENGTH_TOKENS),
            request_params_max_tokens: Histogram::new(LENGTH_TOKENS),
            request_prefill_kv_computed_tokens: Histogram::new(LENGTH_TOKENS),
            time_to_first_token: Histogram::new(TTFT_S),
            inter_token_latency: Histogram::new(TOKEN_S),
            request_time_per_output_token: Histogram::new(TOKEN_S),
            e2e_request_latency: Histogram::new(REQUEST_S),
            request_queue_time: Histogram::new(REQUEST_S),
            request_inference_time: Histogram::new(REQUEST_S),
            request_prefill_time: Histogram::new(REQUEST_S),
            request_decode_time: Histogram::new(REQUEST_S),
        }
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

impl Counters {
    pub(super) fn admitted(&mut self, sequence: &Sequence, now_ns: u64, cached_tokens: usize) {
        self.prefix_cache_queries += sequence.work.prompt_tokens as u64;
        self.prefix_cache_hits += cached_tokens as u64;
        self.request_queue_time.add(seconds(now_ns - sequence.arrived_ns));
    }

    pub(super) fn first_token(&mut self, sequence: &Sequence, at_ns: u64) {
        let (_, cached) = sequence.admitted.expect("admitted before its first token");
        self.prompt_tokens += sequence.work.prompt_tokens as u64;
        self.prompt_tokens_cached += cached as u64;
        self.generation_tokens += 1;
        self.time_to_first_token.add(seconds(at_ns - sequence.arrived_ns));
    }

    pub(super) fn next_token(&mut self, gap_ns: u64) {
        self.generation_tokens += 1;
        self.inter_token_latency.add(seconds(gap_ns));
    }

    /// A sequence has emitted its last token.
    pub(super) fn ended(&mut self, sequence: &Sequence) {
        let (admitted_ns, cached) = sequence.admitted.expect("admitted before its end");
        let end_ns = sequence.last_token_ns;
        let decode_s = seconds(end_ns - sequence.first_token_ns);
        let work = &sequence.work;
        self.finished(work.finish);
        self.request_prompt_tokens.add(work.prompt_tokens as f64);
        self.request_generation_tokens.add(sequence.generated as f64);
        self.request_params_max_tokens.add(work.max_tokens as f64);
        self.request_prefill_kv_computed_tokens
            .add((work.prompt_tokens - cached) as f64);
        self.e2e_request_latency
            .add(seconds(end_ns - sequence.arrived_ns));
        self.request_inference_time.add(seconds(end_ns - admitted_ns));
        self.request_prefill_time
            .add(seconds(sequence.first_token_ns - admitted_ns));
        self.request_decode_time.add(decode_s);
        let n_gaps = (sequence.generated - 1).max(1);
        self.request_time_per_output_token.add(decode_s / n_gaps as f64);
    }

    pub(super) fn finished(&mut self, finish: Finish) {
        match finish {
            Finish::Stop => self.success_stop += 1,
            Finish::Length => self.success_length += 1,
            Finish::Abort => self.success_abort += 1,
        }
    }
}
