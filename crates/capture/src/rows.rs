//! What is written about one request: its row in the data file, and its line in the journal.
//!
//! The row is the trace format's (`trace-csv` §2, version 3, the base columns and two optional ones). The line holds what the
//! format keeps elsewhere: block ids for the sidecar, and what a Weka trace states of a request. Both are made whole, with
//! the words of clients and servers cut to one line and keys taken out.

use driver::secrets::Secrets;
use serde::{Deserialize, Serialize};
use trace::csv::{Optional, RowWriter};

/// Longest text in a cell.
const CELL_BYTES_MAX: usize = 512;

/// One request, as a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row {
    pub(crate) request_id: u64,
    pub(crate) client_id: String,
    pub(crate) session_id: String,
    pub(crate) round_index: u64,
    pub(crate) streaming: bool,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    /// Share of the output that is reasoning.
    pub(crate) reason_ratio: f64,
    pub(crate) model: String,
    pub(crate) server_input_tokens: u64,
    pub(crate) arrival_time_us: u64,
    pub(crate) send_time_us: u64,
    pub(crate) first_chunk_time_us: u64,
    pub(crate) last_chunk_time_us: u64,
    pub(crate) num_chunks: u64,
    pub(crate) status: &'static str,
    pub(crate) error_message: String,
    pub(crate) finish_reason: String,
    pub(crate) x_request_id: String,
    pub(crate) think_time_us: u64,
}

impl Row {
    /// The row as a line of the data file.
    pub(crate) fn line(&self, secrets: &Secrets) -> Vec<u8> {
        let text = |text: &str| one_line(text, secrets);
        let count = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let time = |us: u64| i64::try_from(us).unwrap_or(i64::MAX);
        let row = trace::csv::Row {
            request_id: self.request_id,
            client_id: &self.client_id,
            session_id: &text(&self.session_id),
            round_index: count(self.round_index),
            streaming: self.streaming,
            input_tokens: count(self.input_tokens),
            output_tokens: count(self.output_tokens),
            text_tokens: count(self.input_tokens),
            reason_ratio: self.reason_ratio,
            model: &text(&self.model),
            server_input_tokens: count(self.server_input_tokens),
            arrival_us: time(self.arrival_time_us),
            send_us: time(self.send_time_us),
            first_chunk_us: time(self.first_chunk_time_us),
            last_chunk_us: time(self.last_chunk_time_us),
            num_chunks: self.num_chunks,
            status: self.status,
            error_message: &text(&self.error_message),
            finish_reason: &text(&self.finish_reason),
            x_request_id: &text(&self.x_request_id),
            think_time_us: time(self.think_time_us),
            ..trace::csv::Row::default()
        };
        let whole = written(Some(&row));
        let head = whole
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        whole[head..].to_vec()
    }
}

/// The data file's first line.
pub(crate) fn columns() -> Vec<u8> {
    written(None)
}

/// A data file in memory, of one row at most.
fn written(row: Option<&trace::csv::Row<'_>>) -> Vec<u8> {
    const MEMORY: &str = "memory takes everything";
    let mut writer = RowWriter::new(Vec::new(), Optional::MEASURED).expect(MEMORY);
    if let Some(row) = row {
        writer.write(row).expect(MEMORY);
    }
    writer.finish().expect(MEMORY)
}

/// What the sidecar and the Weka file need to know of a request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct JournalLine {
    pub(crate) request_id: u64,
    /// Prompt tokens that `ids` cover.
    pub(crate) tokens: u64,
    pub(crate) ids: Vec<u64>,
    /// Who counted: `usage` the server, `ids` the client, who sent token ids, `estimate` nobody.
    pub(crate) tokens_from: String,
    pub(crate) session_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) parent_session_id: Option<String>,
    /// Why blocks are not the prompt's, where they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) left_out: Option<String>,
    pub(crate) tool_tokens: u64,
    pub(crate) system_tokens: u64,
    pub(crate) is_ok: bool,
    pub(crate) streamed: bool,
    pub(crate) model: String,
    pub(crate) arrival_us: u64,
    pub(crate) output_tokens: u64,
    /// From the first byte sent to the last content, and to the first; microseconds.
    pub(crate) api_us: Option<u64>,
    pub(crate) ttft_us: Option<u64>,
    pub(crate) think_us: Option<u64>,
    pub(crate) input_types: Vec<String>,
    pub(crate) output_types: Vec<String>,
    /// `tool_use`, `end_turn` or nothing, as a Weka trace has it.
    pub(crate) stop: String,
}

/// `text` without secrets and control characters, cut at [`CELL_BYTES_MAX`].
pub(crate) fn one_line(text: &str, secrets: &Secrets) -> String {
    let mut out = String::new();
    for sign in secrets.hide(text).chars() {
        let sign = if sign.is_control() { ' ' } else { sign };
        if out.len() + sign.len_utf8() > CELL_BYTES_MAX {
            break;
        }
        out.push(sign);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_cell_for_each_column_and_stays_one_line() {
        let row = Row {
            error_message: "a \"b\",\r\nc sk-secret".to_owned(),
            x_request_id: "sk-secret".to_owned(),
            status: "error",
            ..Row::default()
        };
        let line = String::from_utf8(row.line(&Secrets::default().with("sk-secret"))).unwrap();
        assert!(line.contains(r#""a ""b"",  c [key]""#), "{line}");
        assert!(!line.contains("sk-secret") && line.ends_with('\n') && line.lines().count() == 1);
        assert_eq!(
            line.replace(r#""a ""b"",  c [key]""#, "x").split(',').count(),
            columns().split(|byte| *byte == b',').count()
        );
    }
}
