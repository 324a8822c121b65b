//! One file, read: told apart, structure first, meaning after.

use std::str::FromStr;

use crate::catalog::{self, Catalog, Entry};
use crate::grammar::{binding, sweeper as sweeper_grammar, walk};
use crate::problem::{self, Place, Problem, Report, is_ok, is_ok_but_for_locks};
use crate::scenario::{self, Scenario};
use crate::sweeper::{self, Sweeper};
use crate::view::View;
use crate::vocabulary::not_one_of;
use crate::yaml::{self, Node};

/// The kinds of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A scenario, or a binding alone.
    Scenario,
    /// A file of a catalog's `workloads/`.
    Catalog,
    /// Sweeper traffic.
    Sweeper,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 3] = [Kind::Scenario, Kind::Catalog, Kind::Sweeper];

    /// The word that `--as` takes.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Scenario => "scenario",
            Kind::Catalog => "catalog",
            Kind::Sweeper => "sweeper",
        }
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(word: &str) -> Result<Kind, String> {
        let kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == word);
        kind.ok_or_else(|| not_one_of(word, &Kind::ALL.map(Kind::as_str)))
    }
}

/// A checked document.
#[derive(Clone, Debug, PartialEq)]
pub enum Document {
    /// A scenario, or a binding alone.
    Scenario(Scenario),
    /// A file of a catalog's `workloads/`.
    Catalog(Entry),
    /// Sweeper traffic.
    Sweeper(Box<Sweeper>),
}

/// Reads and checks one document, told apart as `bindings.md` §3 says unless its kind is given.
///
/// The document is there exactly when every error is waivable ([`Problem`]'s `waivable`); a caller that does not override
/// scenario locks must also ask [`crate::problem::is_ok`]. Problems come sorted by path and message.
pub fn read(text: &str, kind: Option<Kind>) -> (Option<Document>, Vec<Problem>) {
    let mut report = Report::default();
    let document = read_into(text, kind, &mut report);
    let problems = report.finish();
    let document = document.filter(|_| is_ok_but_for_locks(&problems));
    (document, problems)
}

/// As [`read`], for bytes that may not be text.
pub fn read_bytes(bytes: &[u8], kind: Option<Kind>) -> (Option<Document>, Vec<Problem>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => read(text, kind),
        Err(error) => (None, vec![not_text(bytes, error.valid_up_to())]),
    }
}

/// As [`read_bytes`], and with a catalog also what following the references finds.
pub fn validate(
    bytes: &[u8],
    kind: Option<Kind>,
    catalog: Option<&Catalog>,
) -> (Option<Document>, Vec<Problem>) {
    let (document, mut problems) = read_bytes(bytes, kind);
    if let (Some(Document::Scenario(scenario)), Some(catalog)) = (&document, catalog)
        && is_ok(&problems)
    {
        problems.extend(catalog::resolve(scenario, Some(catalog)).1);
        problem::sort(&mut problems);
    }
    (document, problems)
}

fn not_text(bytes: &[u8], valid: usize) -> Problem {
    let text = std::str::from_utf8(&bytes[..valid]).unwrap_or_default();
    let place = if valid == 0 {
        Place::START
    } else {
        yaml::locate(text, valid)
    };
    let mut report = Report::default();
    let found = format!("expected UTF-8 text, found the byte 0x{:02x}", bytes[valid]);
    report.error("", place, found);
    report.finish().remove(0)
}

fn read_into(text: &str, kind: Option<Kind>, report: &mut Report) -> Option<Document> {
    let root = yaml::read(text, report)?;
    match kind.unwrap_or_else(|| told_apart(&root)) {
        Kind::Scenario => {
            walk::document(&root, &binding::SCENARIO, report);
            checked(&root, report, scenario::check).map(Document::Scenario)
        }
        Kind::Catalog => catalog::check(&root, report).map(Document::Catalog),
        Kind::Sweeper => {
            walk::document(&root, &sweeper_grammar::DOCUMENT, report);
            checked(&root, report, sweeper::check).map(|sweeper| Document::Sweeper(Box::new(sweeper)))
        }
    }
}

/// The second stage, unless the first found an error: over a half-read document it would tell consequences.
pub(crate) fn checked<T>(
    root: &Node,
    report: &mut Report,
    check: impl FnOnce(&View<'_>, &mut Report) -> Option<T>,
) -> Option<T> {
    if report.has_errors() {
        return None;
    }
    check(&View::new(root, ""), report)
}

/// Which kind a document is, by its keys (`bindings.md` §3).
fn told_apart(root: &Node) -> Kind {
    let has = |key: &str| root.entries().iter().any(|(name, _)| name.text == key);
    let workload = root.get("workload");
    let in_workload =
        |key: &str| workload.is_some_and(|node| node.entries().iter().any(|(name, _)| name.text == key));
    let any = |keys: &[&str]| keys.iter().any(|key| has(key));
    if ["shape", "trace", "replay"].into_iter().any(in_workload) {
        Kind::Scenario
    } else if any(&["goal", "search_space", "adapters", "sweep"])
        || sweeper_grammar::WORKLOAD
            .fields
            .iter()
            .any(|field| in_workload(field.key))
    {
        Kind::Sweeper
    } else if !has("workload") && !has("kind") && any(&["replay", "prompt", "output", "prefix_tokens"]) {
        Kind::Catalog
    } else {
        Kind::Scenario
    }
}
