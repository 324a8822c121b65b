//! Shapes: traffic as distributions of lengths, kept in the catalog (`bindings.md` §7 and §11.5).
//!
//! The numbers only; drawing lengths from them is not done here.

use crate::check;
use crate::effective::Setting;
use crate::problem::Report;
use crate::replay::Origin;
use crate::terms::{self, Terms};
use crate::view::View;

/// A checked shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Length of the prefix that all requests share, in tokens, inside the prompt; 0 is none.
    pub prefix_tokens: u64,
    /// Prompt lengths.
    pub prompt: Lengths,
    /// Output lengths.
    pub output: Lengths,
    /// Category, thinking, acceptance, routing.
    pub terms: Terms,
}

/// A distribution of lengths, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Mean, at least 1.
    pub mean: u64,
    /// Standard deviation; 0 gives the mean every time.
    pub stdev: u64,
    /// Lower bound, if set.
    pub min: Option<u64>,
    /// Upper bound, if set.
    pub max: Option<u64>,
}

/// Checks a shape at the root of a catalog file.
pub(crate) fn check(view: &View<'_>, report: &mut Report) -> Option<Shape> {
    let prefix_tokens = prefix_tokens(view, report);
    let prompt = lengths(&view.mapping("prompt"), report);
    let output = lengths(&view.mapping("output"), report);
    let terms = terms::check(view, report);
    Some(Shape {
        prefix_tokens: prefix_tokens?,
        prompt: prompt?,
        output: output?,
        terms,
    })
}

fn prefix_tokens(view: &View<'_>, report: &mut Report) -> Option<u64> {
    if !view.has("prefix_tokens") {
        return Some(0);
    }
    let prefix = check::at_least(view, report, "prefix_tokens", 0)?;
    let mean = view.mapping("prompt").integer("tokens").unwrap_or(0);
    // A mean below 1 has its own problem; comparing with it would tell the same fault twice.
    if mean >= 1 && i128::from(prefix) > mean {
        view.error(
            report,
            "prefix_tokens",
            format!(
                "the prefix is longer than the mean prompt: {prefix} is above {mean}; expected at most it"
            ),
        );
        return None;
    }
    Some(prefix)
}

fn lengths(view: &View<'_>, report: &mut Report) -> Option<Lengths> {
    let mean = check::required_at_least(view, report, "tokens", 1);
    let stdev = check::at_least(view, report, "tokens_stdev", 0);
    let min = check::at_least(view, report, "tokens_min", 0).filter(|min| *min > 0);
    let max = upper_bound(view, report);
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        view.error(
            report,
            "tokens_min",
            format!("tokens_min exceeds tokens_max: {min} is above {max}; expected at most it"),
        );
    }
    let mean = mean?;
    if let Some(min) = min
        && mean < min
    {
        view.error(
            report,
            "tokens",
            format!("the mean is below tokens_min: {mean} is below {min}; expected at least it"),
        );
    }
    if let Some(max) = max
        && mean > max
    {
        view.error(
            report,
            "tokens",
            format!("the mean is above tokens_max: {mean} is above {max}; expected at most it"),
        );
    }
    Some(Lengths {
        mean,
        stdev: stdev.unwrap_or(0),
        min,
        max,
    })
}

fn upper_bound(view: &View<'_>, report: &mut Report) -> Option<u64> {
    let found = view.integer("tokens_max")?;
    if found < 0 {
        view.warning(
            report,
            "tokens_max",
            format!("a negative tokens_max bounds nothing, found {found}"),
        )
        .hint("leave it out, or write the longest length");
    }
    u64::try_from(found).ok().filter(|max| *max > 0)
}

impl Shape {
    /// Every key of the shape with its effective value, as a catalog file states it.
    pub fn settings(&self, origin: Origin) -> Vec<Setting> {
        let mut settings = vec![
            Setting::leaf("prefix_tokens", self.prefix_tokens, origin),
            Setting::group("prompt", self.prompt.settings(origin)),
            Setting::group("output", self.output.settings(origin)),
        ];
        settings.extend(self.terms.settings(|_| origin));
        settings
    }
}

impl Lengths {
    fn settings(self, origin: Origin) -> Vec<Setting> {
        vec![
            Setting::leaf("tokens", self.mean, origin),
            Setting::leaf("tokens_stdev", self.stdev, origin),
            Setting::leaf("tokens_min", self.min, origin),
            Setting::leaf("tokens_max", self.max, origin),
        ]
    }
}
