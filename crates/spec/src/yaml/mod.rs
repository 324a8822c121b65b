//! A YAML document as a tree in which every key and every value keeps its place.
//!
//! One tree serves both stages of checking, so a document with many mistakes is reported with all of them. Scalars
//! keep their text and whether it was quoted; [`scalar`] says what a plain one means under YAML 1.2. Nothing here knows
//! which keys a document may have.

mod read;
pub(crate) mod scalar;
mod write;

pub(crate) use read::{join, locate, read};
pub(crate) use write::{flow, json, json_number, quoted};

use crate::problem::Place;
use scalar::Meaning;

/// A value and where it stands. A block mapping stands where its first key does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) value: Value,
}

/// What a node holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Scalar(Scalar),
    List(Vec<Node>),
    Mapping(Vec<(Key, Node)>),
}

/// One word of the document, as written but for quotes and escapes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scalar {
    pub(crate) text: String,
    /// Unquoted, and hence subject to the core schema: `5` is an integer, `"5"` is text.
    pub(crate) plain: bool,
}

/// A mapping's key: its text, whatever it would mean as a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Key {
    pub(crate) text: String,
    pub(crate) plain: bool,
    pub(crate) place: Place,
}

impl Node {
    /// A mapping without keys, to stand in for one that is absent.
    pub(crate) fn empty(place: Place) -> Node {
        Node {
            place,
            value: Value::Mapping(Vec::new()),
        }
    }

    pub(crate) fn entries(&self) -> &[(Key, Node)] {
        match &self.value {
            Value::Mapping(entries) => entries,
            _ => &[],
        }
    }

    /// The value of a key, unless it is absent or null: both read as not stated.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entries()
            .iter()
            .find(|(name, _)| name.text == key)
            .map(|(_, value)| value)
            .filter(|value| !value.is_null())
    }

    pub(crate) fn is_mapping(&self) -> bool {
        matches!(self.value, Value::Mapping(_))
    }

    pub(crate) fn is_null(&self) -> bool {
        self.meaning() == Some(Meaning::Null)
    }

    /// What a scalar means; `None` for lists and mappings.
    pub(crate) fn meaning(&self) -> Option<Meaning> {
        match &self.value {
            Value::Scalar(scalar) if scalar.plain => Some(scalar::meaning(&scalar.text)),
            Value::Scalar(_) => Some(Meaning::Text),
            _ => None,
        }
    }

    /// A scalar's text, quoted or not; empty for lists and mappings.
    pub(crate) fn text(&self) -> &str {
        match &self.value {
            Value::Scalar(scalar) => &scalar.text,
            _ => "",
        }
    }

    /// The same node as part of a catalog entry that another document refers to.
    pub(crate) fn into_entry(mut self) -> Node {
        self.place.in_entry = true;
        match &mut self.value {
            Value::Scalar(_) => {}
            Value::List(items) => {
                *items = std::mem::take(items).into_iter().map(Node::into_entry).collect();
            }
            Value::Mapping(entries) => {
                *entries = std::mem::take(entries)
                    .into_iter()
                    .map(|(key, value)| (key, value.into_entry()))
                    .collect();
            }
        }
        self
    }
}
