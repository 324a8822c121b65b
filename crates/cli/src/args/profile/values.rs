//! Values in the forms that aiperf 0.12.0 takes: number lists, `key:value` pairs, JSON objects.

use serde_json::value::RawValue;
use std::fmt;
use std::str::FromStr;

/// One number, or several with commas between them, which is aiperf's way to state a sweep.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series<T>(Vec<T>);

impl<T: Copy + FromStr> Series<T> {
    /// Reads the text of a flag.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        text.split(',')
            .map(|part| {
                let part = part.trim();
                part.parse()
                    .map_err(|_| format!("{part:?} is not a number that fits here"))
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The first value, the only one of no sweep.
    pub(crate) fn first(&self) -> T {
        self.0[0]
    }

    /// Whether it states a sweep.
    pub(crate) fn is_sweep(&self) -> bool {
        self.0.len() > 1
    }
}

/// Fields in the order given, values as JSON text.
pub(crate) type Extra = Vec<(String, Box<RawValue>)>;

/// Reads every `--extra-inputs`: JSON objects, or `key:value` pairs with commas between them.
pub(crate) fn extra_inputs(items: &[String]) -> Result<Extra, String> {
    let mut extra = Extra::new();
    for item in items {
        let item = item.trim();
        if item.starts_with('{') {
            let Object(fields) =
                serde_json::from_str(item).map_err(|error| format!("{item}: no JSON object ({error})"))?;
            extra.extend(fields);
            continue;
        }
        for pair in item.split(',') {
            let (key, value) = pair
                .split_once(':')
                .ok_or_else(|| format!("{pair:?}: expected key:value or a JSON object"))?;
            extra.push((key.trim().to_owned(), coerced(value.trim())?));
        }
    }
    Ok(extra)
}

/// Reads every `--header` into lines `Name: value`. A comma separates headers only where each part has a colon.
pub(crate) fn headers(items: &[String]) -> Result<Vec<String>, String> {
    let mut lines = Vec::new();
    for item in items {
        let item = item.trim();
        if item.starts_with('{') {
            let Object(fields) =
                serde_json::from_str(item).map_err(|error| format!("{item}: no JSON object ({error})"))?;
            for (name, value) in fields {
                let text =
                    serde_json::from_str::<String>(value.get()).unwrap_or_else(|_| value.get().to_owned());
                lines.push(format!("{name}: {text}"));
            }
        } else if item.split(',').all(|part| part.contains(':')) {
            lines.extend(item.split(',').map(str::to_owned));
        } else {
            lines.push(item.to_owned());
        }
    }
    Ok(lines)
}

/// The JSON value that a bare word stands for.
fn coerced(word: &str) -> Result<Box<RawValue>, String> {
    let lower = word.to_ascii_lowercase();
    let digits = word.strip_prefix('-').unwrap_or(word);
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let json = match lower.as_str() {
        "true" | "false" => lower,
        "none" | "null" => "null".to_owned(),
        _ if all_digits(digits) && (!digits.starts_with('0') || digits == "0") => word.to_owned(),
        _ if word.matches('.').count() == 1 && all_digits(&digits.replace('.', "")) => {
            let number: f64 = word.parse().map_err(|_| format!("{word:?} is no number"))?;
            format!("{number:?}")
        }
        _ => serde_json::Value::from(word).to_string(),
    };
    RawValue::from_string(json).map_err(|error| format!("{word:?}: {error}"))
}

/// A JSON object whose fields keep their order and their text.
struct Object(Extra);

impl<'de> serde::Deserialize<'de> for Object {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> serde::de::Visitor<'de> for Fields {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut fields = Extra::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Object(fields))
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extra_inputs_keep_their_order_and_get_json_values() {
        let read = |items: &[&str]| {
            let items: Vec<String> = items.iter().map(|item| (*item).to_owned()).collect();
            extra_inputs(&items).map(|fields| {
                fields
                    .into_iter()
                    .map(|(key, value)| format!("{key}={}", value.get()))
                    .collect::<Vec<_>>()
            })
        };
        let cases: &[(&[&str], &[&str])] = &[
            (&["temperature:0.5,top_k:40"], &["temperature=0.5", "top_k=40"]),
            (&["ignore_eos:no"], &["ignore_eos=\"no\""]),
            (&["a:TRUE", "b:null"], &["a=true", "b=null"]),
            (
                &["a:007,b:-3,c:-0.5,d:1."],
                &["a=\"007\"", "b=-3", "c=-0.5", "d=1.0"],
            ),
            (
                &[r#"{"z": {"b": 1, "a": 2}, "a": [1]}"#],
                &[r#"z={"b": 1, "a": 2}"#, "a=[1]"],
            ),
            (&["url:http://h:1"], &["url=\"http://h:1\""]),
        ];
        for (items, expected) in cases {
            assert_eq!(read(items).unwrap(), *expected, "{items:?}");
        }
        assert!(read(&["lonely"]).is_err());
        assert!(read(&["{\"a\":"]).is_err());
    }

    #[test]
    fn headers_may_share_a_flag() {
        let read = |item: &str| headers(&[item.to_owned()]).unwrap();
        assert_eq!(read("A:1,B:2"), ["A:1", "B:2"]);
        assert_eq!(read("Accept: a, b"), ["Accept: a, b"]);
        assert_eq!(read(r#"{"A": "x y", "B": 2}"#), ["A: x y", "B: 2"]);
    }
}
