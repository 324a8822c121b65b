//! Tables of scenario documents and of catalog entries.

use super::{Bound, Field, Form, Table, optional, required};
use crate::vocabulary as words;

const NOT_NEGATIVE: Form = Form::Integer(Some(0));
const POSITIVE: Form = Form::Integer(Some(1));

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

/// A replay, inline or as a reference, and a catalog entry's definition (the two last without a lane count or a
/// reference, which the checks refuse).
pub(crate) static REPLAY: Table = Table {
    about: "A load generator's trace-replay scenario: inline, or a catalog entry with the run's own choices.",
    comments: false,
    fields: &[
        optional(
            "workload",
            Form::Text,
            "A catalog replay entry under workloads/, by file name.",
        ),
        optional("concurrency", POSITIVE, "Session-tree lanes, at least 1."),
        optional(
            "scenario",
            Form::Word(&words::SCENARIO_NAMES),
            "One of the replay scenarios.",
        ),
        optional(
            "harness_version",
            Form::Word(&words::HARNESS_VERSIONS),
            "The harness release it reproduces.",
        ),
        optional("corpus", Form::Mapping(&CORPUS), "The traces."),
        optional(
            "random_seed",
            NOT_NEGATIVE,
            "Seeds lane snapshots and prompt content. Omitted, 42.",
        ),
        optional(
            "benchmark_duration_s",
            Form::Number(Bound::AtLeast(900.0)),
            "Sending window in seconds. Omitted, 1800.",
        ),
        optional(
            "grace_period_s",
            Form::Number(Bound::AtLeast(0.0)),
            "Seconds that requests in flight get at the window's end; .inf waits for them. Omitted, 30.",
        ),
        optional(
            "max_context_length",
            Form::IntegerOr("max_model_len"),
            "Drops traces whose peak prompt plus output exceeds it. Omitted, no filter.",
        ),
        optional(
            "cache_bust",
            Form::Word(&["first_turn_prefix"]),
            "Locked to first_turn_prefix.",
        ),
        optional(
            "system_idle_gap_cap_s",
            Form::Number(Bound::Within(10.0, 10.0)),
            "Locked to 10.",
        ),
        optional(
            "trajectory_start",
            Form::Mapping(&TRAJECTORY_START),
            "Window of a trace's span that lane snapshots are drawn from. Omitted, the whole span.",
        ),
        optional(
            "warmup",
            Form::Mapping(&WARMUP),
            "How the server is primed. Omitted, synthesized.",
        ),
        optional(
            "split_flattened_agents",
            Form::Boolean,
            "Split agent chains that a capture flattened. Omitted, true.",
        ),
        optional("streaming", Form::Boolean, "Locked to true."),
        optional("ignore_eos", Form::Boolean, "Locked to true."),
        optional("ignore_trace_delays", Form::Boolean, "Locked to false."),
        optional("synthesis_max_isl", Form::Integer(None), "Must stay unset."),
        optional(
            "trace_idle_gap_cap_s",
            Form::Number(Bound::Above(0.0)),
            "Idle watchdog of a session tree, in seconds.",
        ),
        optional(
            "inter_turn_delay_cap_s",
            Form::Number(Bound::Free),
            "Must stay unset.",
        ),
        CATEGORY,
        THINKING,
        ACCEPTANCE_FIELD,
        ROUTING_FIELD,
    ],
};

static CORPUS: Table = Table {
    about: "The corpus a replay reads.",
    comments: false,
    fields: &[
        required(
            "loader",
            Form::Word(&crate::loaders::USABLE),
            "The harness' loader or public-dataset alias.",
        ),
        required(
            "format",
            Form::Word(&words::CORPUS_FORMATS),
            "Form of the traces.",
        ),
        required(
            "encoding",
            Form::Word(&words::CORPUS_ENCODINGS),
            "Encoding of the file.",
        ),
        required("source", Form::Mapping(&SOURCE), "Where it is published."),
        required("sha256", Form::Text, "Digest of the corpus file, 64 hex digits."),
    ],
};

static SOURCE: Table = Table {
    about: "Where a corpus is published.",
    comments: false,
    fields: &[
        required("huggingface", Form::Text, "The dataset repository, owner/name."),
        required("revision", Form::Text, "The commit the corpus was observed at."),
        optional(
            "file",
            Form::Text,
            "The corpus file's path in the repository. Omitted, traces.jsonl.",
        ),
        optional("split", Form::Text, "The dataset split. Omitted, train."),
    ],
};

static TRAJECTORY_START: Table = Table {
    about: "Bounds as fractions of a trace's span, from its first request's start to its last's.",
    comments: false,
    fields: &[
        optional(
            "min_ratio",
            Form::Number(Bound::Within(0.0, 1.0)),
            "Lower bound. Omitted, 0.",
        ),
        optional(
            "max_ratio",
            Form::Number(Bound::Within(0.0, 1.0)),
            "Upper bound. Omitted, 1.",
        ),
    ],
};

static WARMUP: Table = Table {
    about: "How the server is primed before profiling.",
    comments: false,
    fields: &[
        required("mode", Form::Word(&words::WARMUP_MODES), "The warm-up mode."),
        optional(
            "duration_s",
            Form::Number(Bound::Above(0.0)),
            "Length of a cache_pressure warm-up in seconds.",
        ),
        optional(
            "requests_per_lane",
            POSITIVE,
            "Extra one-token requests of each lane in a cache_pressure warm-up.",
        ),
    ],
};

const CATEGORY: Field = optional("category", Form::Text, "Workload category, such as coding.");
const THINKING: Field = optional(
    "thinking",
    Form::Switch(&words::THINKING),
    "Whether the model reasons: \"on\" or \"off\", quoted.",
);
const ACCEPTANCE_FIELD: Field = optional(
    "acceptance",
    Form::Inline(&ACCEPTANCE),
    "Acceptance of speculative tokens, inline.",
);
const ROUTING_FIELD: Field = optional("routing", Form::Inline(&ROUTING), "Routing imbalance, inline.");

pub(crate) static ACCEPTANCE: Table = Table {
    about: "Acceptance of speculative tokens: exactly one of length and rates.",
    comments: false,
    fields: &[
        optional(
            "length",
            Form::Number(Bound::AtLeast(1.0)),
            "Mean tokens a verification step emits.",
        ),
        optional(
            "rates",
            Form::Numbers,
            "Probability that each draft position is accepted; not rising.",
        ),
        optional("num_speculative_tokens", POSITIVE, "Draft length."),
        optional("method", Form::Text, "How it is known."),
        optional("sources", Form::Any, "Where it is from."),
        optional("rationale", Form::Any, "Why it holds."),
    ],
};

pub(crate) static ROUTING: Table = Table {
    about: "Imbalance of expert routing.",
    comments: false,
    fields: &[
        required(
            "imbalance",
            Form::Number(Bound::AtLeast(1.0)),
            "Load of the busiest over the mean; 1 is even.",
        ),
        optional("method", Form::Text, "How it is known."),
        optional("sources", Form::Any, "Where it is from."),
        optional("rationale", Form::Any, "Why it holds."),
    ],
};

/// A catalog file with a top-level `replay`.
pub(crate) static REPLAY_ENTRY: Table = Table {
    about: "A catalog replay entry: a definition without a lane count.",
    comments: true,
    fields: &[required("replay", Form::Mapping(&REPLAY), "The definition.")],
};

/// Any other catalog file.
pub(crate) static SHAPE: Table = Table {
    about: "A workload shape: lengths as distributions.",
    comments: true,
    fields: &[
        optional(
            "prefix_tokens",
            NOT_NEGATIVE,
            "Length of the prefix that requests share. Zero is none.",
        ),
        required("prompt", Form::Mapping(&LENGTH), "Prompt lengths."),
        required("output", Form::Mapping(&LENGTH), "Output lengths."),
        CATEGORY,
        THINKING,
        ACCEPTANCE_FIELD,
        ROUTING_FIELD,
    ],
};

static LENGTH: Table = Table {
    about: "A distribution of lengths, in tokens.",
    comments: true,
    fields: &[
        required("tokens", POSITIVE, "Mean length."),
        optional("tokens_stdev", NOT_NEGATIVE, "Standard deviation."),
        optional("tokens_min", NOT_NEGATIVE, "Lower bound. Zero is unset."),
        optional("tokens_max", Form::Integer(None), "Upper bound. Zero is unset."),
    ],
};
