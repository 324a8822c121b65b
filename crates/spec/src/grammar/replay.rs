//! Tables of the replay arm.

use super::terms::{ACCEPTANCE_FIELD, CATEGORY, ROUTING_FIELD, THINKING};
use super::{Bound, Form, NOT_NEGATIVE, POSITIVE, Table, optional, required};
use crate::vocabulary as words;

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
