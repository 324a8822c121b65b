//! The terms that shapes, traces and replays share: category, thinking, acceptance, routing (`bindings.md` §1.7, §2).
//!
//! A live load generator enacts none of them; they are checked and carried into the run record.

use crate::check;
use crate::problem::{Report, shown};
use crate::view::{View, number};
use crate::vocabulary::{THINKING, listed};
use crate::yaml::scalar::Meaning;
use crate::yaml::{Node, json};

/// Longest category.
const CATEGORY_CHARACTERS_MAX: usize = 64;

/// The checked terms; `None` is "not stated".
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Terms {
    /// Workload category, such as `coding`.
    pub category: Option<String>,
    /// Whether the model reasons.
    pub thinking: Option<Thinking>,
    /// Acceptance of speculative tokens, kept as stated.
    pub acceptance: Option<Inline>,
    /// Routing imbalance, kept as stated.
    pub routing: Option<Inline>,
}

/// Whether the model reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinking {
    /// It does.
    On,
    /// It does not.
    Off,
}

impl Thinking {
    /// `on` or `off`.
    pub fn as_str(self) -> &'static str {
        match self {
            Thinking::On => "on",
            Thinking::Off => "off",
        }
    }
}

/// A mapping kept as it was written, unknown keys included.
#[derive(Clone, Debug, PartialEq)]
pub struct Inline(pub(crate) Node);

impl Inline {
    /// The mapping as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        json(&self.0)
    }
}

/// Checks the four terms of a mapping.
pub(crate) fn check(view: &View<'_>, report: &mut Report) -> Terms {
    Terms {
        category: category(view, report),
        thinking: thinking(view, report),
        acceptance: acceptance(view, report),
        routing: routing(view, report),
    }
}

fn category(view: &View<'_>, report: &mut Report) -> Option<String> {
    let found = view.text("category")?;
    let well_formed = !found.is_empty()
        && found.len() <= CATEGORY_CHARACTERS_MAX
        && found.split(['-', '_']).all(|part| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        });
    if !well_formed {
        view.error(
            report,
            "category",
            format!(
                "{} is not a category; expected lowercase words and digits joined by - or _, at most \
                 {CATEGORY_CHARACTERS_MAX} characters, such as coding",
                shown(found)
            ),
        );
        return None;
    }
    Some(found.to_owned())
}

fn thinking(view: &View<'_>, report: &mut Report) -> Option<Thinking> {
    let node = view.get("thinking")?;
    if let Some(Meaning::Boolean(value)) = node.meaning() {
        let word = if value { "on" } else { "off" };
        view.error(
            report,
            "thinking",
            format!("must be on or off, found the boolean {}", node.text()),
        )
        .hint(format!(
            "quote the word: thinking: \"{word}\"; without quotes, YAML 1.1 writers turn it into a boolean"
        ));
        return None;
    }
    match node.text() {
        "on" => Some(Thinking::On),
        "off" => Some(Thinking::Off),
        other => {
            view.error(
                report,
                "thinking",
                format!("{} is not one of {}", shown(other), listed(&THINKING)),
            )
            .hint("write thinking: \"on\" or thinking: \"off\"");
            None
        }
    }
}

fn acceptance(view: &View<'_>, report: &mut Report) -> Option<Inline> {
    let node = view.get("acceptance")?;
    let inline = view.mapping("acceptance");
    if node.entries().is_empty() {
        inline.error_here(
            report,
            "acceptance is empty; expected exactly one of length and rates",
        );
        return None;
    }
    let draft = check::at_least(&inline, report, "num_speculative_tokens", 1);
    match (inline.has("length"), inline.has("rates")) {
        (true, true) => {
            inline.error_here(
                report,
                "both length and rates are stated; expected exactly one of them",
            );
        }
        (false, false) => {
            inline.error_here(
                report,
                "neither length nor rates is stated; expected exactly one of them",
            );
        }
        (true, false) => length(&inline, report, draft),
        (false, true) => rates(&inline, report, draft),
    }
    Some(Inline(node.clone()))
}

fn length(inline: &View<'_>, report: &mut Report, draft: Option<u64>) {
    if !inline.has("num_speculative_tokens") {
        inline.error(
            report,
            "num_speculative_tokens",
            "num_speculative_tokens is missing; a stated length needs the draft length beside it",
        );
    }
    let most = draft.map_or(f64::INFINITY, |draft| draft as f64 + 1.0);
    let rule = match draft {
        Some(draft) => format!(
            "finite and in [1, {}], the draft length plus one",
            draft as f64 + 1.0
        ),
        None => "finite and at least 1".to_owned(),
    };
    check::ruled(inline, report, "length", &rule, |value| {
        (1.0..=most).contains(&value)
    });
}

fn rates(inline: &View<'_>, report: &mut Report, draft: Option<u64>) {
    let items = inline.list("rates").unwrap_or(&[]);
    let values: Vec<f64> = items.iter().filter_map(number).collect();
    if items.is_empty() {
        inline.error(
            report,
            "rates",
            "rates is empty; expected one probability for each draft position",
        );
    } else if let Some(at) = values.iter().position(|rate| !(0.0..=1.0).contains(rate)) {
        let found = items[at].text();
        inline.error(
            report,
            "rates",
            format!("each rate must be in [0, 1], found {found} at position {at}"),
        );
    } else if let Some(at) = values.windows(2).position(|pair| pair[1] > pair[0]) {
        let (before, after) = (items[at].text(), items[at + 1].text());
        inline.error(
            report,
            "rates",
            format!("rates must not rise, found {after} after {before}"),
        );
    }
    if draft.is_some_and(|draft| !items.is_empty() && draft != items.len() as u64) {
        inline.error(
            report,
            "num_speculative_tokens",
            format!(
                "num_speculative_tokens must be the number of rates, {}, found {}",
                items.len(),
                inline.written("num_speculative_tokens")
            ),
        );
    }
}

fn routing(view: &View<'_>, report: &mut Report) -> Option<Inline> {
    let node = view.get("routing")?;
    let inline = view.mapping("routing");
    if node.entries().is_empty() {
        inline.error_here(report, "routing is empty; expected imbalance");
        return None;
    }
    if inline.has("imbalance") {
        check::ruled(&inline, report, "imbalance", "finite and at least 1", |value| {
            value >= 1.0
        });
    } else {
        inline.error(
            report,
            "imbalance",
            "imbalance is missing; expected a number of at least 1",
        );
    }
    Some(Inline(node.clone()))
}
