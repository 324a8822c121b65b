//! The scenario document, and the binding of its traffic to one of three arms (`bindings.md` §3, §7).

use crate::check;
use crate::effective::{Content, Leaf, Setting};
use crate::problem::{Place, Report};
use crate::replay::{self, Origin, Reference, Replay};
use crate::trace::{self, Trace};
use crate::view::View;
use crate::yaml::{Node, json};

/// Keys that are kept and not read.
const KEPT: [&str; 5] = ["name", "model", "coefficients", "engine_version", "cluster"];

/// A checked scenario or binding document.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// `kind` is stated; it then says `Scenario`.
    pub(crate) states_kind: bool,
    /// Stated keys that are kept and not read.
    pub(crate) kept: Vec<(String, Node)>,
    /// The traffic; `None` asks a question without traffic, and cannot be run.
    pub workload: Option<Workload>,
}

/// The traffic, by the arm that the binding chose.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// A shape of the catalog.
    Shape(ShapeReference),
    /// A captured trace.
    Trace(Box<Trace>),
    /// A replay with its whole definition.
    Replay(Box<Replay>),
    /// A replay that names a catalog entry.
    Reference(Box<Reference>),
}

/// The name of a shape in the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeReference {
    /// The entry's name.
    pub name: String,
    pub(crate) place: Place,
}

impl Scenario {
    /// A key that is kept and not read: `name`, `model`, `coefficients`, `engine_version`, `cluster`.
    pub fn kept(&self, key: &str) -> Option<serde_json::Value> {
        self.kept
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, node)| json(node))
    }

    /// The settings around `workload`, before it and after it.
    pub(crate) fn settings_around(&self, workload: Option<Setting>) -> Vec<Setting> {
        let mut settings = Vec::new();
        if self.states_kind {
            settings.push(Setting::leaf("kind", "Scenario", Origin::Stated));
        }
        settings.extend(self.kept.iter().map(|(key, node)| Setting {
            key: key.clone(),
            content: Content::Leaf(Leaf::Kept(node.clone()), Origin::Stated),
        }));
        settings.extend(workload);
        settings
    }
}

/// Checks a document that passed the structure stage. `None` when the arm is not decided or cannot be built.
pub(crate) fn check(root: &View<'_>, report: &mut Report) -> Option<Scenario> {
    if root.has("kind") {
        check::word(root, report, "kind", &["Scenario"]);
    }
    let workload = match root.get("workload") {
        None => None,
        Some(_) => Some(binding(&root.mapping("workload"), report)?),
    };
    let kept = KEPT
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), root.get(key)?.clone())))
        .collect();
    Some(Scenario {
        states_kind: root.has("kind"),
        kept,
        workload,
    })
}

fn binding(view: &View<'_>, report: &mut Report) -> Option<Workload> {
    let shape = view.text("shape").filter(|name| !name.is_empty());
    let chosen: Vec<&str> = [
        shape.map(|_| "shape"),
        view.has("trace").then_some("trace"),
        view.has("replay").then_some("replay"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let [arm] = chosen[..] else {
        let found = if chosen.is_empty() {
            "none".to_owned()
        } else {
            chosen.join(", ")
        };
        let problem = view.error_here(
            report,
            format!("expected exactly one of shape, trace and replay, found {found}"),
        );
        if chosen.is_empty() {
            problem.hint("to pose a question without traffic, leave workload out");
        }
        return None;
    };
    match arm {
        "shape" => {
            let (name, place) = (shape?.to_owned(), view.place("shape"));
            Some(Workload::Shape(ShapeReference { name, place }))
        }
        "trace" => Some(Workload::Trace(Box::new(trace::check(
            &view.mapping("trace"),
            report,
        )?))),
        _ => replay_arm(view, report),
    }
}

fn replay_arm(view: &View<'_>, report: &mut Report) -> Option<Workload> {
    let replay = view.mapping("replay");
    if replay.text("workload").is_some_and(|name| !name.is_empty()) {
        let reference = replay::reference(&replay, view.get("replay")?, report)?;
        return Some(Workload::Reference(Box::new(reference)));
    }
    Some(Workload::Replay(Box::new(replay::inline(&replay, report)?)))
}
