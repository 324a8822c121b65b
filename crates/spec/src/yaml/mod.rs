//! A YAML document as a tree in which every key and every value keeps its place.
//!
//! One tree serves both stages of checking, so a document with many mistakes is reported with all of them. Scalars
//! keep their text and whether it was quoted; [`scalar`] says what a plain one means under YAML 1.2. Nothing here knows
//! which keys a document may have.

mod place;
mod read;
pub(crate) mod scalar;
mod write;

pub(crate) use place::locate;
pub(crate) use read::{join, read};
pub(crate) use write::{flow, json, json_number, quoted};

use crate::problem::Place;
use scalar::Meaning;

/// A value and where it stands. A block mapping stands where its first key does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) value: Value,
    /// An explicit tag, but for `!!str`, which makes text. Refused wherever the value is read.
    pub(crate) tag: Option<String>,
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
            tag: None,
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

    /// Number of values in it, itself included.
    pub(crate) fn count(&self) -> usize {
        1 + match &self.value {
            Value::Scalar(_) => 0,
            Value::List(items) => items.iter().map(Node::count).sum(),
            Value::Mapping(entries) => entries.iter().map(|(_, value)| value.count()).sum(),
        }
    }

    /// The same node, all of it at one place: where an alias repeats it.
    pub(crate) fn moved(self, place: Place) -> Node {
        self.with_places(&|_| place)
    }

    /// The same node as part of a catalog entry that another document refers to.
    pub(crate) fn into_entry(self) -> Node {
        self.with_places(&|place| Place {
            in_entry: true,
            ..place
        })
    }

    fn with_places(self, change: &impl Fn(Place) -> Place) -> Node {
        let value = match self.value {
            Value::Scalar(scalar) => Value::Scalar(scalar),
            Value::List(items) => {
                Value::List(items.into_iter().map(|item| item.with_places(change)).collect())
            }
            Value::Mapping(entries) => Value::Mapping(
                entries
                    .into_iter()
                    .map(|(key, value)| {
                        let place = change(key.place);
                        (Key { place, ..key }, value.with_places(change))
                    })
                    .collect(),
            ),
        };
        Node {
            place: change(self.place),
            value,
            tag: self.tag,
        }
    }
}
