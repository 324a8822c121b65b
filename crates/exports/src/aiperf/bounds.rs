//! What makes a request good: bounds on its metrics (`metrics-and-exports` §1.2, goodput).

use record::header::RunHeader;

use super::catalogue::{RECORD, RecordMetric};
use super::observed::Observed;
use crate::ExportError;

/// A bound on one metric, in its unit.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    metric: &'static RecordMetric,
    value: f64,
}

impl Bound {
    /// `tag:value`, as aiperf's `--goodput` takes it; the tag is that of a metric that each request has.
    ///
    /// # Errors
    /// When there is no such metric, or the value is no number above 0.
    pub fn parse(text: &str) -> Result<Self, ExportError> {
        let found = text.split_once(':').and_then(|(tag, value)| {
            let value = value.trim().parse().ok()?;
            Self::on(tag.trim(), value)
        });
        found.ok_or_else(|| ExportError::Bound {
            given: text.to_owned(),
        })
    }

    fn on(tag: &str, value: f64) -> Option<Self> {
        let metric = RECORD
            .iter()
            .find(|each| each.metric.tag == tag && tag != "good_request_count")?;
        (value.is_finite() && value > 0.0).then_some(Self { metric, value })
    }

    /// Its tag and value.
    pub(crate) fn stated(&self) -> (&'static str, f64) {
        (self.metric.metric.tag, self.value)
    }

    /// At most the bound; at least it, where more is better. A value that is missing meets none.
    fn is_met(&self, seen: &Observed<'_>) -> bool {
        let more_is_better = self.metric.metric.unit.contains("/sec");
        (self.metric.value)(seen).is_some_and(|value| {
            if more_is_better {
                value.value() >= self.value
            } else {
                value.value() <= self.value
            }
        })
    }
}

/// Whether every bound is met; `None` without a bound.
pub(crate) fn all_met(bounds: &[Bound], seen: &Observed<'_>) -> Option<bool> {
    (!bounds.is_empty()).then(|| bounds.iter().all(|bound| bound.is_met(seen)))
}

/// The bounds of the run's SLO class. aiperf has one set of bounds; where they do not hold for every request there is none, and
/// no goodput.
pub(crate) fn of_classes(header: &RunHeader) -> Vec<Bound> {
    let Some(slo) = header.only_slo() else {
        return Vec::new();
    };
    [
        ("time_to_first_token", slo.ttft_ms),
        ("inter_token_latency", slo.itl_ms),
        ("request_latency", slo.e2e_ms),
    ]
    .into_iter()
    .filter_map(|(tag, ms)| Bound::on(tag, ms))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_as_typed() {
        let bound = Bound::parse("request_latency:250").unwrap();
        assert_eq!(bound.stated(), ("request_latency", 250.0));
        for wrong in [
            "request_latency",
            "request_latency:x",
            "request_latency:0",
            "no_such:1",
            ":",
        ] {
            assert!(Bound::parse(wrong).is_err(), "{wrong}");
        }
    }
}
