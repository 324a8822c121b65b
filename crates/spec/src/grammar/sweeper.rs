//! Tables of Sweeper documents (`sweeper-traffic.md` §1 and §3).

use super::{Bound, Form, Table, optional};
use crate::vocabulary as words;

/// A Sweeper document.
pub(crate) static DOCUMENT: Table = Table {
    about: "Sweeper traffic and the goal it serves.",
    comments: false,
    fields: &[
        optional(
            "workload",
            Form::Mapping(&WORKLOAD),
            "The traffic, one of four load shapes.",
        ),
        optional("goal", Form::Mapping(&GOAL), "What the traffic is judged by."),
        optional("search_space", Form::Any, "Kept, not read."),
        optional("adapters", Form::Any, "Kept, not read."),
        optional("sweep", Form::Any, "Kept, not read."),
    ],
};

/// The traffic. Its keys also tell a Sweeper document from a scenario.
pub(crate) static WORKLOAD: Table = Table {
    about: "One of four load shapes: trace, request rate, concurrency, KV load.",
    comments: false,
    fields: &[
        optional("isl", Form::Integer(Some(1)), "Prompt tokens a request."),
        optional("osl", Form::Integer(Some(1)), "Output tokens a request."),
        optional(
            "num_request_ratio",
            Form::Number(Bound::Above(0.0)),
            "Requests a unit of load.",
        ),
        optional(
            "request_rate",
            Form::Number(Bound::Above(0.0)),
            "Requests a second, open loop.",
        ),
        optional(
            "concurrency",
            Form::Integer(Some(1)),
            "Cap of sessions in flight, closed loop.",
        ),
        optional(
            "kv_load_ratio",
            Form::NumberOrRange,
            "Fraction of the server's KV capacity; a range of two under a pareto goal.",
        ),
        optional(
            "shared_prefix_ratio",
            Form::Number(Bound::Within(0.0, 1.0)),
            "Share of a prompt's blocks common to its group.",
        ),
        optional(
            "num_prefix_groups",
            Form::Integer(Some(0)),
            "Number of prefix groups; 0 turns sharing off.",
        ),
        optional("turns_per_session", Form::Integer(Some(1)), "Turns of a session."),
        optional(
            "inter_turn_delay_ms",
            Form::Number(Bound::AtLeast(0.0)),
            "Wait after a turn's completion, in milliseconds.",
        ),
        optional(
            "trace_path",
            Form::Text,
            "Trace file, relative to this document; selects the trace shape.",
        ),
        optional(
            "trace_format",
            Form::Word(&words::TRACE_FORMATS),
            "Format of the trace. Omitted, mooncake.",
        ),
        optional(
            "arrival_speedup_ratio",
            Form::Number(Bound::Above(0.0)),
            "Divides recorded times; above 1 is faster.",
        ),
        optional(
            "replay_concurrency",
            Form::Integer(Some(1)),
            "Cap of sessions in flight for a trace.",
        ),
    ],
};

static GOAL: Table = Table {
    about: "What a sweep optimises.",
    comments: false,
    fields: &[
        optional(
            "target",
            Form::Word(&words::GOAL_TARGETS),
            "The metric. Omitted, throughput.",
        ),
        optional(
            "sla",
            Form::Mapping(&SLA),
            "Latency bounds that goodput counts against.",
        ),
        optional(
            "pareto_objectives",
            Form::Texts,
            "At least two targets; only with target pareto.",
        ),
    ],
};

static SLA: Table = Table {
    about: "Latency bounds in milliseconds.",
    comments: false,
    fields: &[
        optional("ttft_ms", Form::Number(Bound::Above(0.0)), "Time to first token."),
        optional("itl_ms", Form::Number(Bound::Above(0.0)), "Inter-token latency."),
        optional("e2e_ms", Form::Number(Bound::Above(0.0)), "End-to-end latency."),
    ],
};
