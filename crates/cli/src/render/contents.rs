//! The contents of a trace or corpus, as text and as JSON.

use record::stats::quantile::quantile;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::path::Path;
use trace::survey::Column;

/// Quantiles that are shown.
const QUANTILES: [(&str, f64); 9] = [
    ("min", 0.0),
    ("p1", 0.01),
    ("p5", 0.05),
    ("p25", 0.25),
    ("p50", 0.5),
    ("p75", 0.75),
    ("p95", 0.95),
    ("p99", 0.99),
    ("max", 1.0),
];

/// What was found.
pub(crate) struct Contents {
    /// The form's name.
    pub(crate) form: &'static str,
    /// The file.
    pub(crate) file: String,
    /// Name and value.
    pub(crate) facts: Vec<(String, String)>,
    /// Name and number.
    pub(crate) counts: Vec<(String, u64)>,
    /// Values whose quantiles are shown.
    pub(crate) columns: Vec<Column>,
    /// Errors found.
    pub(crate) errors: usize,
    /// Warnings found.
    pub(crate) warnings: usize,
    /// Those that are listed, each with its severity.
    pub(crate) problems: Vec<String>,
}

impl Contents {
    pub(crate) fn new(form: &'static str, file: &Path) -> Self {
        Self {
            form,
            file: file.display().to_string(),
            facts: Vec::new(),
            counts: Vec::new(),
            columns: Vec::new(),
            errors: 0,
            warnings: 0,
            problems: Vec::new(),
        }
    }
}

/// Quantiles and mean of a column.
fn figures(column: &Column) -> Vec<(&'static str, f64)> {
    let mut sorted = column.values.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let mean = sorted.iter().sum::<f64>() / sorted.len().max(1) as f64;
    QUANTILES
        .iter()
        .filter_map(|(name, p)| Some((*name, quantile(&sorted, *p)?)))
        .chain([("mean", mean)])
        .collect()
}

pub(crate) fn json(found: &Contents) -> Value {
    let columns = found.columns.iter().map(|column| {
        let mut figures: Map<String, Value> = figures(column)
            .into_iter()
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect();
        figures.insert("n".to_owned(), json!(column.values.len()));
        figures.insert("missing".to_owned(), json!(column.missing));
        (column.name.to_owned(), Value::Object(figures))
    });
    json!({
        "form": found.form,
        "file": found.file,
        "facts": found.facts.iter().cloned().map(|(name, value)| (name, json!(value))).collect::<Map<_, _>>(),
        "counts": found.counts.iter().cloned().map(|(name, count)| (name, json!(count))).collect::<Map<_, _>>(),
        "quantities": columns.collect::<Map<_, _>>(),
        "errors": found.errors,
        "warnings": found.warnings,
        "problems": found.problems,
        "ok": found.errors == 0,
    })
}

pub(crate) fn text(found: &Contents) -> String {
    let mut out = format!("{} ({})\n", found.file, found.form);
    let width = found.facts.iter().map(|(name, _)| name.len());
    let width = width
        .chain(found.counts.iter().map(|(name, _)| name.len()))
        .max()
        .unwrap_or(0);
    let mut line =
        |line: std::fmt::Arguments<'_>| writeln!(out, "{line}").expect("a string takes everything");
    for (name, value) in &found.facts {
        line(format_args!("  {name:width$}  {value}"));
    }
    for (name, count) in &found.counts {
        line(format_args!("  {name:width$}  {count}"));
    }
    if !found.columns.is_empty() {
        let width = found
            .columns
            .iter()
            .map(|column| column.name.len())
            .max()
            .unwrap_or(0);
        let names = QUANTILES
            .iter()
            .map(|(name, _)| *name)
            .chain(["mean", "n", "missing"]);
        let head: String = names.map(|name| format!("{name:>12}")).collect();
        line(format_args!("\n  {:width$}{head}", ""));
        for column in &found.columns {
            let values: String = figures(column)
                .iter()
                .map(|(_, value)| format!("{:>12}", short(*value)))
                .collect();
            let (n, missing) = (column.values.len(), column.missing);
            line(format_args!(
                "  {:width$}{values}{n:>12}{missing:>12}",
                column.name
            ));
        }
    }
    line(format_args!(
        "\n  {} errors, {} warnings",
        found.errors, found.warnings
    ));
    out
}

/// Four digits or more.
fn short(value: f64) -> String {
    if value.abs() >= 1000.0 || value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.3}")
    }
}
