//! Goodput by SLO class (`trace-csv` §7), over records; `trace::goodput` counts the same over rows of a trace file.
//!
//! A request is of the class that its row names, or of [`DEFAULT_CLASS`]. Requests of a class without targets are in no
//! figure. Requests that we cancelled are neither: that we went away tells nothing of the server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::share;
use crate::header::Slo;
use crate::request::{Outcome, RequestRecord};
use crate::timeline::Timeline;

/// Class of a request that names none (`trace-csv` §7).
pub const DEFAULT_CLASS: &str = "default";

/// Nanoseconds in a millisecond.
const MS: f64 = 1e6;

/// Goodput of one class of latency targets, or of all that have targets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Goodput {
    /// Requests that were answered and met every target of their class.
    pub slo_met: u64,
    /// Requests of the class: ok + failed + overflow, without those that we cancelled.
    #[serde(default)]
    pub counted: u64,
    /// `slo_met` ÷ `counted`: the attainment.
    pub share: Option<f64>,
    /// `slo_met` per second, over the span window.
    pub goodput_rps: Option<f64>,
    /// What each target came to by itself, by its name: `ttft_ms`, `itl_ms`, `e2e_ms`.
    #[serde(default)]
    pub dimensions: BTreeMap<String, DimensionMet>,
}

/// One target by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DimensionMet {
    /// Answered requests at or below it.
    pub met: u64,
    /// Answered requests whose value is known. Fewer than two output tokens have no gap to bound: known, and met.
    pub measured: u64,
}

/// Requests by class while they are counted.
#[derive(Clone, Debug, Default)]
pub(super) struct GoodputTally {
    classes: BTreeMap<String, ClassTally>,
}

#[derive(Clone, Debug, Default)]
struct ClassTally {
    slo: Slo,
    met: u64,
    counted: u64,
    dimensions: BTreeMap<&'static str, DimensionMet>,
}

impl GoodputTally {
    /// With these targets.
    pub(super) fn new(slo: &BTreeMap<String, Slo>) -> Self {
        let class = |slo: &Slo| ClassTally {
            slo: *slo,
            dimensions: targets(slo)
                .map(|(name, _)| (name, DimensionMet::default()))
                .collect(),
            ..ClassTally::default()
        };
        Self {
            classes: slo.iter().map(|(name, slo)| (name.clone(), class(slo))).collect(),
        }
    }

    /// Counts a request, whatever became of it.
    pub(super) fn push(&mut self, record: &RequestRecord, intervals: &Timeline) {
        let named = record.slo_class.as_deref().filter(|class| !class.is_empty());
        let Some(class) = self.classes.get_mut(named.unwrap_or(DEFAULT_CLASS)) else {
            return;
        };
        match record.outcome {
            Outcome::Cancelled => {}
            Outcome::Failed | Outcome::Overflow => class.counted += 1,
            Outcome::Ok => {
                class.counted += 1;
                class.met += u64::from(class.meets(record, intervals));
            }
        }
    }

    /// Each class, and all of them together where there is one; rates over `seconds`.
    pub(super) fn finish(self, seconds: Option<f64>) -> (BTreeMap<String, Goodput>, Option<Goodput>) {
        let mut total = ClassTally::default();
        for class in self.classes.values() {
            total.met += class.met;
            total.counted += class.counted;
            for (name, dimension) in &class.dimensions {
                let sum = total.dimensions.entry(name).or_default();
                sum.met += dimension.met;
                sum.measured += dimension.measured;
            }
        }
        let total = (!self.classes.is_empty()).then(|| total.goodput(seconds));
        let classes = self.classes.into_iter();
        let classes = classes.map(|(name, class)| (name, class.goodput(seconds)));
        (classes.collect(), total)
    }
}

impl ClassTally {
    /// Whether an answered request met every target. A value that is not known meets none; each known one is counted.
    fn meets(&mut self, record: &RequestRecord, intervals: &Timeline) -> bool {
        let (ttft_ns, e2e_ns) = (intervals.ttft_ns, intervals.e2e_ns);
        let valid = ttft_ns
            .zip(e2e_ns)
            .is_some_and(|(ttft, e2e)| ttft > 0 && e2e >= ttft);
        if !valid {
            return false;
        }
        let no_gap = record.usage.completion_tokens.is_some_and(|osl| osl < 2);
        let mut every = true;
        for (name, target_ms) in targets(&self.slo) {
            let value_ns = match name {
                "ttft_ms" => ttft_ns.map(|ns| ns as f64),
                "itl_ms" if no_gap => Some(0.0),
                "itl_ms" => intervals.tpot_ns,
                _ => e2e_ns.map(|ns| ns as f64),
            };
            // Divided, since a whole number of nanoseconds then gives the very number that the target is written as.
            let met = value_ns.is_some_and(|ns| ns / MS <= target_ms);
            let dimension = self.dimensions.entry(name).or_default();
            dimension.measured += u64::from(value_ns.is_some());
            dimension.met += u64::from(met);
            every &= met;
        }
        every
    }

    fn goodput(self, seconds: Option<f64>) -> Goodput {
        let dimensions = self.dimensions.into_iter();
        Goodput {
            slo_met: self.met,
            counted: self.counted,
            share: share(self.met, self.counted),
            goodput_rps: seconds.map(|seconds| self.met as f64 / seconds),
            dimensions: dimensions.map(|(name, met)| (name.to_owned(), met)).collect(),
        }
    }
}

/// The targets that bound something, by name.
fn targets(slo: &Slo) -> impl Iterator<Item = (&'static str, f64)> + use<> {
    [
        ("ttft_ms", slo.ttft_ms),
        ("itl_ms", slo.itl_ms),
        ("e2e_ms", slo.e2e_ms),
    ]
    .into_iter()
    .filter(|(_, target_ms)| *target_ms > 0.0)
}
