//! One request as aiperf's definitions see it.
//!
//! Their t0 is taken just before the HTTP call, with the body ready and connecting still to come (`metrics-and-exports` §1.2). Of our
//! stamps that is `start_ns`, "when we began to carry it out", and not the first byte written that our own TTFT counts from. The time a
//! request was due is their `credit_issued_ns`, the end of its stream their `request_end_ns`.

use record::folder::Entry;
use record::request::{FailureKind, Outcome, RequestRecord};
use record::timeline;

use super::bounds::{self, Bound};

/// A record with what its run adds to it.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The record.
    pub record: &'a RequestRecord,
    /// Its chunk stamps are all there.
    pub chunks_known: bool,
    /// The server is named by its address, so nothing is looked up.
    pub no_lookup: bool,
    /// What makes it good.
    pub bounds: &'a [Bound],
}

impl<'a> Observed<'a> {
    pub(crate) fn of(entry: &'a Entry, bounds: &'a [Bound], no_lookup: bool) -> Self {
        Self {
            record: &entry.record,
            chunks_known: entry.chunks_known,
            no_lookup,
            bounds,
        }
    }

    fn since_start(&self, stamp: Option<u64>) -> Option<u64> {
        stamp.map(|at| at.saturating_sub(self.record.stamps.start_ns))
    }

    /// First content − t0.
    pub fn ttft_ns(&self) -> Option<u64> {
        self.since_start(self.record.stamps.first_content_ns)
    }

    /// First content that is not reasoning − t0.
    pub fn ttfo_ns(&self) -> Option<u64> {
        self.since_start(self.record.stamps.first_output_ns)
    }

    /// Last content − t0.
    pub fn latency_ns(&self) -> Option<u64> {
        self.since_start(self.record.stamps.last_content_ns)
    }

    /// Last content − first content.
    pub fn decode_ns(&self) -> Option<u64> {
        Some(self.latency_ns()?.saturating_sub(self.ttft_ns()?))
    }

    /// Mean time between tokens.
    pub fn itl_ns(&self) -> Option<f64> {
        let osl = self.osl().filter(|osl| *osl >= 2)?;
        Some(self.decode_ns()? as f64 / (osl - 1) as f64)
    }

    /// Prompt tokens.
    pub fn isl(&self) -> Option<u64> {
        self.record.usage.prompt_tokens
    }

    /// Output tokens, reasoning included.
    pub fn osl(&self) -> Option<u64> {
        self.record.usage.completion_tokens
    }

    /// Output tokens without reasoning; `None` for 0.
    pub fn output_tokens(&self) -> Option<u64> {
        let reasoning = self.record.usage.reasoning_tokens.unwrap_or(0);
        self.osl()
            .map(|osl| osl.saturating_sub(reasoning))
            .filter(|tokens| *tokens > 0)
    }

    /// Gaps between content chunks; none when the stamps are lost.
    pub fn gaps(&self) -> impl Iterator<Item = u64> + use<'a> {
        self.record
            .chunks
            .windows(2)
            .map(|pair| pair[1].at_ns.saturating_sub(pair[0].at_ns))
    }

    /// Time to the connection; 0 for one that was open.
    pub fn connect_ns(&self) -> u64 {
        self.since_start(self.record.stamps.connected_ns).unwrap_or(0)
    }

    /// First byte written to last byte read.
    pub fn exchange_ns(&self) -> Option<u64> {
        let stamps = &self.record.stamps;
        Some(stamps.last_byte_ns?.saturating_sub(stamps.headers_written_ns?))
    }

    /// Their `request_end_ns`: the last event; for an HTTP error t0, and for another failure what came last (§2.4).
    pub fn end_ns(&self) -> u64 {
        let stamps = &self.record.stamps;
        let end = match (self.record.outcome, self.record.failure_kind) {
            (Outcome::Ok, _) => stamps.stream_end_ns,
            (_, Some(FailureKind::Refused)) => Some(stamps.start_ns),
            (Outcome::Overflow, _) if self.is_refused() => Some(stamps.start_ns),
            _ => stamps.last_byte_ns.or(stamps.stream_end_ns),
        };
        end.unwrap_or_else(|| timeline::last_stamp_ns(stamps))
    }

    /// The server answered with an HTTP status other than 2xx.
    pub fn is_refused(&self) -> bool {
        self.record
            .http_status
            .is_some_and(|status| !(200..300).contains(&status))
    }

    /// Every bound is met; `None` without one.
    pub fn is_good(&self) -> Option<bool> {
        bounds::all_met(self.bounds, self)
    }

    /// Output that is not what was asked for: off by more than 5 %, or by more than 50 tokens.
    pub fn is_mismatch(&self) -> bool {
        let asked = self.record.osl_planned;
        let limit = (asked as f64 * 0.05).min(50.0);
        self.osl()
            .is_some_and(|osl| asked > 0 && osl.abs_diff(asked) as f64 > limit)
    }
}
