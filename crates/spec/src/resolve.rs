//! A document with everything that applies in it: what `turnmill resolve` prints and a run records.

use serde_json::{Map, Value};

use crate::catalog::{self, Catalog, Entry, Resolved};
use crate::document::{Document, Kind};
use crate::effective::{self, Setting};
use crate::problem::Problem;
use crate::sweeper::Sweeper;

/// A document with every default in place and every reference followed.
#[derive(Clone, Debug, PartialEq)]
pub enum Effective {
    /// A scenario, or a binding alone.
    Scenario(Resolved),
    /// A file of a catalog's `workloads/`.
    Catalog(Entry),
    /// Sweeper traffic.
    Sweeper(Box<Sweeper>),
}

/// Puts every default in place and follows a scenario's references; as with [`crate::read`], the value is there exactly when
/// every error is waivable.
pub fn resolve(document: &Document, catalog: Option<&Catalog>) -> (Option<Effective>, Vec<Problem>) {
    match document {
        Document::Scenario(scenario) => {
            let (resolved, problems) = catalog::resolve(scenario, catalog);
            (resolved.map(Effective::Scenario), problems)
        }
        Document::Catalog(entry) => (Some(Effective::Catalog(entry.clone())), Vec::new()),
        Document::Sweeper(sweeper) => (Some(Effective::Sweeper(sweeper.clone())), Vec::new()),
    }
}

impl Effective {
    /// Every key with its effective value.
    pub fn settings(&self) -> Vec<Setting> {
        match self {
            Effective::Scenario(resolved) => resolved.settings(),
            Effective::Catalog(entry) => entry.settings(),
            Effective::Sweeper(sweeper) => sweeper.settings(),
        }
    }

    /// YAML with the origin of each value in a comment. It validates, and resolves to itself.
    pub fn to_yaml(&self) -> String {
        let head = match self {
            Effective::Scenario(resolved) => resolved.heading(),
            _ => String::new(),
        };
        let body = effective::to_yaml(&self.settings());
        // An empty file would not read as a document.
        head + if body.is_empty() { "{}\n" } else { &body }
    }

    /// JSON for run records: `kind`, `document` (unset values are null, infinity is `inf`), `origins` by path, and where there
    /// is one the catalog `entry` with the `shape` it holds, or the `load` that Sweeper traffic comes to.
    pub fn to_json(&self) -> Value {
        let settings = self.settings();
        let mut object = Map::new();
        object.insert("kind".to_owned(), self.kind().as_str().into());
        object.insert("document".to_owned(), effective::to_json(&settings));
        object.insert("origins".to_owned(), effective::origins(&settings));
        match self {
            Effective::Scenario(resolved) => object.extend(resolved.references_json()),
            Effective::Sweeper(sweeper) => object.extend([("load".to_owned(), sweeper.load_json())]),
            Effective::Catalog(_) => {}
        }
        object.into()
    }

    /// The kind of the document.
    pub fn kind(&self) -> Kind {
        match self {
            Effective::Scenario(_) => Kind::Scenario,
            Effective::Catalog(_) => Kind::Catalog,
            Effective::Sweeper(_) => Kind::Sweeper,
        }
    }
}
