//! What a trace holds: counts, and the values whose distribution a person wants to see.
//!
//! Never computes a quantile; whoever shows the values does. Without [`Columns::Kept`] memory does not grow with the rows.

use std::collections::BTreeMap;

use crate::csv::Row;

/// All values of one quantity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    /// What it is, with its unit.
    pub name: &'static str,
    /// The values, in no order.
    pub values: Vec<f64>,
    /// Requests for which there is none.
    pub missing: u64,
}

impl Column {
    /// Of that name, still empty.
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }

    /// Adds a value, or that there is none.
    pub fn push(&mut self, value: Option<f64>) {
        match value {
            Some(value) => self.values.push(value),
            None => self.missing += 1,
        }
    }
}

/// Whether values are kept, eight bytes each, or only counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Columns {
    /// For quantiles.
    Kept,
    /// Counts alone.
    Left,
}

/// Most different words that are listed of one kind; more are counted together.
const WORDS_MAX: usize = 50;

/// Counts of the rows that went by.
#[derive(Clone, Debug)]
pub struct Tally {
    kept: Columns,
    /// Rows.
    pub rows: u64,
    /// Rows without a session.
    pub single: u64,
    /// Rows in a prefix group.
    pub grouped: u64,
    /// Rows without prompt tokens.
    pub empty: u64,
    /// Prompt tokens, shared prefixes included.
    pub prompt_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Rows of each status.
    pub statuses: BTreeMap<String, u64>,
    /// Rows of each model.
    pub models: BTreeMap<String, u64>,
    /// Rows of each SLO class.
    pub classes: BTreeMap<String, u64>,
    /// First and last arrival in µs.
    pub arrivals_us: Option<(i64, i64)>,
    columns: [Column; 6],
}

impl Tally {
    /// Nothing yet.
    pub fn new(kept: Columns) -> Self {
        Self {
            kept,
            rows: 0,
            single: 0,
            grouped: 0,
            empty: 0,
            prompt_tokens: 0,
            output_tokens: 0,
            statuses: BTreeMap::new(),
            models: BTreeMap::new(),
            classes: BTreeMap::new(),
            arrivals_us: None,
            columns: [
                "prompt (tokens)",
                "output (tokens)",
                "think time of later rounds (s)",
                "TTFT (ms)",
                "E2E (ms)",
                "TPOT (ms)",
            ]
            .map(Column::new),
        }
    }

    /// Counts a row.
    pub fn row(&mut self, row: &Row<'_>) {
        self.rows += 1;
        self.single += u64::from(row.session_id.is_empty());
        self.grouped += u64::from(!row.prefix_group.is_empty());
        self.empty += u64::from(row.prompt_tokens() == 0);
        self.prompt_tokens += row.prompt_tokens();
        self.output_tokens += u64::from(row.output_tokens);
        word(&mut self.statuses, row.status, "none");
        word(&mut self.models, row.model, "none");
        word(&mut self.classes, row.slo_class, "default");
        let (first, last) = self.arrivals_us.unwrap_or((row.arrival_us, row.arrival_us));
        self.arrivals_us = Some((first.min(row.arrival_us), last.max(row.arrival_us)));
        if self.kept == Columns::Kept {
            self.values(row);
        }
    }

    fn values(&mut self, row: &Row<'_>) {
        let ms = |us: Option<i64>| us.filter(|_| row.has_latency()).map(|us| us as f64 / 1e3);
        let [prompt, output, think, ttft, e2e, tpot] = &mut self.columns;
        prompt.push(Some(row.prompt_tokens() as f64));
        output.push(Some(f64::from(row.output_tokens)));
        if row.round_index > 0 {
            think.push(Some(row.think_time_us as f64 / 1e6));
        }
        ttft.push(ms(row.ttft_us()));
        e2e.push(ms(row.e2e_us()));
        tpot.push(row.mean_itl_us().filter(|_| row.has_latency()).map(|us| us / 1e3));
    }

    /// The kept values; columns without any are left out.
    pub fn into_columns(self) -> Vec<Column> {
        self.columns
            .into_iter()
            .filter(|column| !column.values.is_empty())
            .collect()
    }
}

fn word(words: &mut BTreeMap<String, u64>, found: &str, empty: &str) {
    let found = if found.is_empty() { empty } else { found };
    if let Some(count) = words.get_mut(found) {
        *count += 1;
    } else if words.len() < WORDS_MAX {
        words.insert(found.to_owned(), 1);
    } else {
        *words.entry("others".to_owned()).or_default() += 1;
    }
}
