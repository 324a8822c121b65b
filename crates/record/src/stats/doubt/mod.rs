//! What may be wrong with a measurement. A figure that is quoted without its doubt is a wrong figure.
//!
//! Each doubt is found by a named bound, says what was found, and what to do about it.

mod words;

use super::quantile::values_needed;
use super::sample::Distribution;
use crate::marks::Stop;
use crate::request::Outcome;
use crate::summary::{PhaseSummary, Summary};
use crate::words::Word;

/// Share of late requests above which the schedule was not kept.
pub const LATE_SHARE_MAX: f64 = 0.01;
/// What the client may add at p99, as a share of the median of what it measures.
pub const CLIENT_SHARE_MAX: f64 = 0.1;
/// Share of gaps within one socket read above which ITL is not token times.
pub const BURST_SHARE_MAX: f64 = 0.05;
/// Share of short gaps above which, with a mean gap of [`CLUMPED_MEAN_MS_MIN`] or more, something buffers the stream.
pub const SHORT_SHARE_MAX: f64 = 0.2;
/// See [`SHORT_SHARE_MAX`].
pub const CLUMPED_MEAN_MS_MIN: f64 = 2.0;
/// Output tokens a chunk above which a gap is not a token time.
pub const TOKENS_PER_CHUNK_MAX: f64 = 1.5;
/// Relative difference of planned and counted prompt tokens above which the prompts are not those of the trace.
pub const ISL_DRIFT_MAX: f64 = 0.1;
/// Share points by which the reported cache hits may pass the theoretical ones.
pub const WARM_CACHE_MARGIN: f64 = 0.02;
/// Relative gap of stated and realised acceptance length above which they are not the same (`bindings` §11.4).
pub const ACCEPTANCE_GAP_MAX: f64 = 0.05;
/// Share of the measurement that the server's metrics must cover.
pub const COVERED_SHARE_MIN: f64 = 0.95;

/// A doubt about a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Doubt {
    /// The run has no end.
    Killed,
    /// The run was stopped, for this reason.
    Stopped(Stop, String),
    /// Requests that were started and have no row.
    Unrecorded(u64),
    /// Rows that could not be read, and what was wrong with the first.
    DamagedRows(u64, String),
    /// Answers whose chunk stamps are lost.
    ChunksMissing(u64),
    /// No request was answered.
    NothingAnswered,
    /// Requests failed: how many of how many, and the text of the first.
    Failures(u64, u64, String),
    /// Streams ended before their end was said.
    Truncated(u64),
    /// Prompts did not fit the context window: how many of how many, and the server's context window.
    Overflows(u64, u64, Option<u64>),
    /// Warm-up requests failed or overflowed.
    WarmupTrouble(u64, u64),
    /// Requests cut at the end of the grace period, the slow ones among them.
    Censored(u64),
    /// Percentiles that have no value: n, the smallest percentile that lacks values, and what it needs.
    FewRequests(u64, u32, u64),
    /// The server counted tokens for none (or not all) of the answers: how many of how many lack them.
    NoUsage(u64, u64),
    /// The server counts tokens but does not say which came from its cache.
    NoCachedTokens,
    /// Share of answers shorter than asked.
    EarlyFinish(f64),
    /// Share of late starts.
    Late(f64),
    /// The client's own lag at p99 beside the median gap, both in ms.
    SlowParsing(f64, f64),
    /// The client's own lateness at p99 beside the median TTFT, both in ms.
    SlowStart(f64, f64),
    /// Share of gaps within one socket read.
    Bursts(f64),
    /// Share of gaps under a millisecond, beside a mean gap in ms.
    Clumped(f64, f64),
    /// Output tokens a chunk.
    ManyTokensPerChunk(f64),
    /// Prompt tokens counted ÷ planned.
    IslDrift(f64),
    /// Reported and theoretical share of cache hits.
    WarmCache(f64, f64),
    /// Answers that ended without `[DONE]`.
    NoDone(u64),
    /// Requests of a trace file that were not sent: how many of how many, and whether failed ones had ended sessions.
    NotSent(u64, u64, bool),
    /// Lanes that stood still for good.
    StuckLanes(Vec<u32>),
    /// Events that were not understood.
    Malformed(u64),
    /// Acceptance length as stated and as realised.
    Acceptance(f64, f64),
    /// Engine version as stated and as served.
    EngineVersion(String, String),
    /// Pages of metrics that were never there: how many of how many, and what was wrong with the first.
    NoServerMetrics(u64, u64, String),
    /// How often the server's counters went backwards.
    CounterResets(u64),
    /// Share of the measurement that the server's metrics cover.
    ScrapedPartly(f64),
}

/// Everything to doubt about a run, what matters most first.
pub fn doubts(summary: &Summary) -> Vec<Doubt> {
    let phase = &summary.profiling;
    let mut doubts = about_the_end(summary);
    doubts.extend(about_outcomes(summary));
    doubts.extend(about_the_server(summary));
    if phase.counts.ok == 0 {
        return doubts;
    }
    doubts.extend(about_the_client(phase));
    doubts.extend(about_tokens(phase));
    doubts.extend(about_chunks(phase));
    doubts
}

fn about_the_end(summary: &Summary) -> Vec<Doubt> {
    let losses = &summary.losses;
    let end = match summary.end.stop.map(|stop| stop.0) {
        None => Some(Doubt::Killed),
        Some(Stop::Done) => None,
        Some(stop) => Some(Doubt::Stopped(stop, summary.end.reason.clone())),
    };
    let damage = losses.first_damage.clone().unwrap_or_default();
    [
        end,
        above_zero(losses.unrecorded_requests, Doubt::Unrecorded),
        above_zero(losses.damaged_rows, |rows| Doubt::DamagedRows(rows, damage)),
        above_zero(losses.rows_without_chunks, Doubt::ChunksMissing),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn about_outcomes(summary: &Summary) -> Vec<Doubt> {
    let (phase, counts) = (&summary.profiling, &summary.profiling.counts);
    let answered = counts.ok + counts.failed + counts.overflow;
    // The most frequent failure says more than the first.
    let failure = phase
        .errors
        .iter()
        .find(|group| group.kind != Outcome::Overflow.word());
    let failure = failure.map_or_else(String::new, |group| match group.count {
        count if count == counts.failed => group.text.clone(),
        count => format!("{count} times: {}", group.text),
    });
    let window = summary.run.as_ref().and_then(|run| run.server.max_model_len);
    let kind = |kind: &str| counts.failure_kinds.get(kind).copied().unwrap_or(0);
    let warmup = summary
        .warmup
        .as_ref()
        .map(|warmup| (warmup.counts.failed, warmup.counts.overflow));
    [
        (counts.ok == 0).then_some(Doubt::NothingAnswered),
        above_zero(counts.failed, |failed| Doubt::Failures(failed, answered, failure)),
        above_zero(kind("truncated"), Doubt::Truncated),
        above_zero(counts.overflow, |overflow| {
            Doubt::Overflows(overflow, answered, window)
        }),
        warmup
            .filter(|(failed, overflow)| failed + overflow > 0)
            .map(|(failed, overflow)| Doubt::WarmupTrouble(failed, overflow)),
        above_zero(
            counts.cancel_causes.get("grace").copied().unwrap_or(0),
            Doubt::Censored,
        ),
        not_sent(summary),
        (!summary.stuck_lanes.is_empty()).then(|| Doubt::StuckLanes(summary.stuck_lanes.clone())),
        above_zero(phase.malformed_events, Doubt::Malformed),
        above_zero(phase.ok_without_done, Doubt::NoDone),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Only where rounds follow each other does a failed one take the later ones with it (`trace-csv` §5.2).
fn not_sent(summary: &Summary) -> Option<Doubt> {
    let run = summary.run.as_ref()?;
    let (planned, counts) = (run.trace.as_ref()?.planned, &summary.profiling.counts);
    let sessions_ended = run.loop_kind == "sessions" && counts.failed + counts.overflow > 0;
    above_zero(summary.not_sent?, |requests| {
        Doubt::NotSent(requests, planned, sessions_ended)
    })
}

fn about_the_server(summary: &Summary) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    if let Some(stated) = &summary.stated {
        let lengths = stated.acceptance_length.zip(stated.acceptance_length_realised);
        doubts.extend(
            lengths
                .filter(|(stated, realised)| (realised / stated - 1.0).abs() > ACCEPTANCE_GAP_MAX)
                .map(|(stated, realised)| Doubt::Acceptance(stated, realised)),
        );
        doubts.extend(
            stated
                .other_version()
                .map(|(stated, served)| Doubt::EngineVersion(stated.to_owned(), served.to_owned())),
        );
    }
    if let Some(metrics) = &summary.server_metrics {
        let absent: Vec<_> = metrics
            .endpoints
            .iter()
            .filter(|page| page.scrapes == 0)
            .collect();
        let problem = absent.first().and_then(|page| page.first_problem.clone());
        let pages = metrics.endpoints.len() as u64;
        doubts.extend(above_zero(absent.len() as u64, |absent| {
            Doubt::NoServerMetrics(absent, pages, problem.unwrap_or_default())
        }));
        doubts.extend(above_zero(metrics.resets, Doubt::CounterResets));
        doubts.extend(
            metrics
                .covered_share
                .filter(|share| *share < COVERED_SHARE_MIN)
                .map(Doubt::ScrapedPartly),
        );
    }
    doubts
}

fn about_the_client(phase: &PhaseSummary) -> Vec<Doubt> {
    let client = &phase.client;
    let tail = |lag: &Distribution| lag.p99.or(lag.max);
    let lag = tail(&client.parse_lag_ms).zip(phase.itl_ms.distribution.p50);
    let lateness = tail(&client.lateness_ms).zip(phase.ttft_ms.p50);
    let matters = |(added, measured): &(f64, f64)| *added > CLIENT_SHARE_MAX * measured;
    [
        client
            .late_share
            .filter(|share| *share > LATE_SHARE_MAX)
            .map(Doubt::Late),
        lag.filter(matters).map(|(lag, gap)| Doubt::SlowParsing(lag, gap)),
        lateness
            .filter(matters)
            .map(|(late, ttft)| Doubt::SlowStart(late, ttft)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn about_tokens(phase: &PhaseSummary) -> Vec<Doubt> {
    let (tokens, cache, ok) = (&phase.tokens, &phase.cache, phase.counts.ok);
    let percentile = [(90, 0.90), (95, 0.95), (99, 0.99)]
        .into_iter()
        .map(|(percent, p)| (percent, values_needed(p)))
        .find(|(_, needed)| phase.ttft_ms.n < *needed);
    let drift = tokens
        .isl_counted_share()
        .filter(|drift| (drift - 1.0).abs() > ISL_DRIFT_MAX);
    let warm = cache
        .reported_share
        .zip(cache.theoretical_share)
        .filter(|(reported, theoretical)| *reported > theoretical + WARM_CACHE_MARGIN);
    [
        percentile.map(|(percent, needed)| Doubt::FewRequests(phase.ttft_ms.n, percent, needed)),
        above_zero(tokens.without_usage, |without| Doubt::NoUsage(without, ok)),
        (cache.reported_requests == 0 && tokens.isl.is_some()).then_some(Doubt::NoCachedTokens),
        phase
            .early_finish
            .share
            .filter(|share| *share > 0.0)
            .map(Doubt::EarlyFinish),
        drift.map(Doubt::IslDrift),
        warm.map(|(reported, theoretical)| Doubt::WarmCache(reported, theoretical)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn about_chunks(phase: &PhaseSummary) -> Vec<Doubt> {
    let itl = &phase.itl_ms;
    let burst = itl.burst_share.filter(|share| *share > BURST_SHARE_MAX);
    let clumped = itl
        .short_share
        .zip(itl.distribution.mean)
        .filter(|(share, mean)| *share > SHORT_SHARE_MAX && *mean >= CLUMPED_MEAN_MS_MIN);
    [
        burst.map(Doubt::Bursts),
        clumped.map(|(share, mean)| Doubt::Clumped(share, mean)),
        phase
            .tokens
            .per_chunk
            .filter(|tokens| *tokens > TOKENS_PER_CHUNK_MAX)
            .map(Doubt::ManyTokensPerChunk),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn above_zero(count: u64, doubt: impl FnOnce(u64) -> Doubt) -> Option<Doubt> {
    (count > 0).then(|| doubt(count))
}
