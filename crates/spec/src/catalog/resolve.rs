//! References followed: a shape's entry found, a replay merged with its entry (`bindings.md` §8).
//!
//! Runs only over a document without errors. Its problems have paths under `references.` and the place of the reference.

use super::folder::{Catalog, File, is_plain_segment};
use super::is_replay;
use crate::grammar::{catalog as entry_grammar, walk as structure};
use crate::problem::{Place, Problem, Report, is_ok_but_for_locks, shown};
use crate::replay::{self, EntryName, Reference, Replay};
use crate::scenario::{Scenario, ShapeReference, Workload};
use crate::shape::{self, Shape};
use crate::trace::Trace;
use crate::view::View;
use crate::yaml::{self, Node, Value};

/// A scenario whose references have been followed.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// The document.
    pub scenario: Scenario,
    /// Its traffic; `None` if the document has none.
    pub traffic: Option<Traffic>,
}

/// What a run sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// Synthetic traffic of a catalog shape.
    Shape {
        /// The catalog file.
        entry: EntryName,
        /// Its content.
        shape: Box<Shape>,
    },
    /// A captured trace.
    Trace(Box<Trace>),
    /// A replay, complete.
    Replay(Box<Replay>),
}

/// Follows a scenario's references. Without a catalog only documents without references resolve.
///
/// As with [`crate::read`], the value is there exactly when every error is waivable.
pub fn resolve(scenario: &Scenario, catalog: Option<&Catalog>) -> (Option<Resolved>, Vec<Problem>) {
    let mut report = Report::default();
    let traffic = match &scenario.workload {
        None => Ok(None),
        Some(Workload::Trace(trace)) => Ok(Some(Traffic::Trace(trace.clone()))),
        Some(Workload::Replay(replay)) => Ok(Some(Traffic::Replay(replay.clone()))),
        Some(Workload::Shape(reference)) => followed(reference, catalog, &mut report).ok_or(()).map(Some),
        Some(Workload::Reference(reference)) => merged(reference, catalog, &mut report).ok_or(()).map(Some),
    };
    let problems = report.finish();
    let resolved = traffic
        .ok()
        .filter(|_| is_ok_but_for_locks(&problems))
        .map(|traffic| Resolved {
            scenario: scenario.clone(),
            traffic,
        });
    (resolved, problems)
}

const SHAPE: &str = "references.workload.shape";
const REPLAY: &str = "references.workload.replay";

fn followed(reference: &ShapeReference, catalog: Option<&Catalog>, report: &mut Report) -> Option<Traffic> {
    let (name, place) = (&reference.name, reference.place);
    let (file, root) = load(name, SHAPE, place, catalog, report)?;
    if is_replay(&root) {
        report
            .error(
                SHAPE,
                place,
                format!("{} is a replay entry; expected a shape", shown(name)),
            )
            .hint(format!("bind it as replay: {{workload: {name}, concurrency: …}}"));
        return None;
    }
    let mut inner = Report::default();
    structure::document(&root, &entry_grammar::SHAPE, &mut inner);
    if inner.has_errors() {
        undecodable(&inner.finish(), name, SHAPE, place, report);
        return None;
    }
    let root = root.into_entry();
    let mut inner = Report::default();
    let shape = shape::check(&View::new(&root, SHAPE), &mut inner);
    at_reference(inner, name, place, report);
    let entry = EntryName {
        name: name.clone(),
        sha256: file.sha256,
    };
    Some(Traffic::Shape {
        entry,
        shape: Box::new(shape?),
    })
}

fn merged(reference: &Reference, catalog: Option<&Catalog>, report: &mut Report) -> Option<Traffic> {
    let name = &reference.workload;
    let path = format!("{REPLAY}.workload");
    let place = reference
        .node
        .get("workload")
        .map_or(reference.node.place, |node| node.place);
    let (file, root) = load(name, &path, place, catalog, report)?;
    if !is_replay(&root) {
        report
            .error(
                &*path,
                place,
                format!("{} is a shape; expected a replay entry", shown(name)),
            )
            .hint(format!("bind it as workload: {{shape: {name}}}"));
        return None;
    }
    let mut inner = Report::default();
    structure::document(&root, &entry_grammar::REPLAY_ENTRY, &mut inner);
    if inner.has_errors() {
        undecodable(&inner.finish(), name, &path, place, report);
        return None;
    }
    let root = root.into_entry();
    let definition = root
        .get("replay")
        .cloned()
        .unwrap_or_else(|| Node::empty(root.place));
    for key in ["concurrency", "workload"] {
        if definition.get(key).is_some() {
            let message = format!("workloads/{name}.yaml states {key}; expected a definition without it");
            report.error(format!("{REPLAY}.{key}"), place, message);
        }
    }
    let node = merge(&definition, &reference.node);
    let mut inner = Report::default();
    let replay = replay::inline(&View::new(&node, REPLAY), &mut inner);
    at_reference(inner, name, place, report);
    let mut replay = replay?;
    replay.entry = Some(EntryName {
        name: name.clone(),
        sha256: file.sha256,
    });
    Some(Traffic::Replay(Box::new(replay)))
}

/// The entry's definition with the binding's lane count and each choice that the binding states, whole.
fn merge(entry: &Node, binding: &Node) -> Node {
    let taken = |key: &str| {
        key == "concurrency"
            || key == "workload"
            || (replay::OVERRIDES.contains(&key) && binding.get(key).is_some())
    };
    let mut entries: Vec<_> = entry
        .entries()
        .iter()
        .filter(|(key, _)| !taken(&key.text))
        .cloned()
        .collect();
    let stated = binding.entries().iter().filter(|(key, _)| key.text != "workload");
    entries.extend(stated.filter(|(_, value)| !value.is_null()).cloned());
    Node {
        place: entry.place,
        value: Value::Mapping(entries),
        tag: None,
    }
}

/// The entry's file and tree, or one problem at the reference.
fn load(
    name: &str,
    path: &str,
    place: Place,
    catalog: Option<&Catalog>,
    report: &mut Report,
) -> Option<(File, Node)> {
    let Some(catalog) = catalog else {
        let message = format!(
            "{} is a catalog entry, and no catalog was given; expected one",
            shown(name)
        );
        report
            .error(path, place, message)
            .hint("name the catalog's folder with --catalog");
        return None;
    };
    if !is_plain_segment(name) {
        let message = format!(
            "{} is not an entry's name; expected the stem of a file in workloads/",
            shown(name)
        );
        report.error(path, place, message);
        return None;
    }
    let file = match catalog.file(name) {
        Ok(Some(file)) => file,
        Ok(None) => {
            missing(name, path, place, catalog, report);
            return None;
        }
        Err(error) => {
            let message = format!("workloads/{name}.yaml cannot be read: {error}; expected a catalog entry");
            report.error(path, place, message);
            return None;
        }
    };
    let Ok(text) = std::str::from_utf8(&file.bytes) else {
        report.error(
            path,
            place,
            format!("workloads/{name}.yaml is not UTF-8 text; expected a catalog entry"),
        );
        return None;
    };
    let mut inner = Report::default();
    let root = yaml::read(text, &mut inner);
    let Some(root) = root.filter(|_| !inner.has_errors()) else {
        undecodable(&inner.finish(), name, path, place, report);
        return None;
    };
    Some((file, root))
}

fn missing(name: &str, path: &str, place: Place, catalog: &Catalog, report: &mut Report) {
    let names = catalog.names().unwrap_or_default();
    let message = format!(
        "{}: looked for workloads/{name}.yaml; the catalog has [{}]",
        shown(name),
        names.join(" ")
    );
    let near = crate::vocabulary::nearest(name, names.iter().map(String::as_str));
    let problem = report.error(path, place, message);
    if let Some(near) = near {
        problem.hint(format!("did you mean {near}?"));
    }
}

/// An entry that does not decode is one problem, with all that the reader had to say.
fn undecodable(problems: &[Problem], name: &str, path: &str, place: Place, report: &mut Report) {
    let told: Vec<String> = problems
        .iter()
        .filter(|problem| problem.is_error())
        .map(|problem| match problem.place {
            Some(at) => format!("{}:{}: {}", at.line, at.column, problem.title()),
            None => problem.title(),
        })
        .collect();
    report.error(
        path,
        place,
        format!(
            "workloads/{name}.yaml does not read as an entry: {}",
            told.join("; ")
        ),
    );
}

/// Problems of what was read from an entry, moved to the reference; their message then says where in the entry.
fn at_reference(inner: Report, name: &str, place: Place, report: &mut Report) {
    for mut problem in inner.finish() {
        if let Some(at) = problem.place.filter(|at| at.in_entry) {
            let (line, column) = (at.line, at.column);
            problem.message = format!("{} (workloads/{name}.yaml:{line}:{column})", problem.message);
            problem.place = Some(place);
        }
        report.add(problem);
    }
}
