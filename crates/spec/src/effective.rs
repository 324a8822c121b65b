//! The effective document: every value that applies, in order, with its origin.
//!
//! One description, two forms: YAML with the origin of each value in a comment, which reads back as the same document, and
//! JSON for run records.

use serde_json::{Map, Value as Json};

use crate::replay::Origin;
use crate::yaml::{self, Node};

/// One key of the effective document.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    pub(crate) key: String,
    pub(crate) content: Content,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    Leaf(Leaf, Origin),
    Group(Vec<Setting>),
}

/// A value without parts of its own origin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Leaf {
    /// Applies by being absent; YAML shows it as a comment.
    Unset,
    Boolean(bool),
    Integer(i128),
    Number(f64),
    Text(String),
    Numbers(Vec<f64>),
    Texts(Vec<String>),
    /// Kept as the document has it.
    Kept(Node),
}

impl From<bool> for Leaf {
    fn from(value: bool) -> Leaf {
        Leaf::Boolean(value)
    }
}

impl From<u64> for Leaf {
    fn from(value: u64) -> Leaf {
        Leaf::Integer(value.into())
    }
}

impl From<i128> for Leaf {
    fn from(value: i128) -> Leaf {
        Leaf::Integer(value)
    }
}

impl From<f64> for Leaf {
    fn from(value: f64) -> Leaf {
        Leaf::Number(value)
    }
}

impl From<&str> for Leaf {
    fn from(value: &str) -> Leaf {
        Leaf::Text(value.to_owned())
    }
}

impl<T: Into<Leaf>> From<Option<T>> for Leaf {
    fn from(value: Option<T>) -> Leaf {
        value.map_or(Leaf::Unset, Into::into)
    }
}

impl Setting {
    pub(crate) fn leaf(key: &str, value: impl Into<Leaf>, origin: Origin) -> Setting {
        Setting {
            key: key.to_owned(),
            content: Content::Leaf(value.into(), origin),
        }
    }

    pub(crate) fn group(key: &str, settings: Vec<Setting>) -> Setting {
        Setting {
            key: key.to_owned(),
            content: Content::Group(settings),
        }
    }
}

/// The settings as YAML; each line ends in a comment that says where the value is from.
pub(crate) fn to_yaml(settings: &[Setting]) -> String {
    let mut lines = Vec::new();
    write_yaml(settings, "", &mut lines);
    lines.concat()
}

fn write_yaml(settings: &[Setting], indent: &str, lines: &mut Vec<String>) {
    for setting in settings {
        let key = written_key(&setting.key);
        match &setting.content {
            Content::Leaf(Leaf::Unset, origin) => {
                lines.push(format!("{indent}# {key}: unset  # {}\n", origin.as_str()));
            }
            Content::Leaf(leaf, origin) => {
                lines.push(format!(
                    "{indent}{key}: {}  # {}\n",
                    leaf_yaml(leaf),
                    origin.as_str()
                ));
            }
            Content::Group(inner) => {
                // A block mapping without a key would read as null.
                let empty = if inner.iter().any(is_written) { "" } else { " {}" };
                lines.push(format!("{indent}{key}:{empty}\n"));
                write_yaml(inner, &format!("{indent}  "), lines);
            }
        }
    }
}

fn is_written(setting: &Setting) -> bool {
    !matches!(setting.content, Content::Leaf(Leaf::Unset, _))
}

fn written_key(key: &str) -> String {
    let simple = key.starts_with(|first: char| first.is_ascii_alphabetic())
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if simple { key.to_owned() } else { yaml::quoted(key) }
}

fn leaf_yaml(leaf: &Leaf) -> String {
    match leaf {
        Leaf::Unset => "null".to_owned(),
        Leaf::Boolean(value) => value.to_string(),
        Leaf::Integer(value) => value.to_string(),
        Leaf::Number(value) => number_yaml(*value),
        Leaf::Text(text) => yaml::quoted(text),
        Leaf::Numbers(values) => in_brackets(values.iter().map(|value| number_yaml(*value))),
        Leaf::Texts(texts) => in_brackets(texts.iter().map(|text| yaml::quoted(text))),
        Leaf::Kept(node) => yaml::flow(node),
    }
}

fn in_brackets(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// The shortest decimal that reads back as the same number.
fn number_yaml(value: f64) -> String {
    if value.is_nan() {
        ".nan".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { ".inf" } else { "-.inf" }.to_owned()
    } else if value.abs() < 1e15 {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

/// The settings as one JSON object; an unset value is null, infinity the text `inf`.
pub(crate) fn to_json(settings: &[Setting]) -> Json {
    let object: Map<String, Json> = settings
        .iter()
        .map(|setting| {
            let value = match &setting.content {
                Content::Leaf(leaf, _) => leaf_json(leaf),
                Content::Group(inner) => to_json(inner),
            };
            (setting.key.clone(), value)
        })
        .collect();
    Json::Object(object)
}

fn leaf_json(leaf: &Leaf) -> Json {
    match leaf {
        Leaf::Unset => Json::Null,
        Leaf::Boolean(value) => (*value).into(),
        Leaf::Integer(value) => {
            serde_json::Number::from_i128(*value).map_or_else(|| value.to_string().into(), Json::Number)
        }
        Leaf::Numbers(values) => values.iter().map(|value| yaml::json_number(*value)).collect(),
        Leaf::Texts(texts) => texts.iter().map(String::as_str).collect(),
        // A whole number of seconds reads as one, whether 900 or 900.0 was written.
        Leaf::Number(value) if value.fract() == 0.0 && value.abs() < 1e15 => Json::from(*value as i64),
        Leaf::Number(value) => yaml::json_number(*value),
        Leaf::Text(text) => text.clone().into(),
        Leaf::Kept(node) => yaml::json(node),
    }
}

/// Path of every value and the word for its origin.
pub(crate) fn origins(settings: &[Setting]) -> Json {
    let mut object = Map::new();
    collect_origins(settings, "", &mut object);
    Json::Object(object)
}

fn collect_origins(settings: &[Setting], path: &str, object: &mut Map<String, Json>) {
    for setting in settings {
        let path = yaml::join(path, &setting.key);
        match &setting.content {
            Content::Leaf(_, origin) => {
                object.insert(path, origin.as_str().into());
            }
            Content::Group(inner) => collect_origins(inner, &path, object),
        }
    }
}
