//! What an unquoted word means: the core schema of YAML 1.2, §10.3.2.
//!
//! Two readings are narrower, as the common readers have it (`bindings.md` §5.6): an integer with a leading zero is
//! text, and nothing but `true` and `false` is a boolean.

/// The meaning of a scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Meaning {
    Null,
    Boolean(bool),
    Integer(i128),
    Float(f64),
    Text,
}

/// The meaning of an unquoted scalar.
pub(crate) fn meaning(text: &str) -> Meaning {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Meaning::Null,
        "true" | "True" | "TRUE" => return Meaning::Boolean(true),
        "false" | "False" | "FALSE" => return Meaning::Boolean(false),
        ".nan" | ".NaN" | ".NAN" => return Meaning::Float(f64::NAN),
        _ => {}
    }
    let (negative, magnitude) = match text.as_bytes()[0] {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if matches!(magnitude, ".inf" | ".Inf" | ".INF") {
        return Meaning::Float(if negative {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        });
    }
    if let Some(value) = radix(text, "0x", 16).or_else(|| radix(text, "0o", 8)) {
        return Meaning::Integer(value);
    }
    if all_digits(magnitude) {
        if magnitude.len() > 1 && magnitude.starts_with('0') {
            return Meaning::Text;
        }
        return match text.parse::<i128>() {
            Ok(value) => Meaning::Integer(value),
            Err(_) => Meaning::Integer(if negative { i128::MIN } else { i128::MAX }),
        };
    }
    if is_float(magnitude) {
        return text.parse().map_or(Meaning::Text, Meaning::Float);
    }
    Meaning::Text
}

fn radix(text: &str, prefix: &str, base: u32) -> Option<i128> {
    let digits = text.strip_prefix(prefix)?;
    let valid = !digits.is_empty() && digits.chars().all(|c| c.is_digit(base));
    valid.then(|| i128::from_str_radix(digits, base).unwrap_or(i128::MAX))
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    if exponent.is_some_and(|digits| !all_digits(digits.strip_prefix(['-', '+']).unwrap_or(digits))) {
        return false;
    }
    match mantissa.split_once('.') {
        None => all_digits(mantissa),
        Some(("", fraction)) => all_digits(fraction),
        Some((whole, fraction)) => all_digits(whole) && (fraction.is_empty() || all_digits(fraction)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mean_what_yaml_1_2_says() {
        let cases = [
            ("on", Meaning::Text),
            ("yes", Meaning::Text),
            ("True", Meaning::Boolean(true)),
            ("~", Meaning::Null),
            ("", Meaning::Null),
            ("0.12.0", Meaning::Text),
            ("0.12", Meaning::Float(0.12)),
            ("12e45", Meaning::Float(12e45)),
            ("-7", Meaning::Integer(-7)),
            ("+7", Meaning::Integer(7)),
            ("010", Meaning::Text),
            ("0o10", Meaning::Integer(8)),
            ("0x10", Meaning::Integer(16)),
            ("1_000", Meaning::Text),
            ("64.", Meaning::Float(64.0)),
            (".5", Meaning::Float(0.5)),
            (".", Meaning::Text),
            ("e5", Meaning::Text),
            ("1e", Meaning::Text),
            ("-", Meaning::Text),
            ("inf", Meaning::Text),
            ("+.inf", Meaning::Float(f64::INFINITY)),
            ("-.INF", Meaning::Float(f64::NEG_INFINITY)),
            ("infinity", Meaning::Text),
            ("nan", Meaning::Text),
        ];
        for (text, expected) in cases {
            assert_eq!(meaning(text), expected, "{text:?}");
        }
        assert!(matches!(meaning(".nan"), Meaning::Float(value) if value.is_nan()));
    }
}
