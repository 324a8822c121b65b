//! Failures in aiperf's words: `error` of a row, `error_summary` of a run (`metrics-and-exports` §3.3).

use http::StatusCode;
use record::request::{FailureKind, RequestRecord};
use serde::Serialize;

/// Different failures that are listed; what comes beyond is counted under one entry. Messages with addresses or times in them never repeat.
pub const FAILURES_MAX: usize = 1000;

/// What went wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorDetails {
    /// HTTP status; 502 for an error object inside a 200 answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<u16>,
    /// The status's reason phrase, or the name of the exception that aiperf raises then.
    #[serde(rename = "type")]
    pub kind: String,
    /// The error's text.
    pub message: String,
    /// The exception's name; absent for an HTTP status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause_chain: Option<Vec<String>>,
}

impl ErrorDetails {
    pub(crate) fn of(record: &RequestRecord) -> Self {
        let message = record.error.clone().unwrap_or_default();
        let status = record.http_status.filter(|status| !(200..300).contains(status));
        match status {
            Some(status) => Self {
                code: Some(status),
                kind: reason(status),
                message,
                cause_chain: None,
            },
            None => Self::raised(record.failure_kind, message),
        }
    }

    /// An exception. aiperf takes an error object and a stream cut short inside a 200 answer for success; we do not.
    fn raised(kind: Option<FailureKind>, message: String) -> Self {
        let (code, name) = match kind {
            // An overflow inside a stream has no kind: it came as an error object.
            Some(FailureKind::ErrorObject) | None => (Some(502), "SSEResponseError"),
            Some(FailureKind::Connect) => (None, "ClientConnectorError"),
            Some(FailureKind::Unsent) => (None, "ValueError"),
            Some(FailureKind::TimedOut) => (None, "TimeoutError"),
            Some(FailureKind::BrokenStream | FailureKind::Truncated) => (None, "ClientPayloadError"),
            Some(FailureKind::Malformed | FailureKind::Refused) => (None, "InvalidInferenceResultError"),
        };
        Self {
            code,
            kind: name.to_owned(),
            message,
            cause_chain: Some(vec![name.to_owned()]),
        }
    }
}

fn reason(status: u16) -> String {
    let named = StatusCode::from_u16(status).ok();
    named
        .and_then(|status| status.canonical_reason())
        .map_or_else(|| format!("HTTP {status}"), str::to_owned)
}

/// One entry of `error_summary`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorCount {
    /// The failure.
    pub error_details: ErrorDetails,
    /// How often.
    pub count: u64,
}

/// Failures that are equal in code, type and message, counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failures {
    found: Vec<ErrorCount>,
    beyond: u64,
}

impl Failures {
    pub(crate) fn push(&mut self, details: ErrorDetails) {
        let known = self.found.iter_mut().find(|entry| entry.error_details == details);
        if let Some(entry) = known {
            entry.count += 1;
        } else if self.found.len() < FAILURES_MAX {
            self.found.push(ErrorCount {
                error_details: details,
                count: 1,
            });
        } else {
            self.beyond += 1;
        }
    }

    pub(crate) fn summary(mut self) -> Vec<ErrorCount> {
        if self.beyond > 0 {
            self.found.push(ErrorCount {
                error_details: ErrorDetails {
                    code: None,
                    kind: "Other".to_owned(),
                    message: format!("failures beyond the first {FAILURES_MAX} different ones"),
                    cause_chain: None,
                },
                count: self.beyond,
            });
        }
        self.found
    }
}
