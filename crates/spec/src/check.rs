//! Rules that several arms share: each takes one key, tells at most one problem, and gives the value when it is right.

use crate::problem::{Report, shown};
use crate::view::View;
use crate::vocabulary::{listed, nearest, not_one_of};

/// A required word of a closed vocabulary; absent and empty are the same fault.
pub(crate) fn word<'a>(view: &View<'a>, report: &mut Report, key: &str, allowed: &[&str]) -> Option<&'a str> {
    let found = view.text(key).unwrap_or("");
    if found.is_empty() {
        let how = if view.has(key) { "is empty" } else { "is missing" };
        view.error(
            report,
            key,
            format!("{key} {how}; expected one of {}", listed(allowed)),
        );
        return None;
    }
    if allowed.contains(&found) {
        return Some(found);
    }
    let problem = view.error(report, key, not_one_of(found, allowed));
    if let Some(near) = nearest(found, allowed.iter().copied()) {
        problem.hint(format!("did you mean {near}?"));
    }
    None
}

/// A required text; absent and empty are the same fault.
pub(crate) fn text<'a>(view: &View<'a>, report: &mut Report, key: &str, expected: &str) -> Option<&'a str> {
    let found = view.text(key).unwrap_or("");
    if found.is_empty() {
        let how = if view.has(key) { "is empty" } else { "is missing" };
        view.error(report, key, format!("{key} {how}; expected {expected}"));
        return None;
    }
    Some(found)
}

/// An optional integer of at least `least`.
pub(crate) fn at_least(view: &View<'_>, report: &mut Report, key: &str, least: i128) -> Option<u64> {
    let found = view.integer(key)?;
    if found < least {
        let rule = if least == 0 {
            "must not be negative".to_owned()
        } else {
            format!("must be at least {least}")
        };
        view.error(report, key, format!("{key} {rule}, found {found}"));
        return None;
    }
    u64::try_from(found).ok()
}

/// A required integer of at least `least`; absent reads as 0.
pub(crate) fn required_at_least(view: &View<'_>, report: &mut Report, key: &str, least: i128) -> Option<u64> {
    if !view.has(key) {
        view.error(
            report,
            key,
            format!("{key} is missing; expected an integer of at least {least}"),
        );
        return None;
    }
    at_least(view, report, key, least)
}

/// An optional finite number that is not negative.
pub(crate) fn not_negative(view: &View<'_>, report: &mut Report, key: &str) -> Option<f64> {
    ruled(view, report, key, "finite and not negative", |value| value >= 0.0)
}

/// An optional finite number above zero.
pub(crate) fn positive(view: &View<'_>, report: &mut Report, key: &str) -> Option<f64> {
    ruled(view, report, key, "finite and above 0", |value| value > 0.0)
}

/// An optional number in [0, 1].
pub(crate) fn fraction(view: &View<'_>, report: &mut Report, key: &str) -> Option<f64> {
    ruled(view, report, key, "in [0, 1]", |value| {
        (0.0..=1.0).contains(&value)
    })
}

/// An optional finite number that a rule accepts.
pub(crate) fn ruled(
    view: &View<'_>,
    report: &mut Report,
    key: &str,
    rule: &str,
    accepts: impl Fn(f64) -> bool,
) -> Option<f64> {
    let found = view.number(key)?;
    if !found.is_finite() || !accepts(found) {
        view.error(
            report,
            key,
            format!("{key} must be {rule}, found {}", view.written(key)),
        );
        return None;
    }
    Some(found)
}

/// A digest that, if stated and not empty, is 64 hex digits; as lowercase.
pub(crate) fn digest(view: &View<'_>, report: &mut Report, key: &str) -> Option<String> {
    let found = view.text(key)?;
    if found.is_empty() {
        return None;
    }
    if is_digest(found) {
        return Some(found.to_ascii_lowercase());
    }
    view.error(report, key, not_a_digest(found));
    None
}

/// 64 hex digits of either case.
pub(crate) fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What is wrong with a digest.
pub(crate) fn not_a_digest(found: &str) -> String {
    let length = found.chars().count();
    if length == 64 {
        format!("expected 64 hex digits, found {}", shown(found))
    } else {
        format!(
            "expected 64 hex digits, found {} ({length} characters)",
            shown(found)
        )
    }
}
