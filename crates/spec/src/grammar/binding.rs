//! Tables of scenario and binding documents, and of the trace arm.

use super::replay::REPLAY;
use super::terms::{ACCEPTANCE_FIELD, CATEGORY, ROUTING_FIELD, THINKING};
use super::{Bound, Form, NOT_NEGATIVE, POSITIVE, Table, optional, required};
use crate::vocabulary as words;

/// A scenario or binding document (`bindings.md` §3).
pub(crate) static SCENARIO: Table = Table {
    about: "A scenario: what is run, and the traffic it gets.",
    comments: false,
    fields: &[
        optional("kind", Form::Word(&["Scenario"]), "Scenario, if stated."),
        optional("name", Form::Any, "Copied to the run record."),
        optional(
            "model",
            Form::Any,
            "A catalog model. Kept, not read: the served model comes from the server.",
        ),
        optional("coefficients", Form::Any, "Kept, not read."),
        optional(
            "engine_version",
            Form::Any,
            "Release of the serving engine; a server that differs draws a warning.",
        ),
        optional(
            "workload",
            Form::Mapping(&WORKLOAD),
            "The traffic. Without it there is nothing to run.",
        ),
        optional("cluster", Form::Any, "Kept, not read."),
    ],
};

pub(crate) static WORKLOAD: Table = Table {
    about: "Exactly one of shape, trace and replay.",
    comments: false,
    fields: &[
        optional(
            "shape",
            Form::Text,
            "A workload shape under workloads/ in the catalog.",
        ),
        optional("trace", Form::Mapping(&TRACE), "A captured trace."),
        optional(
            "replay",
            Form::Mapping(&REPLAY),
            "A trace-replay scenario over a pinned corpus.",
        ),
    ],
};

static TRACE: Table = Table {
    about: "A captured file of real requests and how to read it.",
    comments: false,
    fields: &[
        required(
            "data",
            Form::Text,
            "Path of the per-request data CSV, relative to this document.",
        ),
        optional("sha256", Form::Text, "Digest of the data file, 64 hex digits."),
        optional("rows", NOT_NEGATIVE, "Expected number of rows."),
        required("header", Form::Mapping(&HEADER), "How to read the file."),
        optional(
            "token_blocks",
            Form::Mapping(&TOKEN_BLOCKS),
            "The per-request block-hash sidecar.",
        ),
        CATEGORY,
        THINKING,
        ACCEPTANCE_FIELD,
        ROUTING_FIELD,
    ],
};

static TOKEN_BLOCKS: Table = Table {
    about: "The block-hash sidecar, with which prefix-cache hits are reproduced exactly.",
    comments: false,
    fields: &[
        required(
            "path",
            Form::Text,
            "Path of the sidecar, relative to this document.",
        ),
        required("sha256", Form::Text, "Its digest, 64 lowercase hex digits."),
    ],
};

static HEADER: Table = Table {
    about: "The trace header.",
    comments: false,
    fields: &[
        required(
            "trace_version",
            POSITIVE,
            "Format version of the data file, at least 1.",
        ),
        required(
            "time_unit",
            Form::Word(&words::TIME_UNIT_NAMES),
            "Unit of the timestamp columns.",
        ),
        required(
            "mode",
            Form::Word(&words::TRACE_MODES),
            "How the trace was produced.",
        ),
        optional(
            "workload_seed",
            Form::Integer(None),
            "The generator's seed; 0 is a seed.",
        ),
        optional(
            "server",
            Form::Mapping(&SERVER),
            "The server the trace came from.",
        ),
        optional(
            "goodput_slo_targets",
            Form::Named(&SLO),
            "Latency targets by SLO class.",
        ),
    ],
};

static SERVER: Table = Table {
    about: "The server a trace came from. Zero is unrecorded.",
    comments: false,
    fields: &[
        optional("type", Form::Text, "The serving engine."),
        optional("model", Form::Text, "The model it served."),
        optional("tensor_parallel", NOT_NEGATIVE, "Tensor-parallel width."),
        optional("max_num_seqs", NOT_NEGATIVE, "Sequence cap."),
        optional("block_size", NOT_NEGATIVE, "KV block size in tokens."),
        optional(
            "gpu_memory_utilization",
            Form::Number(Bound::Within(0.0, 1.0)),
            "Fraction of GPU memory.",
        ),
        optional("max_model_len", NOT_NEGATIVE, "Context length in tokens."),
    ],
};

static SLO: Table = Table {
    about: "Latency targets of one class, in milliseconds. Zero leaves a dimension free; one must not be zero.",
    comments: false,
    fields: &[
        optional(
            "ttft_ms",
            Form::Number(Bound::AtLeast(0.0)),
            "Time to first token.",
        ),
        optional(
            "itl_ms",
            Form::Number(Bound::AtLeast(0.0)),
            "Inter-token latency.",
        ),
        optional("e2e_ms", Form::Number(Bound::AtLeast(0.0)), "End-to-end latency."),
    ],
};
