//! `profile_export_aiperf.csv`: the metrics of the JSON, two decimals (`metrics-and-exports` §3.4). `InferenceX` reads it by row names.

use std::io::{self, Write};

use super::catalogue::{Metric, SKIPPED_OVERFLOWS};
use crate::figures::{Figures, Quantity};

const COLUMNS: &str = "Metric,avg,min,max,sum,p1,p5,p10,p25,p50,p75,p90,p95,p99,std";

/// Writes the two sections: metrics that have a percentile, and scalars.
pub(crate) fn write(out: &mut impl Write, metrics: &[(String, &'static Metric, Figures)]) -> io::Result<()> {
    let mut sorted: Vec<_> = metrics
        .iter()
        .filter(|(tag, ..)| tag != SKIPPED_OVERFLOWS.tag)
        .collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    let (distributions, scalars): (Vec<_>, Vec<_>) = sorted
        .into_iter()
        .partition(|(.., figures)| figures.percentiles().iter().any(Option::is_some));
    writeln!(out, "{COLUMNS}")?;
    for (tag, metric, figures) in distributions {
        write!(out, "{}", name(tag, metric))?;
        let sum = figures.sum.map(Quantity::value);
        let head = [figures.avg, figures.min, figures.max, sum];
        for figure in head.into_iter().chain(figures.percentiles()).chain([figures.std]) {
            match figure {
                Some(figure) => write!(out, ",{figure:.2}")?,
                None => write!(out, ",")?,
            }
        }
        writeln!(out)?;
    }
    writeln!(out, "\nMetric,Value")?;
    for (tag, metric, figures) in scalars {
        if let Some(value) = figures.avg {
            writeln!(out, "{},{value:.2}", name(tag, metric))?;
        }
    }
    Ok(())
}

/// Heading and unit; a count has no unit. The name of an `adj_` row is ours: it was not seen.
fn name(tag: &str, metric: &Metric) -> String {
    let prefix = if tag == metric.tag { "" } else { "Adjusted " };
    match metric.unit {
        "count" | "requests" => format!("{prefix}{}", metric.header),
        unit => format!("{prefix}{} ({unit})", metric.header),
    }
}
