//! Every metric of our aiperf files, as data: tag, heading of its CSV row, unit, what it is, and for one that each request has, how it
//! comes from the record. Definitions are those of aiperf 0.12.0 (`metrics-and-exports` §1.4–§1.8, §1.11).

mod record;
mod run;

pub use record::RECORD;
pub use run::{DISPATCH, ERROR_ISL, INTER_CHUNK_LATENCY, RUN, SKIPPED_OVERFLOWS, SWEEP};

use super::observed::Observed;
use crate::figures::Quantity;

/// A metric's names and meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its key in JSON.
    pub tag: &'static str,
    /// Its name in the CSV, unit not included.
    pub header: &'static str,
    /// Its unit as it stands in JSON.
    pub unit: &'static str,
    /// What it is, and when it is absent.
    pub formula: &'static str,
}

/// A metric that every answered request has a value of, or none.
#[derive(Clone, Copy, Debug)]
pub struct RecordMetric {
    /// Its names.
    pub metric: Metric,
    /// Has an `adj_` twin in which failures count as infinite.
    pub adjusted: bool,
    /// Its value.
    pub value: fn(&Observed<'_>) -> Option<Quantity>,
}

const fn metric(
    tag: &'static str,
    header: &'static str,
    unit: &'static str,
    formula: &'static str,
) -> Metric {
    Metric {
        tag,
        header,
        unit,
        formula,
    }
}

const MS: &str = "ms";
const TOKENS: &str = "tokens";
const PER_USER: &str = "tokens/sec/user";
const PER_SECOND: &str = "tokens/sec";
const REQUESTS: &str = "requests";
const PERCENT: &str = "%";

/// The entry of `tag` in one of the tables above.
///
/// # Panics
/// When the table has none, which a test would show.
pub(crate) fn named(table: &'static [Metric], tag: &str) -> &'static Metric {
    table
        .iter()
        .find(|metric| metric.tag == tag)
        .expect("tags in code are those of the table")
}

/// Every metric but the `adj_` ones, in the order of the tables.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    RECORD
        .iter()
        .map(|each| &each.metric)
        .chain([&INTER_CHUNK_LATENCY, &ERROR_ISL])
        .chain(RUN)
        .chain(DISPATCH)
        .chain(SWEEP)
}

/// The tables as they stand in `docs/reference/aiperf-artifacts.md`.
pub fn markdown() -> String {
    use std::fmt::Write;
    let mut table = String::from("| tag | unit | meaning |\n|---|---|---|\n");
    for metric in all() {
        writeln!(
            table,
            "| `{}` | {} | {} |",
            metric.tag, metric.unit, metric.formula
        )
        .expect("writing to a string cannot fail");
    }
    table
}

/// aiperf multiplies by this, and the last digit shows it.
pub(crate) const MS_PER_NS: f64 = 1e-6;

pub(crate) fn ms(ns: u64) -> Quantity {
    Quantity::Real(ns as f64 * MS_PER_NS)
}
