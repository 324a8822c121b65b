//! The writer: columns in their order, the optional ones where they are wanted.

use std::fmt::Write as _;
use std::io::Write;

use csv::WriterBuilder;

use super::columns::Column;
use super::row::Row;

/// Which optional columns a file has (`trace-csv` §2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Optional {
    /// `vllm_priority`.
    pub vllm_priority: bool,
    /// `slo_target_us`.
    pub slo_target_us: bool,
    /// `x_request_id`.
    pub x_request_id: bool,
    /// `adapter`.
    pub adapter: bool,
    /// `think_time_us`.
    pub think_time_us: bool,
}

impl Optional {
    /// Those that a measured trace always has.
    pub const MEASURED: Self = Self {
        vllm_priority: false,
        slo_target_us: false,
        x_request_id: true,
        adapter: false,
        think_time_us: true,
    };

    /// Whether the column is written.
    pub fn has(self, column: Column) -> bool {
        match column {
            Column::VllmPriority => self.vllm_priority,
            Column::SloTargetUs => self.slo_target_us,
            Column::XRequestId => self.x_request_id,
            Column::Adapter => self.adapter,
            Column::ThinkTimeUs => self.think_time_us,
            _ => true,
        }
    }
}

/// Writes a data CSV, always in microseconds.
#[derive(Debug)]
pub struct RowWriter<W: Write> {
    writer: csv::Writer<W>,
    columns: Vec<Column>,
    number: String,
}

impl<W: Write> RowWriter<W> {
    /// Writes the header line.
    pub fn new(output: W, optional: Optional) -> csv::Result<Self> {
        let columns: Vec<_> = Column::ALL
            .into_iter()
            .filter(|column| optional.has(*column))
            .collect();
        let mut writer = WriterBuilder::new().buffer_capacity(64 << 10).from_writer(output);
        writer.write_record(columns.iter().map(|column| column.name()))?;
        Ok(Self {
            writer,
            columns,
            number: String::new(),
        })
    }

    /// Writes one row.
    pub fn write(&mut self, row: &Row<'_>) -> csv::Result<()> {
        for index in 0..self.columns.len() {
            self.cell(self.columns[index], row)?;
        }
        self.writer.write_record(None::<&[u8]>)
    }

    fn cell(&mut self, column: Column, row: &Row<'_>) -> csv::Result<()> {
        let number: &dyn std::fmt::Display = match column {
            Column::ClientId => return self.writer.write_field(row.client_id),
            Column::TenantId => return self.writer.write_field(row.tenant_id),
            Column::SloClass => return self.writer.write_field(row.slo_class),
            Column::SessionId => return self.writer.write_field(row.session_id),
            Column::PrefixGroup => return self.writer.write_field(row.prefix_group),
            Column::Model => return self.writer.write_field(row.model),
            Column::Status => return self.writer.write_field(row.status),
            Column::ErrorMessage => return self.writer.write_field(row.error_message),
            Column::FinishReason => return self.writer.write_field(row.finish_reason),
            Column::XRequestId => return self.writer.write_field(row.x_request_id),
            Column::Adapter => return self.writer.write_field(row.adapter),
            Column::RequestId => &row.request_id,
            Column::VllmPriority => &row.vllm_priority,
            Column::RoundIndex => &row.round_index,
            Column::PrefixLength => &row.prefix_length,
            Column::Streaming => &row.streaming,
            Column::InputTokens => &row.input_tokens,
            Column::OutputTokens => &row.output_tokens,
            Column::TextTokens => &row.text_tokens,
            Column::ImageTokens => &row.image_tokens,
            Column::AudioTokens => &row.audio_tokens,
            Column::VideoTokens => &row.video_tokens,
            Column::ReasonRatio => &row.reason_ratio,
            Column::DeadlineUs => &row.deadline_us,
            Column::SloTargetUs => &row.slo_target_us,
            Column::ServerInputTokens => &row.server_input_tokens,
            Column::ArrivalTimeUs => &row.arrival_us,
            Column::SendTimeUs => &row.send_us,
            Column::FirstChunkTimeUs => &row.first_chunk_us,
            Column::LastChunkTimeUs => &row.last_chunk_us,
            Column::NumChunks => &row.num_chunks,
            Column::ThinkTimeUs => &row.think_time_us,
        };
        self.number.clear();
        write!(self.number, "{number}").expect("a string takes everything");
        self.writer.write_field(&self.number)
    }

    /// Flushes and gives the output back.
    pub fn finish(self) -> std::io::Result<W> {
        self.writer.into_inner().map_err(csv::IntoInnerError::into_error)
    }
}
