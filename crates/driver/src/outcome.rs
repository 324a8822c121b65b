//! What became of a request: from all that came, and the way it stopped, to the record's columns.

use std::time::Duration;

use hyper::StatusCode;
use record::request::{CancelCause, ContentChunk, FailureKind, Outcome, RequestRecord, Usage};
use wire::error::{bounded, is_context_overflow};
use wire::fold::{Answer, AnswerFault, BodyEnd, Verdict};

use crate::exchange::{End, Received};
use crate::secrets::Secrets;
use crate::stamped::Marks;

/// Why nothing more comes.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The exchange ended by itself.
    End(End),
    /// We called it off.
    Cancelled(CancelCause),
    /// It took longer than it may.
    TimedOut(Duration),
}

impl Stop {
    /// Called off or out of time while only the connection was being tidied up: the answer was there.
    fn unless_over(self, is_over: bool) -> Self {
        if is_over { Self::End(End::Whole) } else { self }
    }
}

/// Outcome with what stands beside it.
#[derive(Debug, PartialEq, Eq)]
struct Fate {
    outcome: Outcome,
    failure_kind: Option<FailureKind>,
    cancel_cause: Option<CancelCause>,
    error: Option<String>,
}

/// Writes all that came into the record, `secrets` hidden in the server's words.
pub(crate) fn settle(
    record: &mut RequestRecord,
    received: Received,
    stop: Stop,
    now_ns: u64,
    secrets: &Secrets,
) {
    let marks = received.marks.as_deref();
    let stamps = &mut record.stamps;
    stamps.connected_ns = received.connected_ns;
    stamps.headers_written_ns = marks.and_then(Marks::first_write_ns);
    stamps.body_written_ns = marks.and_then(Marks::body_written_ns);
    stamps.first_byte_ns = marks.and_then(Marks::first_read_ns);
    stamps.last_byte_ns = received.last_byte_ns;
    record.http_status = received.status;
    record.parse_lag_max_ns = received.parse_lag_max_ns;
    record.response_bytes = received.answer.bytes() + received.refusal.len() as u64;

    let stop = stop.unless_over(received.is_over);
    let body_end = match stop {
        Stop::End(End::Whole) => BodyEnd::Whole,
        _ => BodyEnd::Cut,
    };
    let refused = refusal(&received);
    let ended_ns = received.end_ns.unwrap_or(now_ns);
    let answer = received.answer.finish(body_end);
    record.stamps.stream_end_ns = Some(answer.end_ns.unwrap_or(ended_ns));
    let fate = fate(stop, refused, &answer.verdict);
    record.outcome = fate.outcome;
    record.failure_kind = fate.failure_kind;
    record.cancel_cause = fate.cancel_cause;
    record.error = fate.error.map(|text| bounded(&secrets.hide(&text)));
    fill_answer(record, answer);
    record.finish_reason = record.finish_reason.take().map(|text| secrets.hide(&text));
}

fn fill_answer(record: &mut RequestRecord, answer: Answer) {
    record.stamps.first_content_ns = answer.contents.first().map(|content| content.at_ns);
    record.stamps.last_content_ns = answer.contents.last().map(|content| content.at_ns);
    record.stamps.first_output_ns = answer.first_output_ns;
    record.chunks = answer
        .contents
        .into_iter()
        .map(|content| ContentChunk {
            at_ns: content.at_ns,
            same_read: content.same_read,
        })
        .collect();
    record.reasoning_chunks = answer.reasoning_chunks;
    record.finish_reason = answer.finish_reason;
    record.done_seen = answer.done_seen;
    record.malformed_events = answer.malformed_events;
    record.usage = Usage {
        prompt_tokens: answer.usage.prompt_tokens,
        completion_tokens: answer.usage.completion_tokens,
        cached_tokens: answer.usage.cached_tokens,
        reasoning_tokens: answer.usage.reasoning_tokens,
    };
}

/// `refused`: the text of an HTTP status other than 2xx.
fn fate(stop: Stop, refused: Option<String>, verdict: &Verdict) -> Fate {
    match (stop, refused) {
        (Stop::Cancelled(cause), _) => Fate {
            outcome: Outcome::Cancelled,
            failure_kind: None,
            cancel_cause: Some(cause),
            error: None,
        },
        (Stop::TimedOut(deadline), _) => failed(
            FailureKind::TimedOut,
            format!("no end of the answer within {} s", deadline.as_secs_f64()),
        ),
        (Stop::End(_), Some(text)) if is_context_overflow(&text) => overflow(text),
        (Stop::End(_), Some(text)) => failed(FailureKind::Refused, text),
        (Stop::End(End::Failed(kind, text)), None) => failed(kind, text),
        (Stop::End(End::Whole | End::Cut), None) => match verdict {
            Verdict::Ok => Fate {
                outcome: Outcome::Ok,
                failure_kind: None,
                cancel_cause: None,
                error: None,
            },
            Verdict::Overflow(text) => overflow(text.clone()),
            Verdict::Failed(fault, text) => failed(failure_kind(*fault), text.clone()),
        },
    }
}

fn failed(kind: FailureKind, text: String) -> Fate {
    Fate {
        outcome: Outcome::Failed,
        failure_kind: Some(kind),
        cancel_cause: None,
        error: Some(text),
    }
}

fn overflow(text: String) -> Fate {
    Fate {
        outcome: Outcome::Overflow,
        failure_kind: None,
        cancel_cause: None,
        error: Some(text),
    }
}

fn failure_kind(fault: AnswerFault) -> FailureKind {
    match fault {
        AnswerFault::ErrorObject => FailureKind::ErrorObject,
        AnswerFault::Truncated => FailureKind::Truncated,
        AnswerFault::Malformed => FailureKind::Malformed,
    }
}

/// The text of an HTTP error: its body, else its status line, and where a redirect led.
fn refusal(received: &Received) -> Option<String> {
    let status = received.status.filter(|_| !received.is_success())?;
    let body = String::from_utf8_lossy(&received.refusal);
    let text = match body.trim() {
        "" => StatusCode::from_u16(status).map_or(format!("HTTP {status}"), |named| format!("HTTP {named}")),
        body => body.to_owned(),
    };
    match &received.location {
        Some(location) => Some(format!("redirected to {location}, which is not followed: {text}")),
        None => Some(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "no";

    fn check(
        stop: Stop,
        refused: Option<&str>,
        verdict: &Verdict,
        outcome: Outcome,
        kind: Option<FailureKind>,
    ) {
        let shown = format!("{stop:?} {refused:?} {verdict:?}");
        let fate = fate(stop, refused.map(str::to_owned), verdict);
        assert_eq!((fate.outcome, fate.failure_kind), (outcome, kind), "{shown}");
        assert_eq!(
            fate.cancel_cause.is_some(),
            outcome == Outcome::Cancelled,
            "{shown}"
        );
        assert_eq!(
            fate.error.is_some(),
            matches!(outcome, Outcome::Failed | Outcome::Overflow),
            "{shown}"
        );
    }

    #[test]
    fn what_decides() {
        let whole = || Stop::End(End::Whole);
        let broken = || Stop::End(End::Failed(FailureKind::BrokenStream, TEXT.into()));
        let late = || Stop::TimedOut(Duration::from_secs(1));
        let off = || Stop::Cancelled(CancelCause::Grace);
        let ok = Verdict::Ok;
        let overflow = Verdict::Overflow(TEXT.into());
        let cut = Verdict::Failed(AnswerFault::Truncated, TEXT.into());
        let too_long = "{\"error\":{\"message\":\"maximum context\"}}";
        check(whole(), None, &ok, Outcome::Ok, None);
        check(whole(), None, &overflow, Outcome::Overflow, None);
        check(
            Stop::End(End::Cut),
            None,
            &cut,
            Outcome::Failed,
            Some(FailureKind::Truncated),
        );
        check(Stop::End(End::Cut), None, &ok, Outcome::Ok, None);
        // A finish reason came, and then the connection broke.
        check(
            broken(),
            None,
            &ok,
            Outcome::Failed,
            Some(FailureKind::BrokenStream),
        );
        check(
            whole(),
            Some(TEXT),
            &cut,
            Outcome::Failed,
            Some(FailureKind::Refused),
        );
        check(
            broken(),
            Some(TEXT),
            &cut,
            Outcome::Failed,
            Some(FailureKind::Refused),
        );
        check(whole(), Some(too_long), &cut, Outcome::Overflow, None);
        check(late(), None, &ok, Outcome::Failed, Some(FailureKind::TimedOut));
        check(off(), None, &ok, Outcome::Cancelled, None);
        check(off().unless_over(true), None, &ok, Outcome::Ok, None);
        check(
            late().unless_over(false),
            None,
            &ok,
            Outcome::Failed,
            Some(FailureKind::TimedOut),
        );
        check(off(), Some(TEXT), &cut, Outcome::Cancelled, None);
    }
}
