//! The cells of a row: which type and range each column has (`trace-csv` §2.1, §2.2).

use csv::ByteRecord;

use super::columns::{COLUMNS, Column};
use super::row::Row;
use crate::problem::{Place, Problems, shown};
use crate::unit::TimeUnit;

/// The cells of one row while they are read.
pub(super) struct Cells<'a, 'p> {
    pub(super) record: &'a ByteRecord,
    pub(super) at: &'a [Option<usize>; COLUMNS],
    pub(super) unit: TimeUnit,
    pub(super) row: u64,
    pub(super) line: Option<u64>,
    pub(super) problems: &'p mut Problems,
}

impl<'a> Cells<'a, '_> {
    /// The row; what is wrong in a cell has been collected, and the cell reads as 0 or empty.
    pub(super) fn row(&mut self) -> Row<'a> {
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
