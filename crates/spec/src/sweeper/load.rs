//! How much load a Sweeper document means: the in-flight cap and the number of requests (`sweeper-traffic.md` §5).
//!
//! Arithmetic only; where a server's capacity is read from is not known here.

use std::fmt;

use super::{KvRatio, Load, Sweeper, Synthetic};
use crate::problem::{Problem, Report};

/// The KV capacity of the role that drives the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvCapacity {
    /// KV tokens of one scheduler.
    pub per_rank_tokens: u64,
    /// Tokens of one KV block; only whole blocks count. 0 is taken as 1.
    pub block_size: u64,
    /// Ranks with data-parallel attention, each with its own pool.
    pub attention_dp: u64,
    /// Copies of the deployment.
    pub replicas: u64,
}

/// A ratio of KV capacity, resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KvLoad {
    /// The ratio.
    pub kv_load_ratio: f64,
    /// Tokens of all whole blocks of all pools.
    pub capacity_tokens: u64,
    /// What a request holds on average over its life: its prompt and half its output.
    pub average_tokens_per_request: u64,
    /// Requests that fill the capacity.
    pub capacity_concurrency: u64,
    /// Sessions in flight, at least 1.
    pub concurrency: u64,
}

/// Sessions in flight at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cap {
    /// Open loop: starts do not depend on ends.
    Open,
    /// Closed loop.
    Closed(u64),
}

/// Why a document's load has no number.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadError {
    /// Neither the server nor the user gave a capacity.
    NoCapacity,
    /// Not one average request fits.
    Infeasible {
        /// Tokens of the server.
        capacity_tokens: u64,
        /// Tokens of an average request.
        average_tokens: u64,
    },
    /// The cap of a KV load is asked for before it is derived.
    Underived,
    /// A range is not one load.
    Range,
    /// A trace has as many requests as rows.
    Recorded,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::NoCapacity => f.write_str(
                "the server's KV capacity is unknown; expected --kv-capacity-tokens or a server that reports it",
            ),
            LoadError::Infeasible { capacity_tokens, average_tokens } => write!(
                f,
                "a KV capacity of {capacity_tokens} tokens holds less than one average request of {average_tokens}; \
                 expected room for at least one"
            ),
            LoadError::Underived => {
                f.write_str("the cap of a KV load is not derived yet; expected the server's capacity first")
            }
            LoadError::Range => {
                f.write_str("a range of ratios is not one load; expected --kv-load-points, or one ratio")
            }
            LoadError::Recorded => f.write_str("a trace has as many requests as rows; expected synthetic traffic"),
        }
    }
}

impl std::error::Error for LoadError {}

impl KvCapacity {
    /// Tokens of all whole blocks of all pools.
    pub fn tokens(&self) -> u64 {
        let block = self.block_size.max(1);
        let usable = self.per_rank_tokens / block * block;
        usable
            .saturating_mul(self.attention_dp)
            .saturating_mul(self.replicas)
    }
}

impl KvRatio {
    /// The ratios of a sweep with this many evenly spaced points, ends included. One value is itself.
    pub fn points(self, count: u32) -> Vec<f64> {
        match self {
            KvRatio::Fixed(ratio) => vec![ratio],
            KvRatio::Range(min, _) if count < 2 => vec![min; count as usize],
            KvRatio::Range(min, max) => {
                let last = count - 1;
                (0..count)
                    .map(|at| {
                        if at == last {
                            max
                        } else {
                            min + (max - min) * f64::from(at) / f64::from(last)
                        }
                    })
                    .collect()
            }
        }
    }
}

impl Synthetic {
    /// Blocks of a prompt, and how many of them its group shares, at a block size in tokens. The share rounds half away
    /// from zero, unlike the request count.
    pub fn blocks(&self, block_size: u64) -> (u64, u64) {
        let blocks = self.isl.div_ceil(block_size.max(1));
        if self.num_prefix_groups == 0 {
            return (blocks, 0);
        }
        (
            blocks,
            ((blocks as f64 * self.shared_prefix_ratio).round() as u64).min(blocks),
        )
    }

    /// The load of a ratio. The product is truncated in binary64 as it is, so 0.29 of 100 is 28.
    pub fn kv_load(&self, ratio: f64, capacity: Option<KvCapacity>) -> Result<KvLoad, LoadError> {
        let capacity_tokens = capacity.ok_or(LoadError::NoCapacity)?.tokens();
        let average_tokens = self.isl.saturating_add(self.osl / 2);
        let full = capacity_tokens / average_tokens.max(1);
        if full == 0 {
            return Err(LoadError::Infeasible {
                capacity_tokens,
                average_tokens,
            });
        }
        Ok(KvLoad {
            kv_load_ratio: ratio,
            capacity_tokens,
            average_tokens_per_request: average_tokens,
            capacity_concurrency: full,
            concurrency: ((ratio * full as f64) as u64).max(1),
        })
    }
}

impl Sweeper {
    /// The load shape's name.
    pub fn shape(&self) -> &'static str {
        match self.load {
            Load::Trace(_) => "trace",
            Load::RequestRate(_) => "request_rate",
            Load::Concurrency(_) => "concurrency",
            Load::Kv(_) => "kv_load",
        }
    }

    /// The load of a single stated `kv_load_ratio`.
    pub fn kv_load(&self, capacity: Option<KvCapacity>) -> Result<Option<KvLoad>, LoadError> {
        match (&self.load, &self.synthetic) {
            (Load::Kv(KvRatio::Fixed(ratio)), Some(synthetic)) => {
                synthetic.kv_load(*ratio, capacity).map(Some)
            }
            (Load::Kv(KvRatio::Range(..)), _) => Err(LoadError::Range),
            _ => Ok(None),
        }
    }

    /// The closed loop's cap of sessions in flight, given the derived one of a KV load.
    pub fn effective_in_flight_cap(&self, derived: Option<u64>) -> Result<Cap, LoadError> {
        match &self.load {
            Load::Trace(trace) => Ok(trace.replay_concurrency.map_or(Cap::Open, Cap::Closed)),
            Load::Kv(_) => derived.map(Cap::Closed).ok_or(LoadError::Underived),
            Load::Concurrency(cap) => Ok(Cap::Closed(*cap)),
            Load::RequestRate(_) => Ok(Cap::Open),
        }
    }

    /// How many requests (sessions, when they have several turns) synthetic traffic has, given the derived cap of a KV
    /// load. Ties round to even, as Python does; at least 1.
    pub fn resolved_request_count(&self, derived: Option<u64>) -> Result<u64, LoadError> {
        let synthetic = self.synthetic.as_ref().ok_or(LoadError::Recorded)?;
        let load = match (&self.load, derived) {
            (_, Some(derived)) => derived as f64,
            (Load::Concurrency(cap), None) => *cap as f64,
            (Load::RequestRate(rate), None) => *rate,
            (Load::Kv(_), None) => return Err(LoadError::Underived),
            (Load::Trace(_), None) => return Err(LoadError::Recorded),
        };
        Ok(((synthetic.num_request_ratio * load).round_ties_even() as u64).max(1))
    }

    /// Milliseconds between the starts of an open synthetic loop.
    pub fn arrival_interval_ms(&self) -> Option<f64> {
        match self.load {
            Load::RequestRate(rate) => Some(1000.0 / rate),
            _ => None,
        }
    }

    /// A load error as a problem at `workload.kv_load_ratio`.
    pub fn problem(&self, error: &LoadError) -> Problem {
        let mut report = Report::default();
        report.error("workload.kv_load_ratio", self.ratio_place, error.to_string());
        report.finish().remove(0)
    }
}
