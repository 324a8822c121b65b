//! Fixture files and how they are read.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};
use spec::catalog::Catalog;
use spec::{Kind, Problem};

pub(crate) fn data(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(relative)
}

pub(crate) fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// One row of an index.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) kind: Kind,
    pub(crate) row: Value,
    pub(crate) catalog: Option<Catalog>,
}

impl Case {
    pub(crate) fn expected(&self, key: &str) -> Vec<String> {
        let paths = self.row[key].as_array().cloned().unwrap_or_default();
        let mut paths: Vec<String> = paths
            .iter()
            .map(|path| path.as_str().unwrap().to_owned())
            .collect();
        paths.sort();
        paths
    }

    pub(crate) fn stage(&self) -> &str {
        self.row["stage"].as_str().unwrap_or("ok")
    }

    /// Reads the case and, where it names a catalog, follows its references.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        spec::validate(self.text.as_bytes(), Some(self.kind), self.catalog.as_ref()).1
    }
}

pub(crate) fn bindings() -> Vec<Case> {
    let index: Value = testkit::json(&data("bindings/index.json"));
    let cases = index["cases"].as_array().unwrap().iter().map(|row| {
        let kind = if row["kind"] == "catalog_workload" {
            Kind::Catalog
        } else {
            Kind::Scenario
        };
        let catalog = row["catalog"]
            .as_str()
            .map(|root| Catalog::new(data("bindings").join(root)));
        case("bindings", row, kind, catalog)
    });
    cases.collect()
}

pub(crate) fn sweepers() -> Vec<Case> {
    let index: Value = testkit::json(&data("sweeper/index.json"));
    ["valid", "invalid"]
        .iter()
        .flat_map(|list| index[list].as_array().unwrap())
        .map(|row| case("sweeper", row, Kind::Sweeper, None))
        .collect()
}

fn case(folder: &str, row: &Value, kind: Kind, catalog: Option<Catalog>) -> Case {
    let file = row["file"].as_str().unwrap();
    let name = format!("{folder}/{file}");
    Case {
        text: text(&data(&name)),
        name,
        kind,
        row: row.clone(),
        catalog,
    }
}

/// Paths of the problems of one severity, sorted, repetitions kept.
pub(crate) fn paths(problems: &[Problem], errors: bool) -> Vec<String> {
    let mut paths: Vec<String> = problems
        .iter()
        .filter(|problem| problem.is_error() == errors)
        .map(|problem| problem.path.clone())
        .collect();
    paths.sort();
    paths
}

/// SHA-256 of bytes, lowercase hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest
        .iter()
        .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
}
