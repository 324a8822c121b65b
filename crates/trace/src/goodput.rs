//! Goodput per SLO class (`trace-csv` §7).

use std::collections::BTreeMap;

use crate::csv::Row;
use crate::header::Slo;

/// A class without a name.
const DEFAULT_CLASS: &str = "default";

/// What one class came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attained {
    /// Rows that were answered, failed or timed out.
    pub count: u64,
    /// Answered within every target of their class.
    pub good: u64,
}

impl Attained {
    /// `good` ÷ `count`; `None` without a row.
    pub fn share(self) -> Option<f64> {
        (self.count > 0).then(|| self.good as f64 / self.count as f64)
    }
}

/// Counts rows against the targets of their classes. Rows of a class without targets are in no figure.
#[derive(Clone, Debug)]
pub struct Goodput {
    classes: BTreeMap<String, (Slo, Attained)>,
}

impl Goodput {
    /// With these targets.
    pub fn new(targets: impl IntoIterator<Item = (String, Slo)>) -> Self {
        let classes = targets.into_iter();
        Self {
            classes: classes
                .map(|(class, slo)| (class, (slo, Attained::default())))
                .collect(),
        }
    }

    /// Counts a row.
    pub fn row(&mut self, row: &Row<'_>) {
        let class = if row.slo_class.is_empty() {
            DEFAULT_CLASS
        } else {
            row.slo_class
        };
        let Some((slo, attained)) = self.classes.get_mut(class) else {
            return;
        };
        if matches!(row.status, "ok" | "error" | "timeout") {
            attained.count += 1;
            attained.good += u64::from(is_good(row, *slo));
        }
    }

    /// Each class and what it came to.
    pub fn classes(&self) -> impl Iterator<Item = (&str, Attained)> {
        self.classes
            .iter()
            .map(|(class, (_, attained))| (class.as_str(), *attained))
    }

    /// All classes together.
    pub fn total(&self) -> Attained {
        self.classes()
            .fold(Attained::default(), |sum, (_, attained)| Attained {
                count: sum.count + attained.count,
                good: sum.good + attained.good,
            })
    }
}

/// Equal to a target passes. With fewer than two output tokens there is no gap to bound, so that target is met; an answer
/// that was not streamed has gaps nobody saw, so it is not.
fn is_good(row: &Row<'_>, slo: Slo) -> bool {
    if !row.has_latency() {
        return false;
    }
    let within = |target: f64, us: Option<f64>| target <= 0.0 || us.is_some_and(|us| us / 1e3 <= target);
    let itl = if row.output_tokens < 2 {
        true
    } else {
        within(slo.itl_ms, row.mean_itl_us().filter(|_| row.streaming))
    };
    itl && within(slo.ttft_ms, row.ttft_us().map(|us| us as f64))
        && within(slo.e2e_ms, row.e2e_us().map(|us| us as f64))
}
