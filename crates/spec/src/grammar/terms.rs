//! Tables of the terms that shapes, traces and replays share.

use super::{Bound, Field, Form, POSITIVE, Table, optional, required};
use crate::vocabulary as words;

pub(super) const CATEGORY: Field = optional("category", Form::Text, "Workload category, such as coding.");
pub(super) const THINKING: Field = optional(
    "thinking",
    Form::Switch(&words::THINKING),
    "Whether the model reasons: \"on\" or \"off\", quoted.",
);
pub(super) const ACCEPTANCE_FIELD: Field = optional(
    "acceptance",
    Form::Inline(&ACCEPTANCE),
    "Acceptance of speculative tokens, inline.",
);
pub(super) const ROUTING_FIELD: Field =
    optional("routing", Form::Inline(&ROUTING), "Routing imbalance, inline.");

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
