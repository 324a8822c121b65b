//! A mapping that passed the structure stage, read key by key.
//!
//! An absent mapping reads as an empty one at the place of the mapping that lacks it, so that each missing leaf is told
//! (`bindings.md` §5.4). Types are known to be right here; a key that is absent or null is `None`.

use crate::problem::{Place, Problem, Report};
use crate::yaml::scalar::Meaning;
use crate::yaml::{Key, Node, Value, join};

/// A mapping, its path, and the place that stands for keys it lacks.
pub(crate) struct View<'a> {
    node: Option<&'a Node>,
    pub(crate) path: String,
    pub(crate) place: Place,
}

impl<'a> View<'a> {
    pub(crate) fn new(node: &'a Node, path: impl Into<String>) -> View<'a> {
        View {
            node: Some(node),
            path: path.into(),
            place: node.place,
        }
    }

    /// The mapping under a key, or an empty one.
    pub(crate) fn mapping(&self, key: &str) -> View<'a> {
        let node = self.get(key);
        View {
            node,
            path: self.at(key),
            place: node.map_or(self.place, |node| node.place),
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a Node> {
        self.node.and_then(|node| node.get(key))
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The keys that are stated, in document order.
    pub(crate) fn stated(&self) -> impl Iterator<Item = (&'a str, &'a Node)> {
        let entries = self.node.map_or(&[][..], Node::entries);
        entries
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.text.as_str(), value))
    }

    /// Every key with its mapping, null ones as empty mappings: for mappings whose keys are free names.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'a Key, View<'a>)> + use<'a> {
        let path = self.path.clone();
        let entries = self.node.map_or(&[][..], Node::entries);
        entries.iter().map(move |(key, node)| {
            let place = if node.is_null() { key.place } else { node.place };
            (
                key,
                View {
                    node: Some(node),
                    path: join(&path, &key.text),
                    place,
                },
            )
        })
    }

    pub(crate) fn text(&self, key: &str) -> Option<&'a str> {
        self.get(key).map(Node::text)
    }

    pub(crate) fn integer(&self, key: &str) -> Option<i128> {
        match self.get(key)?.meaning() {
            Some(Meaning::Integer(value)) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        self.get(key).and_then(number)
    }

    pub(crate) fn boolean(&self, key: &str) -> Option<bool> {
        match self.get(key)?.meaning() {
            Some(Meaning::Boolean(value)) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn list(&self, key: &str) -> Option<&'a [Node]> {
        match &self.get(key)?.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    /// A key's text as a message shows it.
    pub(crate) fn written(&self, key: &str) -> &'a str {
        self.get(key).map_or("", Node::text)
    }

    pub(crate) fn at(&self, key: &str) -> String {
        join(&self.path, key)
    }

    /// The place of a key's value, or of the mapping that lacks it.
    pub(crate) fn place(&self, key: &str) -> Place {
        self.get(key).map_or(self.place, |node| node.place)
    }

    /// An error at a key.
    pub(crate) fn error<'r>(
        &self,
        report: &'r mut Report,
        key: &str,
        message: impl Into<String>,
    ) -> &'r mut Problem {
        report.error(self.at(key), self.place(key), message)
    }

    /// A warning at a key.
    pub(crate) fn warning<'r>(
        &self,
        report: &'r mut Report,
        key: &str,
        message: impl Into<String>,
    ) -> &'r mut Problem {
        report.warning(self.at(key), self.place(key), message)
    }

    /// An error of the mapping as a whole.
    pub(crate) fn error_here<'r>(
        &self,
        report: &'r mut Report,
        message: impl Into<String>,
    ) -> &'r mut Problem {
        report.error(self.path.clone(), self.place, message)
    }
}

/// A number key's value; integers count as numbers.
pub(crate) fn number(node: &Node) -> Option<f64> {
    match node.meaning()? {
        // From the text: the integer may be beyond what 128 bits hold.
        Meaning::Integer(_) => node.text().parse().ok(),
        Meaning::Float(value) => Some(value),
        _ => None,
    }
}
