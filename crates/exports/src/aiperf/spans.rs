//! What was in flight when: the sweep-line metrics of a phase (`metrics-and-exports` §1.8).
//!
//! Kept per request: its start, first content and end, its tokens, and where its gaps stand among the phase's. When there are too many
//! gaps to keep, output tokens are spread evenly from first content to end, as aiperf 0.12.0 does when it keeps no chunk times.

use super::catalogue::{Metric, SWEEP, named};
use super::observed::Observed;
use crate::figures::Figures;
use crate::gaps::GapSample;
use crate::sweep::{Steps, Weighted, together};

#[derive(Clone, Debug)]
struct Span {
    start_ns: u64,
    first_ns: Option<u64>,
    end_ns: u64,
    isl: f64,
    osl: f64,
    gaps: std::ops::Range<usize>,
}

/// The requests of a phase.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spans {
    requests: Vec<Span>,
    /// All gaps, request after request.
    gaps: GapSample,
}

impl Spans {
    /// Takes an answered request, or a failed one: that has been open too, and no more is said of it.
    pub(crate) fn push(&mut self, seen: &Observed<'_>, answered: bool) {
        let from = self.gaps.exact().len();
        if answered {
            seen.gaps().for_each(|ns| self.gaps.push(ns));
        }
        self.requests.push(Span {
            start_ns: seen.record.stamps.start_ns,
            first_ns: seen.record.stamps.first_content_ns.filter(|_| answered),
            end_ns: seen.end_ns(),
            isl: seen.isl().filter(|_| answered).unwrap_or(0) as f64,
            osl: seen.osl().filter(|_| answered).unwrap_or(0) as f64,
            gaps: from..self.gaps.exact().len(),
        });
    }

    /// The gaps, when nothing else is wanted any more.
    pub(crate) fn into_gaps(self) -> GapSample {
        self.gaps
    }

    /// The sweep-line metrics over `window`, in ns.
    pub(crate) fn figures(&self, window: (u64, u64)) -> Vec<(&'static Metric, Figures)> {
        if self.requests.is_empty() {
            return Vec::new();
        }
        let window = (window.0 as f64, window.1 as f64);
        let mut found = Vec::new();
        let open = self.steps(|span, jump| pulse(jump, span.start_ns, span.end_ns, 1.0));
        let prefill = self.steps(|span, jump| {
            if let Some(first) = span.first_ns {
                pulse(jump, span.start_ns, first, 1.0);
            }
        });
        let decode = self.steps(|span, jump| {
            if let Some(first) = span.first_ns {
                pulse(jump, first, span.end_ns, 1.0);
            }
        });
        levels(&mut found, "effective_concurrency", &open, window);
        levels(&mut found, "effective_prefill_concurrency", &prefill, window);
        levels(&mut found, "effective_decode_concurrency", &decode, window);

        let prefill_rate = self.steps(Span::prefill_rate);
        rates(&mut found, "prefill", &prefill_rate, &prefill, window);
        let decode_rate = self.steps(|span, jump| self.decode_rate(span, jump));
        rates(&mut found, "decode", &decode_rate, &decode, window);
        drop(decode_rate);
        let total_rate = self.steps(|span, jump| {
            span.prefill_rate(jump);
            span.even_decode_rate(jump);
        });
        totals(&mut found, &total_rate, &open, window);
        let tokens = self.steps(|span, jump| self.tokens_in_flight(span, jump));
        levels(&mut found, "tokens_in_flight", &tokens, window);
        found
    }

    fn steps(&self, mut jumps_of: impl FnMut(&Span, &mut Vec<(f64, f64)>)) -> Steps {
        let mut jumps = Vec::new();
        for span in &self.requests {
            jumps_of(span, &mut jumps);
        }
        Steps::of(jumps)
    }

    /// The request's gaps, each with its end.
    fn gap_ends<'a>(&'a self, span: &'a Span, first_ns: u64) -> impl Iterator<Item = (u64, u64)> + 'a {
        let mut at = first_ns;
        let gaps = self.gaps.exact().get(span.gaps.clone()).unwrap_or_default();
        gaps.iter().map(move |gap| {
            at = at.saturating_add(*gap);
            (*gap, at)
        })
    }

    /// Tokens after the first, shared evenly by the gaps that have a length.
    fn decode_rate(&self, span: &Span, jump: &mut Vec<(f64, f64)>) {
        let Some(first) = span.first_ns else { return };
        let long = |(gap, _): &(u64, u64)| *gap > 0;
        let n = self.gap_ends(span, first).filter(long).count();
        if n == 0 {
            return span.even_decode_rate(jump);
        }
        let tokens = (span.osl - 1.0).max(0.0) / n as f64;
        for (gap, end) in self.gap_ends(span, first).filter(long) {
            let (gap, end) = (gap as f64, end as f64);
            let rate = tokens / (gap * 1e-9);
            jump.extend([(end - gap, rate), (end, -rate)]);
        }
    }

    /// The prompt while the request is open, one token at the first content, the others shared evenly by the gaps.
    fn tokens_in_flight(&self, span: &Span, jump: &mut Vec<(f64, f64)>) {
        let Some(first) = span.first_ns else { return };
        let end = span.end_ns as f64;
        jump.push((span.start_ns as f64, span.isl));
        let n = span.gaps.len();
        let at_first = if n == 0 { span.osl } else { span.osl.min(1.0) };
        jump.push((first as f64, at_first));
        let tokens = (span.osl - at_first) / n.max(1) as f64;
        jump.extend(
            self.gap_ends(span, first)
                .map(|(_, at)| ((at as f64).min(end), tokens)),
        );
        jump.push((end, -span.isl - span.osl));
    }
}

impl Span {
    fn prefill_rate(&self, jump: &mut Vec<(f64, f64)>) {
        if let Some(first) = self.first_ns {
            spread(jump, self.start_ns, first, self.isl);
        }
    }

    fn even_decode_rate(&self, jump: &mut Vec<(f64, f64)>) {
        if let Some(first) = self.first_ns {
            spread(jump, first, self.end_ns, (self.osl - 1.0).max(0.0));
        }
    }
}

/// `height` from `from` to `to`.
fn pulse(jump: &mut Vec<(f64, f64)>, from: u64, to: u64, height: f64) {
    if to > from {
        jump.extend([(from as f64, height), (to as f64, -height)]);
    }
}

/// `tokens` a second, evenly from `from` to `to`. The length is that between the two as doubles, which for small stamps is exact.
fn spread(jump: &mut Vec<(f64, f64)>, from: u64, to: u64, tokens: f64) {
    let ns = to as f64 - from as f64;
    if ns > 0.0 && tokens > 0.0 {
        pulse(jump, from, to, tokens / (ns * 1e-9));
    }
}

type Found = Vec<(&'static Metric, Figures)>;

fn add(found: &mut Found, tag: &str, weighted: Weighted) {
    let metric = named(SWEEP, tag);
    found.extend(weighted.figures(metric.unit).map(|figures| (metric, figures)));
}

fn levels(found: &mut Found, tag: &str, steps: &Steps, window: (f64, f64)) {
    let mut weighted = Weighted::default();
    together(steps, &Steps::default(), window, |time, value, _| {
        weighted.push(value, time);
    });
    add(found, tag, weighted);
}

/// A rate, and the rate for each of the requests that share it; over all time, and while there is one.
fn rates(found: &mut Found, what: &str, rate: &Steps, users: &Steps, window: (f64, f64)) {
    for (scope, active) in [("effective", false), ("active", true)] {
        let (mut whole, mut per_user) = (Weighted::default(), Weighted::default());
        together(rate, users, window, |time, rate, users| {
            if users > 0.0 || !active {
                whole.push(rate, time);
                per_user.push(if users > 0.0 { rate / users } else { 0.0 }, time);
            }
        });
        add(found, &format!("{scope}_{what}_throughput"), whole);
        add(found, &format!("{scope}_{what}_throughput_per_user"), per_user);
    }
}

fn totals(found: &mut Found, rate: &Steps, open: &Steps, window: (f64, f64)) {
    let (mut all, mut active) = (Weighted::default(), Weighted::default());
    together(rate, open, window, |time, rate, open| {
        all.push(rate, time);
        if open > 0.0 {
            active.push(rate, time);
        }
    });
    add(found, "effective_total_throughput", all);
    add(found, "active_total_throughput", active);
}
