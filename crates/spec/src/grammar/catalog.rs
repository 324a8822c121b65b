//! Tables of catalog files.

use super::replay::REPLAY;
use super::terms::{ACCEPTANCE_FIELD, CATEGORY, ROUTING_FIELD, THINKING};
use super::{Form, NOT_NEGATIVE, POSITIVE, Table, optional, required};

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
