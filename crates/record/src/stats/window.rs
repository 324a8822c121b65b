//! Throughput, and the time it is over. Two people who divide by different windows get different numbers, so each window
//! stands beside its rates.

use serde::{Deserialize, Serialize};

/// Rates over a named window. Requests and tokens are those of requests with outcome `ok` that ended in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Throughput {
    /// Where it begins; nanoseconds from the run's anchor.
    pub start_ns: u64,
    /// Where it ends.
    pub end_ns: u64,
    /// Its length.
    pub seconds: f64,
    /// Requests that were answered in it.
    pub requests: u64,
    /// Requests per second.
    pub rps: Option<f64>,
    /// Output tokens per second, as the server counted them; `None` when it never did.
    pub output_tps: Option<f64>,
    /// Prompt and output tokens per second, as the server counted them.
    pub total_tps: Option<f64>,
}

/// Requests and tokens while they are summed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    requests: u64,
    prompt_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl Totals {
    /// Takes a request's tokens.
    pub fn add(&mut self, prompt_tokens: Option<u64>, output_tokens: Option<u64>) {
        self.requests += 1;
        self.prompt_tokens = sum(self.prompt_tokens, prompt_tokens);
        self.output_tokens = sum(self.output_tokens, output_tokens);
    }

    /// Prompt tokens; `None` when the server never counted them.
    pub fn prompt_tokens(&self) -> Option<u64> {
        self.prompt_tokens
    }

    /// Output tokens; `None` when the server never counted them.
    pub fn output_tokens(&self) -> Option<u64> {
        self.output_tokens
    }

    /// The rates over the window from `start_ns` to `end_ns`; none over an empty one.
    pub fn over(&self, start_ns: u64, end_ns: u64) -> Throughput {
        let seconds = end_ns.saturating_sub(start_ns) as f64 / 1e9;
        let rate = |count: Option<u64>| {
            count
                .filter(|_| seconds > 0.0)
                .map(|count| count as f64 / seconds)
        };
        let total = self
            .prompt_tokens
            .zip(self.output_tokens)
            .map(|(prompt, output)| prompt.saturating_add(output));
        Throughput {
            start_ns,
            end_ns,
            seconds,
            requests: self.requests,
            rps: rate(Some(self.requests)),
            output_tps: rate(self.output_tokens),
            total_tps: rate(total),
        }
    }
}

fn sum(so_far: Option<u64>, next: Option<u64>) -> Option<u64> {
    match (so_far, next) {
        (Some(sum), Some(next)) => Some(sum.saturating_add(next)),
        (one, other) => one.or(other),
    }
}
