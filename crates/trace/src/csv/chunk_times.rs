//! Chunk times: when each content chunk of a request came (`trace-csv` §6.1). A file of its own beside the data CSV.

use std::fmt::Write;

/// The header line.
pub const CHUNK_COLUMNS: &str = "request_id,chunk_index,timestamp_us\n";

/// Appends a request's lines to `out`: its chunks from index 0, at wall-clock µs since 1970.
pub fn chunk_lines(out: &mut String, request_id: u64, stamps_us: impl IntoIterator<Item = i64>) {
    for (index, stamp_us) in stamps_us.into_iter().enumerate() {
        writeln!(out, "{request_id},{index},{stamp_us}").expect("a string takes everything");
    }
}

/// The file's name beside a data file of that name.
pub fn chunk_times_name(data: &str) -> String {
    format!("{}.itl.csv", data.strip_suffix(".csv").unwrap_or(data))
}
