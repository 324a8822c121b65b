//! Figures as a Markdown table, so that what is printed can stand in a document.

use std::fmt::Write;

/// One figure.
#[derive(Clone)]
pub(crate) struct Line {
    /// What it is of, and against what.
    pub(crate) what: String,
    /// The figure.
    pub(crate) value: f64,
    /// Its unit; `×` for a ratio.
    pub(crate) unit: &'static str,
    /// The most that the design allows, if it allows for it.
    pub(crate) at_most: Option<f64>,
}

impl Line {
    pub(crate) fn new(what: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self {
            what: what.into(),
            value,
            unit,
            at_most: None,
        }
    }

    pub(crate) fn at_most(mut self, budget: f64) -> Self {
        self.at_most = Some(budget);
        self
    }
}

/// The table of one part.
pub(crate) fn render(part: impl std::fmt::Debug, lines: &[Line]) -> String {
    let mut text = format!("\n| {part:?} | figure | budget | |\n|---|---|---|---|\n");
    for line in lines {
        let (budget, held) = match line.at_most {
            None => (String::new(), ""),
            Some(most) => (
                format!("≤ {} {}", plain(most), line.unit),
                if line.value <= most { "held" } else { "MISSED" },
            ),
        };
        let value = plain(line.value);
        writeln!(
            text,
            "| {} | {value} {} | {budget} | {held} |",
            line.what, line.unit
        )
        .expect("a string takes everything");
    }
    text
}

/// Three digits that count.
fn plain(value: f64) -> String {
    let digits = match value.abs() {
        magnitude if magnitude >= 100.0 => 0,
        magnitude if magnitude >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}
