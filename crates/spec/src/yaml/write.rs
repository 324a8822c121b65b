//! Tree to text again: one-line YAML for what we print, JSON for what we record.

use serde_json::{Map, Number};

use super::{Node, Value, scalar::Meaning};

/// A number as JSON has it. What JSON has no form for becomes the words `inf`, `-inf`, `nan` (`bindings.md` §5.5).
pub(crate) fn json_number(value: f64) -> serde_json::Value {
    match Number::from_f64(value) {
        Some(number) => serde_json::Value::Number(number),
        None if value.is_nan() => "nan".into(),
        None if value > 0.0 => "inf".into(),
        None => "-inf".into(),
    }
}

/// A node as JSON.
pub(crate) fn json(node: &Node) -> serde_json::Value {
    match (&node.value, node.meaning()) {
        (Value::List(items), _) => items.iter().map(json).collect(),
        (Value::Mapping(entries), _) => {
            let object: Map<_, _> = entries
                .iter()
                .map(|(key, value)| (key.text.clone(), json(value)))
                .collect();
            object.into()
        }
        (_, Some(Meaning::Null)) => serde_json::Value::Null,
        (_, Some(Meaning::Boolean(value))) => value.into(),
        (_, Some(Meaning::Integer(value))) => {
            Number::from_i128(value).map_or_else(|| node.text().into(), serde_json::Value::Number)
        }
        (_, Some(Meaning::Float(value))) => json_number(value),
        (Value::Scalar(scalar), _) => scalar.text.clone().into(),
    }
}

/// A node on one line of YAML that reads back as the same node.
pub(crate) fn flow(node: &Node) -> String {
    match &node.value {
        Value::Scalar(scalar) if scalar.plain && node.meaning() != Some(Meaning::Text) => {
            if scalar.text.is_empty() {
                "null".to_owned()
            } else {
                scalar.text.clone()
            }
        }
        Value::Scalar(scalar) => quoted(&scalar.text),
        Value::List(items) => {
            let items: Vec<_> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Mapping(entries) => {
            let entries: Vec<_> = entries
                .iter()
                .map(|(key, value)| format!("{}: {}", quoted(&key.text), flow(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// Text in double quotes, every character that could be misread escaped.
pub(crate) fn quoted(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            // Printable in YAML and no break or mark that a reader may treat specially.
            ' '..='~' | '\u{a1}'..='\u{2027}' | '\u{202a}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' => {
                out.push(character);
            }
            '\u{10000}'.. => out.push(character),
            other => write!(out, "\\u{:04x}", other as u32).expect("a string takes everything"),
        }
    }
    out.push('"');
    out
}
