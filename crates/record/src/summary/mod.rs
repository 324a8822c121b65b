//! `summary.json`: what a run found, computed from its other files alone.
//!
//! [`Summary::of_folder`] reads a folder, of a run that ended or was killed, and gives the same summary each time. Latency
//! figures are over requests with outcome `ok`; how many others there were, and why, stands in [`Counts`].

mod errors;
mod goodput;
mod phase;
mod tally;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use errors::{ERROR_GROUPS_MAX, ErrorGroup};
pub use goodput::{DEFAULT_CLASS, DimensionMet, Goodput};
pub use phase::{LATE_NS, PhaseMarks, PhaseTally};
pub use tally::Tally;

use crate::RecordError;
use crate::folder::{Losses, RunReader};
use crate::header::RunHeader;
use crate::marks::Stop;
use crate::request::Phase;
use crate::server_metrics::statistics::ServerMetrics;
use crate::server_metrics::window::Window;
use crate::stated::Stated;
use crate::stats::gaps::PooledGaps;
use crate::stats::sample::Distribution;
use crate::stats::window::Throughput;
use crate::validity::Validity;
use crate::words::Worded;

/// Version of `summary.json`.
pub const SUMMARY_VERSION: u32 = 1;

/// `summary.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Version of this file: [`SUMMARY_VERSION`].
    pub schema_version: u32,
    /// `run.json`; `None` when it is absent.
    pub run: Option<RunHeader>,
    /// How the run ended.
    pub end: RunEnd,
    /// Whether it is valid for submission; `None` when it has no scenario to be submitted under.
    pub validity: Option<Validity>,
    /// The measurement.
    pub profiling: PhaseSummary,
    /// The warm-up, which is in no figure of the measurement; `None` when it sent nothing.
    pub warmup: Option<PhaseSummary>,
    /// What the server said about the measurement; `None` when its metrics were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_metrics: Option<ServerMetrics>,
    /// What the scenario states about the server, beside what it turned out to be; `None` when it states nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated: Option<Stated>,
    /// Requests of the trace file that were to be sent and were not; `None` in runs of session trees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_sent: Option<u64>,
    /// What the files lack.
    pub losses: Losses,
    /// Lanes that stood still from some moment of the window on, because their turns waited for what could not come.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stuck_lanes: Vec<u32>,
    /// What to think of before quoting a figure.
    pub warnings: Vec<Warning>,
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnd {
    /// As the run says; `None` when it was killed before it could.
    pub stop: Option<Worded<Stop>>,
    /// The reason in words; empty when there is none.
    pub reason: String,
    /// When: the mark, or for a killed run the last stamp seen.
    pub at_ns: u64,
}

/// A doubt about the measurement, see [`crate::stats::doubt`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Its name.
    pub code: String,
    /// What was found.
    pub message: String,
    /// What to do about it.
    pub advice: String,
}

/// One phase of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseSummary {
    /// Requests by outcome.
    pub counts: Counts,
    /// Windows and rates.
    pub throughput: PhaseThroughput,
    /// TTFT in ms.
    pub ttft_ms: Distribution,
    /// TTFO in ms: time to the first token that is not reasoning.
    pub ttfo_ms: Distribution,
    /// TPOT in ms.
    pub tpot_ms: Distribution,
    /// (end of stream − first content) ÷ (OSL − 1) in ms.
    pub full_response_itl_ms: Distribution,
    /// All gaps between content chunks in ms.
    pub itl_ms: PooledGaps,
    /// E2E latency in ms.
    pub e2e_ms: Distribution,
    /// Interactivity: 1 ÷ TPOT.
    pub tps_per_user: Interactivity,
    /// Prompt tokens, as the server counted them.
    pub isl: Distribution,
    /// Output tokens, as the server counted them.
    pub osl: Distribution,
    /// Token sums.
    pub tokens: Tokens,
    /// Prefix-cache hits, expected and reported.
    pub cache: CacheHits,
    /// Answers shorter than asked.
    pub early_finish: EarlyFinish,
    /// How far into the phase latencies were seen.
    #[serde(default)]
    pub seen: LatencySeen,
    /// Requests per second that met every latency target, by class; of the classes that have targets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub goodput: BTreeMap<String, Goodput>,
    /// The same of those classes together; `None` when no class has targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput_total: Option<Goodput>,
    /// Requests that the cap on requests in flight held back; `None` when it held none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
    /// What the client itself added.
    pub client: ClientCost,
    /// Requests answered without `[DONE]`.
    pub ok_without_done: u64,
    /// Events that were no JSON of the expected shape, over all requests.
    pub malformed_events: u64,
    /// Errors, the most frequent first.
    pub errors: Vec<ErrorGroup>,
    /// Text of the first request that failed or overflowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_error: Option<String>,
}

/// The last moments at which answered requests gave latencies, in seconds after the phase began; `None` when none did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencySeen {
    /// The last first token.
    pub ttft_until_s: Option<f64>,
    /// The last end of an answer with more than one content chunk.
    pub itl_until_s: Option<f64>,
}

/// Requests by outcome. started = ok + failed + overflow + cancelled + unrecorded, and nothing is unrecorded in a run that
/// could write its files to the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Requests started.
    pub started: u64,
    /// Answered to the end, with output.
    pub ok: u64,
    /// Not answered, or not to the end.
    pub failed: u64,
    /// Prompts that did not fit the context window.
    pub overflow: u64,
    /// Ended by us.
    pub cancelled: u64,
    /// Started, but without a row.
    pub unrecorded: u64,
    /// Failed requests by kind.
    pub failure_kinds: BTreeMap<String, u64>,
    /// Cancelled requests by cause.
    pub cancel_causes: BTreeMap<String, u64>,
}

impl Counts {
    /// Requests that have a row.
    pub fn recorded(&self) -> u64 {
        self.ok + self.failed + self.overflow + self.cancelled
    }
}

/// Throughput over each window that people divide by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseThroughput {
    /// Start of the phase to the end of sending. Answers that came later, in the grace period, are not counted.
    pub send: Option<Throughput>,
    /// First start to last end of the requests that were answered. `InferenceX` divides by it.
    pub span: Option<Throughput>,
    /// Start to end of the phase, grace period included. aiperf 0.12.0 divides by it.
    pub phase: Option<Throughput>,
    /// The phase says itself when it ended; else its end is the last stamp seen.
    pub end_stated: bool,
}

/// Output tokens per second that one user sees: 1 ÷ the same figure of TPOT, so that p95 is the slow tail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interactivity {
    /// 1 ÷ mean TPOT.
    pub mean: Option<f64>,
    /// 1 ÷ p50 TPOT.
    pub p50: Option<f64>,
    /// 1 ÷ p90 TPOT.
    pub p90: Option<f64>,
    /// 1 ÷ p95 TPOT.
    pub p95: Option<f64>,
    /// 1 ÷ p99 TPOT.
    pub p99: Option<f64>,
}

/// Token sums over requests with outcome `ok`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tokens {
    /// Prompt tokens, as the server counted them.
    pub isl: Option<u64>,
    /// Prompt tokens recorded in the trace, of the requests whose prompt the server counted.
    pub isl_planned: u64,
    /// Output tokens, as the server counted them.
    pub osl: Option<u64>,
    /// Output tokens asked for, of the requests whose output the server counted.
    pub osl_planned: u64,
    /// Requests whose output the server did not count.
    pub without_usage: u64,
    /// Output tokens a content chunk, over requests that have both.
    pub per_chunk: Option<f64>,
}

impl Tokens {
    /// Prompt tokens as the server counted them ÷ as planned, over the same requests (`trace-csv` §4.3).
    pub fn isl_counted_share(&self) -> Option<f64> {
        self.isl.and_then(|isl| share(isl, self.isl_planned))
    }
}

/// Prefix-cache hits over requests with outcome `ok`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CacheHits {
    /// Hit ÷ total blocks of an infinite cache that each trace has to itself.
    pub theoretical_share: Option<f64>,
    /// Its hit blocks.
    pub theoretical_hit_blocks: u64,
    /// All blocks.
    pub theoretical_total_blocks: u64,
    /// Cached ÷ prompt tokens as the server reported them, over the requests that reported both.
    pub reported_share: Option<f64>,
    /// Those requests.
    pub reported_requests: u64,
    /// Their cached tokens.
    pub cached_tokens: u64,
    /// Their prompt tokens.
    pub prompt_tokens: u64,
}

/// Answers shorter than asked, over requests with outcome `ok` whose output the server counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EarlyFinish {
    /// Requests that are shorter.
    pub requests: u64,
    /// Requests whose output the server counted.
    pub known: u64,
    /// Their share.
    pub share: Option<f64>,
}

/// Requests that the cap on requests in flight held back after their schedule wanted them (`trace-csv` §5.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// Requests held back, whatever became of them.
    pub requests: u64,
    /// How long, in ms, over those requests alone.
    pub delay_ms: Distribution,
}

/// What the client itself added, over all requests of the phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientCost {
    /// Actual − intended start in ms.
    pub lateness_ms: Distribution,
    /// Share of requests later than [`LATE_NS`].
    pub late_share: Option<f64>,
    /// Longest time of a request from socket read to parsed, in ms.
    pub parse_lag_ms: Distribution,
    /// Time to a new connection in ms; `missing` counts reused and failed ones.
    pub connect_ms: Distribution,
}

impl Summary {
    /// Computes the summary of a run's folder.
    ///
    /// # Errors
    /// When it holds no run, a file cannot be read, or was written under a later version. Damage within files is no
    /// error: it is counted in [`Summary::losses`].
    pub fn of_folder(folder: &Path) -> Result<Self, RecordError> {
        let mut reader = RunReader::open(folder)?;
        let window = Window::of(Phase::Profiling, reader.marks());
        let metrics = ServerMetrics::of_folder(folder, window)?;
        let mut tally = Tally::new(reader.header().cloned(), reader.marks()).beside(metrics);
        for entry in reader.by_ref() {
            match entry {
                Ok(entry) => tally.push(&entry),
                Err(RecordError::Line { .. } | RecordError::LongLine { .. }) => {} // counted by the reader
                Err(error) => return Err(error),
            }
        }
        Ok(tally.finish(reader.losses().clone()))
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
