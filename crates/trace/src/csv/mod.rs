//! The data CSV: one row a request (`trace-csv` §2).
//!
//! [`Rows`] reads, finding every column by its name; [`RowWriter`] writes the columns in their order; [`FileChecks`] holds
//! what rows must be to each other. Chunk times stand in a file beside it. One [`Row`] is what all of them speak of; times in it are microseconds whatever the
//! file's unit is.

mod cells;
mod check;
mod chunk_times;
mod columns;
mod ids;
mod read;
mod row;
mod write;

pub use check::FileChecks;
pub use chunk_times::{CHUNK_COLUMNS, chunk_lines, chunk_times_name};
pub use columns::{BASE_COLUMNS, COLUMNS, Column};
pub use read::{ROW_BYTES_MAX, Rows, Step, count_rows};
pub use row::{Row, TOKENS_MAX};
pub use write::{Optional, RowWriter};
