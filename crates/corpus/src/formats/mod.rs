//! Readers, one folder or file a format: the bytes of one row in, a checked row out.
//!
//! Never opens a file and never knows where in a file a row stands; the caller adds line numbers.

mod json_place;
pub mod weka;

/// What is wrong with one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowProblem {
    /// Not JSON, or cut short.
    NotJson {
        /// Line inside the row's bytes, from 1.
        line: usize,
        /// Byte of that line, from 1.
        column: usize,
        /// What the parser met.
        problem: String,
    },
    /// JSON, but not of this format.
    Field {
        /// Path in the row, such as `requests[3].in`; `row` for the whole.
        field: String,
        /// What was found and what would be right.
        problem: String,
    },
}

impl RowProblem {
    /// A problem of one field.
    pub(crate) fn field(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Field {
            field: field.into(),
            problem: problem.into(),
        }
    }

    /// What the JSON parser reports, its place in `bytes` translated into a path.
    fn from_json(error: &serde_json::Error, bytes: &[u8]) -> Self {
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        let place = format!(" at line {line} column {column}");
        let problem = text.strip_suffix(&place).unwrap_or(&text).to_owned();
        match error.classify() {
            serde_json::error::Category::Data => {
                let field = json_place::path_at(bytes, json_place::offset(bytes, line, column));
                Self::Field { field, problem }
            }
            _ => Self::NotJson {
                line,
                column,
                problem,
            },
        }
    }
}
