//! From what serde read to a checked [`Row`]: which keys an entry must and may have, and in what range values lie.

use std::fmt;

use super::lenient::{Float, Int, Object};
use super::raw::{Nullable, RawEntry, RawRow, Text};
use super::{DeclaredPrefix, Entry, InputTypes, Request, Row, SECONDS_MAX, Stop, Subagent};
use crate::formats::RowProblem;

/// Where an entry stands in its row.
#[derive(Clone, Copy)]
struct At {
    outer: usize,
    inner: Option<usize>,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "requests[{}]", self.outer)?;
        match self.inner {
            Some(inner) => write!(f, ".requests[{inner}]"),
            None => Ok(()),
        }
    }
}

impl At {
    fn problem(self, key: &str, problem: impl Into<String>) -> RowProblem {
        RowProblem::field(format!("{self}.{key}"), problem)
    }

    fn required<T>(self, key: &str, value: Option<T>, what: &str) -> Result<T, RowProblem> {
        value.ok_or_else(|| self.problem(key, missing(what)))
    }

    /// Refuses keys of the other kinds of entry.
    fn forbidden(self, kind: &str, keys: &[(&str, bool)]) -> Result<(), RowProblem> {
        match keys.iter().find(|(_, present)| *present) {
            Some((key, _)) => Err(self.problem(
                key,
                format!("an entry of type `{kind}` has no such key; leave it out"),
            )),
            None => Ok(()),
        }
    }

    fn tokens(self, key: &str, value: Option<Int>) -> Result<u32, RowProblem> {
        let Int(value) = self.required(key, value, "a number of tokens")?;
        u32::try_from(value).map_err(|_| {
            self.problem(
                key,
                format!("{value} is no number of tokens; 0 to {} is right", u32::MAX),
            )
        })
    }

    fn start(self, value: Option<Float>) -> Result<f64, RowProblem> {
        let Float(value) = self.required("t", value, "a start in seconds")?;
        if value.abs() <= SECONDS_MAX {
            return Ok(value + 0.0); // makes -0.0 the 0.0 that it equals
        }
        Err(self.problem(
            "t",
            format!("{value} is no start in seconds; at most {SECONDS_MAX:e} either way is right"),
        ))
    }

    /// Not finite is let through: it counts as absent later.
    fn seconds(self, key: &str, value: Option<Nullable<Float>>) -> Result<Option<f64>, RowProblem> {
        match value.and_then(|value| value.0) {
            Some(Float(value)) if value.is_finite() && value.abs() > SECONDS_MAX => Err(self.problem(
                key,
                format!("{value} is no duration in seconds; at most {SECONDS_MAX:e} is right"),
            )),
            value => Ok(value.map(|Float(value)| value)),
        }
    }
}

fn missing(what: &str) -> String {
    format!("is missing; {what} is needed")
}

/// Checks a whole row.
pub(super) fn row(raw: RawRow<'_>) -> Result<Row, RowProblem> {
    fn required<T>(key: &str, value: Option<T>, what: &str) -> Result<T, RowProblem> {
        value.ok_or_else(|| RowProblem::field(key, missing(what)))
    }
    let id = required("id", raw.id, "the trace's id")?.into_owned();
    required("models", raw.models, "a list of model names")?;
    let Int(block_size) = required("block_size", raw.block_size, "the tokens of a block")?;
    if block_size <= 0 {
        let problem = format!("{block_size} is no block size; a number above 0 is right");
        return Err(RowProblem::field("block_size", problem));
    }
    let scope = required("hash_id_scope", raw.hash_id_scope, "`local`")?;
    if &*scope != "local" {
        let problem = format!("`{}` is not replayed; only `local` hash ids are", &*scope);
        return Err(RowProblem::field("hash_id_scope", problem));
    }
    let entries = required("requests", raw.requests, "the list of recorded requests")?;
    let entries = entries
        .into_iter()
        .enumerate()
        .map(|(outer, Object(raw))| entry(At { outer, inner: None }, raw));
    Ok(Row {
        id,
        block_size,
        declared: declared(raw.tool_tokens, raw.system_tokens),
        entries: entries.collect::<Result<_, _>>()?,
    })
}

fn declared(tool: Option<Int>, system: Option<Int>) -> DeclaredPrefix {
    let count = |value: Option<Int>| value.map_or(0, |Int(value)| value);
    DeclaredPrefix {
        tool_tokens: count(tool),
        system_tokens: count(system),
    }
}

fn entry(at: At, raw: RawEntry<'_>) -> Result<Entry, RowProblem> {
    match raw.kind.as_deref() {
        Some("n" | "s") => request(at, raw).map(Entry::Request),
        Some("subagent") => subagent(at, raw).map(Entry::Subagent),
        Some(other) => Err(at.problem(
            "type",
            format!("`{other}` is no type; `n`, `s` or `subagent` is right"),
        )),
        None => Err(at.problem("type", missing("`n`, `s` or `subagent`"))),
    }
}

fn request(at: At, raw: RawEntry<'_>) -> Result<Request, RowProblem> {
    let kind = raw.kind.as_deref().unwrap_or_default();
    let of_subagents = [
        ("agent_id", raw.agent_id.is_some()),
        ("subagent_type", raw.subagent_type.is_some()),
        ("duration_ms", raw.duration_ms.is_some()),
        ("total_tokens", raw.total_tokens.is_some()),
        ("tool_use_count", raw.tool_use_count.is_some()),
        ("status", raw.status.is_some()),
        ("requests", raw.requests.is_some()),
        ("models", raw.models.is_some()),
        ("tool_tokens", raw.tool_tokens.is_some()),
        ("system_tokens", raw.system_tokens.is_some()),
        ("ttft", kind == "n" && raw.ttft.is_some()),
    ];
    at.forbidden(kind, &of_subagents)?;
    at.seconds("ttft", raw.ttft)?;
    Ok(Request {
        t: at.start(raw.t)?,
        model: at
            .required("model", raw.model, "the recorded model")?
            .into_owned(),
        input: at.tokens("in", raw.input)?,
        output: at.tokens("out", raw.output)?,
        hash_ids: raw.hash_ids.map(|ids| ids.0).unwrap_or_default(),
        input_types: input_types(raw.input_types.as_deref().unwrap_or_default()),
        stop: match raw.stop.as_deref() {
            None | Some("") => Stop::Unknown,
            Some("tool_use") => Stop::ToolUse,
            Some(_) => Stop::Other,
        },
        api_time: at.seconds("api_time", raw.api_time)?,
        think_time: at.seconds("think_time", raw.think_time)?,
    })
}

fn input_types(types: &[Text<'_>]) -> Option<InputTypes> {
    if types.is_empty() {
        return None;
    }
    let tool_result = types.iter().any(|kind| &**kind == "tool_result");
    Some(if tool_result {
        InputTypes::ToolResult
    } else {
        InputTypes::Other
    })
}

fn subagent(at: At, raw: RawEntry<'_>) -> Result<Subagent, RowProblem> {
    if at.inner.is_some() {
        return Err(at.problem(
            "type",
            "a subagent inside a subagent; only `n` and `s` are right here",
        ));
    }
    let of_requests = [
        ("model", raw.model.is_some()),
        ("in", raw.input.is_some()),
        ("out", raw.output.is_some()),
        ("hash_ids", raw.hash_ids.is_some()),
        ("input_types", raw.input_types.is_some()),
        ("output_types", raw.output_types.is_some()),
        ("stop", raw.stop.is_some()),
        ("api_time", raw.api_time.is_some()),
        ("think_time", raw.think_time.is_some()),
        ("ttft", raw.ttft.is_some()),
    ];
    at.forbidden("subagent", &of_requests)?;
    let t = at.start(raw.t)?;
    let agent_id = at
        .required("agent_id", raw.agent_id, "the subagent's id")?
        .into_owned();
    at.required("subagent_type", raw.subagent_type, "the subagent's type")?;
    at.required("status", raw.status, "how the subagent ended")?;
    at.required("models", raw.models, "a list of model names")?;
    let duration_ms = raw.duration_ms.and_then(|value| value.0).map(|Int(value)| value);
    if let Some(duration) = duration_ms.filter(|ms| *ms as f64 / 1000.0 > SECONDS_MAX) {
        return Err(at.problem(
            "duration_ms",
            format!("{duration} ms is no duration; at most {SECONDS_MAX:e} s is right"),
        ));
    }
    let inner = at.required("requests", raw.requests, "the list of its requests")?;
    let inner = inner.into_iter().enumerate().map(|(index, Object(raw))| {
        let at = At {
            inner: Some(index),
            ..at
        };
        match entry(at, raw)? {
            Entry::Request(request) => Ok(request),
            Entry::Subagent(_) => unreachable!("an inner subagent entry is refused above"),
        }
    });
    Ok(Subagent {
        t,
        agent_id,
        duration_ms,
        declared: declared(raw.tool_tokens, raw.system_tokens),
        requests: inner.collect::<Result<_, _>>()?,
    })
}
