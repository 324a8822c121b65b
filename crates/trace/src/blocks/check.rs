//! A sidecar against the rows of its data file (`trace-csv` §4.1): line by line, beside a sorted list of the rows.

use std::path::Path;

use super::blocks_of;
use super::line::{BlocksHeader, HEADER_EXPECTED, ID_MAX, RequestLine};
use crate::error::TraceError;
use crate::lines::Lines;
use crate::problem::{Place, Problems};

/// What the sidecar must hold for a row: sixteen bytes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expected {
    /// The row's id.
    pub request_id: u64,
    /// `prefix_length + input_tokens`.
    pub tokens: u64,
}

const SIDECAR: Place = Place::Binding("workload.trace.token_blocks");

/// Compares the sidecar at `path` with its rows, sorted by id. `None` when it has no header line to read it by.
pub fn check(
    path: &Path,
    rows: &[Expected],
    data_sha256: &str,
    problems: &mut Problems,
) -> Result<Option<BlocksHeader>, TraceError> {
    let mut lines = Lines::open(path)?;
    let header = match lines.next()?.map(BlocksHeader::parse) {
        None => Err("an empty file".to_owned()),
        Some(parsed) => parsed,
    };
    let header = match header {
        Ok(header) => header,
        Err(found) => {
            problems.error(Some(1), SIDECAR, found, HEADER_EXPECTED);
            return Ok(None);
        }
    };
    if let Some(stated) = header.data_sha256.as_deref()
        && !stated.eq_ignore_ascii_case(data_sha256)
    {
        let found = format!("data_sha256 {stated}");
        problems.error(
            Some(1),
            SIDECAR,
            found,
            format!("the data file's digest {data_sha256}"),
        );
    }
    let mut walk = Walk {
        rows,
        next: 0,
        last: None,
        block_size: header.block_size,
        problems,
    };
    let mut found: u64 = 0;
    while let Some(line) = lines.next()? {
        found += 1;
        let parsed = serde_json::from_slice(line);
        let number = lines.number;
        match parsed {
            Ok(request) => walk.line(&request, number),
            Err(error) => {
                let expected = "an object with request_id, tokens and ids";
                walk.problems
                    .error(Some(number), SIDECAR, error.to_string(), expected);
            }
        }
        if walk.problems.is_full() {
            return Ok(Some(header));
        }
    }
    walk.missing_until(u64::MAX);
    if let Some(last) = walk.rows.get(walk.next) {
        walk.missing(last.request_id); // the one row whose id is the largest there is
    }
    if found != header.rows {
        let expected = format!("as many request lines as there are, {found}");
        problems.error(Some(1), SIDECAR, format!("rows {}", header.rows), expected);
    }
    Ok(Some(header))
}

/// Rows and lines side by side, both ascending.
struct Walk<'a> {
    rows: &'a [Expected],
    next: usize,
    last: Option<u64>,
    block_size: u64,
    problems: &'a mut Problems,
}

impl Walk<'_> {
    fn line(&mut self, line: &RequestLine, number: u64) {
        let id = line.request_id;
        if let Some(last) = self.last.filter(|last| *last >= id) {
            let found = format!("request {id} behind request {last}");
            self.wrong(id, number, found, "ascending ids, one line each");
            return;
        }
        self.last = Some(id);
        self.missing_until(id);
        let Some(row) = self.rows.get(self.next).filter(|row| row.request_id == id) else {
            self.wrong(id, number, "a line", "lines for rows of the data file only");
            return;
        };
        self.next += 1;
        if row.tokens != line.tokens {
            let found = format!("{} tokens", line.tokens);
            let expected = format!("{}, prefix_length + input_tokens of its row", row.tokens);
            self.wrong(id, number, found, expected);
            return;
        }
        let blocks = blocks_of(line.tokens, self.block_size);
        if line.ids.len() as u64 != blocks {
            let found = format!("{} ids for {} tokens", line.ids.len(), line.tokens);
            let expected = format!("{blocks}, one for every {} tokens", self.block_size);
            self.wrong(id, number, found, expected);
        }
        if let Some(large) = line.ids.iter().find(|id| **id > ID_MAX) {
            self.wrong(id, number, format!("id {large}"), format!("ids up to {ID_MAX}"));
        }
    }

    /// Rows before `id` that no line was about.
    fn missing_until(&mut self, id: u64) {
        while let Some(row) = self.rows.get(self.next).filter(|row| row.request_id < id) {
            self.missing(row.request_id);
            self.next += 1;
            if self.problems.is_full() {
                return;
            }
        }
    }

    fn missing(&mut self, id: u64) {
        self.problems.error(
            None,
            Place::Request(id),
            "no line",
            "one line for every row of the data file",
        );
    }

    fn wrong(&mut self, id: u64, number: u64, found: impl Into<String>, expected: impl Into<String>) {
        self.problems
            .error(Some(number), Place::Request(id), found, expected);
    }
}
