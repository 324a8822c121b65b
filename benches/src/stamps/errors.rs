//! Stamps of the client beside those of the server, request by request.

use super::{STEP_NS, STREAMS};
use crate::control::quantile;
use crate::table::Line;
use anyhow::Context;
use record::request::RequestRecord;
use sim::Observation;
use std::collections::HashMap;

/// What the client may add.
const P50_US_MAX: f64 = 50.0;
const P99_US_MAX: f64 = 1000.0;

/// Nanoseconds.
#[derive(Default)]
pub(super) struct Errors {
    ttft: Vec<u64>,
    gap: Vec<u64>,
    /// Our TTFT less the server's: also what the request waited until the server read it.
    ttft_difference: Vec<u64>,
    /// From the server's stamp of a token to ours.
    way_back: Vec<u64>,
    parse: Vec<u64>,
    server_first: Vec<u64>,
    server_gap: Vec<u64>,
}

impl Errors {
    /// Of the requests in the middle, with what the server saw and by how much its clock is ahead.
    pub(super) fn of(
        records: &[RequestRecord],
        seen: &HashMap<String, (Observation, i64)>,
    ) -> anyhow::Result<Self> {
        let mut records: Vec<_> = records.iter().collect();
        records.sort_by_key(|record| record.stamps.start_ns);
        anyhow::ensure!(records.len() > 2 * STREAMS, "too few requests");
        let mut errors = Self::default();
        for record in &records[STREAMS..records.len() - STREAMS] {
            let (seen, ahead_ns) = seen
                .get(&record.request_id)
                .context("the server did not see it")?;
            errors.add(record, seen, *ahead_ns)?;
        }
        Ok(errors)
    }

    fn add(&mut self, record: &RequestRecord, seen: &Observation, ahead_ns: i64) -> anyhow::Result<()> {
        let tokens: Vec<u64> = seen
            .chunks
            .iter()
            .flat_map(|(at_ns, tokens)| std::iter::repeat_n(*at_ns, *tokens as usize))
            .collect();
        let contents: Vec<u64> = record.chunks.iter().map(|chunk| chunk.at_ns).collect();
        anyhow::ensure!(
            !tokens.is_empty() && tokens.len() == contents.len(),
            "{} tokens sent, {} read: {:?}",
            tokens.len(),
            contents.len(),
            record.error
        );
        let here_ns = |at_ns: u64| (at_ns.cast_signed() - ahead_ns).max(0).cast_unsigned();
        let ways = contents.iter().zip(&tokens);
        let back: Vec<u64> = ways
            .map(|(ours, theirs)| ours.saturating_sub(here_ns(*theirs)))
            .collect();
        let stamps = &record.stamps;
        let written_ns = stamps.body_written_ns.context("the body was not written")?;
        self.ttft.push(written_ns - stamps.start_ns + back[0]);
        self.way_back.extend(back);
        let difference_ns = (contents[0] - stamps.start_ns).abs_diff(tokens[0] - seen.arrived_ns);
        self.ttft_difference.push(difference_ns);
        for (ours, theirs) in contents.windows(2).zip(tokens.windows(2)) {
            let gap_ns = theirs[1] - theirs[0];
            self.gap.push((ours[1] - ours[0]).abs_diff(gap_ns));
            self.server_gap.push(gap_ns.abs_diff(STEP_NS));
        }
        let planned_ns = seen.planned_first_token_ns.unwrap_or(tokens[0]);
        self.server_first.push(tokens[0].saturating_sub(planned_ns));
        self.parse.push(record.parse_lag_max_ns);
        Ok(())
    }

    pub(super) fn lines(&self, what: &str) -> Vec<Line> {
        let both = |name: &str, values: &[u64], most: Option<[f64; 2]>| {
            [("p50", 0.5), ("p99", 0.99)]
                .into_iter()
                .zip(most.map_or([None; 2], |most| most.map(Some)))
                .map(|((quantile, share), most)| Line {
                    at_most: most,
                    ..in_us(&format!("{name} {quantile}"), what, values, share)
                })
                .collect::<Vec<_>>()
        };
        let budget = Some([P50_US_MAX, P99_US_MAX]);
        [
            both("added to TTFT", &self.ttft, budget),
            both("error of a gap", &self.gap, budget),
            both("our TTFT less the server's", &self.ttft_difference, None),
            both("the server's stamp of a token to ours", &self.way_back, None),
            both("a request's largest parse lag", &self.parse, None),
            both(
                "the server's first token behind its plan",
                &self.server_first,
                None,
            ),
            both("the server's gaps off its step", &self.server_gap, None),
        ]
        .concat()
    }
}

/// A quantile of nanoseconds.
pub(super) fn in_us(name: &str, what: &str, values: &[u64], share: f64) -> Line {
    Line::new(format!("{name}; {what}"), quantile(values, share) / 1e3, "µs")
}
