//! The catalog: entries on disk, references into it, and the walk of `validate-catalog` (`bindings.md` §4, §8, §10).
//!
//! The only part of this crate that opens files, and only for reading.

mod folder;
mod print;
mod resolve;
mod walk;

pub use folder::Catalog;
pub use resolve::{Resolved, Traffic, resolve};
pub use walk::{Walk, validate};

use crate::document;
use crate::effective::Setting;
use crate::grammar::{catalog as entry_grammar, walk as structure};
use crate::problem::Report;
use crate::replay::{self, Definition, Origin};
use crate::shape::{self, Shape};
use crate::yaml::Node;

/// A checked catalog file.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// Lengths as distributions.
    Shape(Box<Shape>),
    /// A replay definition.
    Replay(Box<Definition>),
}

/// Checks a catalog file: a mapping with a top-level `replay` is a replay entry, anything else a shape.
pub(crate) fn check(root: &Node, report: &mut Report) -> Option<Entry> {
    if is_replay(root) {
        structure::document(root, &entry_grammar::REPLAY_ENTRY, report);
        return document::checked(root, report, |view, report| {
            let definition = replay::definition_entry(&view.mapping("replay"), report)?;
            Some(Entry::Replay(Box::new(definition)))
        });
    }
    structure::document(root, &entry_grammar::SHAPE, report);
    document::checked(root, report, |view, report| {
        Some(Entry::Shape(Box::new(shape::check(view, report)?)))
    })
}

/// Whether a catalog file is a replay entry.
pub(crate) fn is_replay(root: &Node) -> bool {
    root.entries().iter().any(|(key, _)| key.text == "replay")
}

impl Entry {
    /// Every key of the file with its effective value.
    pub fn settings(&self) -> Vec<Setting> {
        match self {
            Entry::Shape(shape) => shape.settings(Origin::Stated),
            Entry::Replay(definition) => vec![Setting::group("replay", definition.settings())],
        }
    }
}
