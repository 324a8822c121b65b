//! The reader: rows one at a time, columns by name, every cell checked (`trace-csv` §2.3).

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use csv::{ByteRecord, ReaderBuilder};

use super::columns::{BASE_COLUMNS, COLUMNS, Column};
use super::row::Row;
use crate::error::TraceError;
use crate::problem::{Place, Problems, shown};
use crate::unit::TimeUnit;

/// Longest row. What the record buffer can grow to; an unclosed quote runs into it.
pub const ROW_BYTES_MAX: u64 = 1 << 20;
/// Bytes read at once.
const BUFFER_BYTES: usize = 256 << 10;

/// Rows of a data file.
pub struct Rows<R> {
    file: PathBuf,
    reader: csv::Reader<Bounded<R>>,
    record: ByteRecord,
    /// Where each column stands.
    at: [Option<usize>; COLUMNS],
    /// Cells of the header line.
    width: usize,
    unit: TimeUnit,
    row: u64,
}

/// What reading on gave.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every step is a row, and none is kept"
)]
pub enum Step<'a> {
    /// A row in which every cell is right.
    Row {
        /// The row.
        row: Row<'a>,
        /// Its number, from 1 behind the header line.
        number: u64,
        /// Line of the file that it begins on, from 1.
        line: Option<u64>,
    },
    /// A row with problems, which were collected.
    Wrong,
    /// The file is at its end.
    End,
}

impl<R: Read> Rows<R> {
    /// Reads the header line. `None` when it cannot be used: its problems were collected.
    pub fn new(
        file: &Path,
        input: R,
        unit: TimeUnit,
        problems: &mut Problems,
    ) -> Result<Option<Self>, TraceError> {
        let mut rows = Self {
            file: file.to_owned(),
            reader: reader(input),
            record: ByteRecord::new(),
            at: [None; COLUMNS],
            width: 0,
            unit,
            row: 0,
        };
        if !rows.advance()? {
            let expected = format!("a header line of {BASE_COLUMNS} columns");
            problems.error(None, Place::File, "an empty file", expected);
            return Ok(None);
        }
        Ok(rows.read_header(problems).then_some(rows))
    }

    fn read_header(&mut self, problems: &mut Problems) -> bool {
        let line = Some(1);
        self.width = self.record.len();
        let mut extra = Vec::new();
        let mut usable = true;
        for (index, name) in self.record.iter().enumerate() {
            let name = name.strip_prefix(b"\xef\xbb\xbf").unwrap_or(name);
            match Column::of_name(name) {
                None => extra.push(String::from_utf8_lossy(name).into_owned()),
                Some(column) if self.at[column as usize].is_some() => {
                    let place = Place::Header(column.name().to_owned());
                    problems.error(line, place, "the column a second time", "each column once");
                    usable = false;
                }
                Some(column) => self.at[column as usize] = Some(index),
            }
        }
        if self.at.iter().all(Option::is_none) {
            let found = format!("no column of a trace in {}", shown(self.record.as_slice()));
            problems.error(line, Place::File, found, "a header line, `request_id` first");
            return false;
        }
        for column in Column::ALL.into_iter().filter(|column| !column.is_optional()) {
            if self.at[column as usize].is_none() {
                let place = Place::Header(column.name().to_owned());
                let expected = format!("all {BASE_COLUMNS} columns of a trace");
                problems.error(line, place, "no such column", expected);
                usable = false;
            }
        }
        if !extra.is_empty() {
            let place = Place::Header(extra.join(", "));
            problems.warning(line, place, "columns that no trace has; they are ignored", "none");
        }
        usable
    }

    /// Reads on.
    pub fn next(&mut self, problems: &mut Problems) -> Result<Step<'_>, TraceError> {
        if !self.advance()? {
            return Ok(Step::End);
        }
        self.row += 1;
        let line = self.record.position().map(csv::Position::line);
        if self.record.len() != self.width {
            let found = format!("{} cells", self.record.len());
            let expected = format!("{}, as the header line has", self.width);
            problems.error(line, Place::Row(self.row), found, expected);
            return Ok(Step::Wrong);
        }
        let before = problems.errors();
        let mut cells = Cells {
            record: &self.record,
            at: &self.at,
            unit: self.unit,
            row: self.row,
            line,
            problems,
        };
        let row = cells.row();
        if problems.errors() > before {
            return Ok(Step::Wrong);
        }
        let number = self.row;
        Ok(Step::Row { row, number, line })
    }

    /// The file has this column.
    pub fn has(&self, column: Column) -> bool {
        self.at[column as usize].is_some()
    }

    fn advance(&mut self) -> Result<bool, TraceError> {
        advance(&self.file, &mut self.reader, &mut self.record)
    }
}

fn reader<R: Read>(input: R) -> csv::Reader<Bounded<R>> {
    ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .buffer_capacity(BUFFER_BYTES)
        .from_reader(Bounded {
            inner: input,
            since: 0,
        })
}

fn advance<R: Read>(
    file: &Path,
    reader: &mut csv::Reader<Bounded<R>>,
    record: &mut ByteRecord,
) -> Result<bool, TraceError> {
    reader.get_mut().since = 0;
    reader.read_byte_record(record).map_err(|error| {
        let line = reader.position().line();
        match error.into_kind() {
            csv::ErrorKind::Io(source) if source.kind() == io::ErrorKind::FileTooLarge => {
                TraceError::TooLong {
                    file: file.to_owned(),
                    what: "the row",
                    line,
                    limit: ROW_BYTES_MAX,
                }
            }
            csv::ErrorKind::Io(source) => TraceError::file("read", file, source),
            other => TraceError::file("read", file, io::Error::other(format!("{other:?}"))),
        }
    })
}

/// Data rows of `input`: records behind the header line. Blank lines are none, a quoted line break begins none.
pub fn count_rows(file: &Path, input: impl Read) -> Result<u64, TraceError> {
    let mut reader = reader(input);
    let mut record = ByteRecord::new();
    let mut records: u64 = 0;
    while advance(file, &mut reader, &mut record)? {
        records += 1;
    }
    Ok(records.saturating_sub(1))
}

/// Refuses to give more than a row may have, so that the record buffer stays small.
struct Bounded<R> {
    inner: R,
    since: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.since > ROW_BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let read = self.inner.read(buffer)?;
        self.since += read as u64;
        Ok(read)
    }
}

/// The cells of one row while they are read.
struct Cells<'a, 'p> {
    record: &'a ByteRecord,
    at: &'a [Option<usize>; COLUMNS],
    unit: TimeUnit,
    row: u64,
    line: Option<u64>,
    problems: &'p mut Problems,
}

impl<'a> Cells<'a, '_> {
    fn row(&mut self) -> Row<'a> {
        let row = Row {
            request_id: self.whole(Column::RequestId),
            client_id: self.text(Column::ClientId),
            tenant_id: self.text(Column::TenantId),
            slo_class: self.text(Column::SloClass),
            vllm_priority: self.whole_or_empty(Column::VllmPriority),
            session_id: self.text(Column::SessionId),
            round_index: self.tokens(Column::RoundIndex),
            prefix_group: self.text(Column::PrefixGroup),
            prefix_length: self.tokens(Column::PrefixLength),
            streaming: self.truth(Column::Streaming),
            input_tokens: self.tokens(Column::InputTokens),
            output_tokens: self.tokens(Column::OutputTokens),
            text_tokens: self.tokens(Column::TextTokens),
            image_tokens: self.tokens(Column::ImageTokens),
            audio_tokens: self.tokens(Column::AudioTokens),
            video_tokens: self.tokens(Column::VideoTokens),
            reason_ratio: self.ratio(Column::ReasonRatio),
            model: self.text(Column::Model),
            deadline_us: self.duration(Column::DeadlineUs),
            slo_target_us: self.duration_or_empty(Column::SloTargetUs),
            server_input_tokens: self.tokens(Column::ServerInputTokens),
            arrival_us: self.time(Column::ArrivalTimeUs),
            send_us: self.time(Column::SendTimeUs),
            first_chunk_us: self.time(Column::FirstChunkTimeUs),
            last_chunk_us: self.time(Column::LastChunkTimeUs),
            num_chunks: self.whole(Column::NumChunks),
            status: self.text(Column::Status),
            error_message: self.text(Column::ErrorMessage),
            finish_reason: self.text(Column::FinishReason),
            x_request_id: self.text(Column::XRequestId),
            adapter: self.text(Column::Adapter),
            think_time_us: self.duration_or_empty(Column::ThinkTimeUs),
        };
        if row.deadline_us != 0 && row.arrival_us > 0 && row.deadline_us < row.arrival_us {
            let found = format!(
                "{} µs, before the arrival at {} µs",
                row.deadline_us, row.arrival_us
            );
            self.wrong(
                Column::DeadlineUs,
                found,
                "0 for none, or a time not before the arrival",
            );
        }
        row
    }

    fn cell(&self, column: Column) -> Option<&'a [u8]> {
        self.at[column as usize].and_then(|index| self.record.get(index))
    }

    fn wrong(&mut self, column: Column, found: impl Into<String>, expected: &str) {
        let place = Place::Cell(self.row, column.name());
        self.problems.error(self.line, place, found, expected);
    }

    fn text(&mut self, column: Column) -> &'a str {
        let Some(cell) = self.cell(column) else {
            return "";
        };
        std::str::from_utf8(cell).unwrap_or_else(|_| {
            self.wrong(column, shown(cell), "UTF-8 text");
            ""
        })
    }

    fn number<T: std::str::FromStr + Default>(&mut self, column: Column, expected: &str) -> T {
        let cell = self.cell(column).unwrap_or_default();
        let parsed = std::str::from_utf8(cell).ok().and_then(|text| text.parse().ok());
        parsed.unwrap_or_else(|| {
            self.wrong(column, shown(cell), expected);
            T::default()
        })
    }

    fn whole(&mut self, column: Column) -> u64 {
        self.number(column, "an integer of at least 0")
    }

    fn whole_or_empty(&mut self, column: Column) -> u64 {
        if self.is_empty(column) {
            0
        } else {
            self.whole(column)
        }
    }

    fn tokens(&mut self, column: Column) -> u32 {
        self.number(column, "an integer from 0 to 4294967295")
    }

    fn time(&mut self, column: Column) -> i64 {
        let value: i64 = self.number(column, "an integer");
        self.unit.to_us(value).unwrap_or_else(|| {
            let found = format!("{value} {}", self.unit.name());
            self.wrong(column, found, "a time whose microseconds fit in 64 bits");
            0
        })
    }

    fn duration(&mut self, column: Column) -> i64 {
        let value = self.time(column);
        if value < 0 {
            self.wrong(
                column,
                shown(self.cell(column).unwrap_or_default()),
                "an integer of at least 0",
            );
        }
        value
    }

    fn duration_or_empty(&mut self, column: Column) -> i64 {
        if self.is_empty(column) {
            0
        } else {
            self.duration(column)
        }
    }

    fn is_empty(&self, column: Column) -> bool {
        self.cell(column).is_none_or(<[u8]>::is_empty)
    }

    fn ratio(&mut self, column: Column) -> f64 {
        const EXPECTED: &str = "a number from 0 to 1";
        let value: f64 = self.number(column, EXPECTED);
        if (0.0..=1.0).contains(&value) {
            return value;
        }
        self.wrong(column, shown(self.cell(column).unwrap_or_default()), EXPECTED);
        0.0
    }

    fn truth(&mut self, column: Column) -> bool {
        let cell = self.cell(column).unwrap_or_default();
        match cell {
            b"true" | b"1" | b"t" | b"T" | b"TRUE" | b"True" => true,
            b"false" | b"0" | b"f" | b"F" | b"FALSE" | b"False" => false,
            _ => {
                self.wrong(column, shown(cell), "true or false");
                false
            }
        }
    }
}
