//! A resolved scenario as the effective document.

use serde_json::{Map, Value, json};

use super::{Resolved, Traffic};
use crate::effective::{self, Setting};
use crate::replay::{EntryName, Origin};

impl Resolved {
    /// Every key of the effective document.
    pub fn settings(&self) -> Vec<Setting> {
        let workload = self.traffic.as_ref().map(|traffic| {
            let arm = match traffic {
                Traffic::Shape { entry, .. } => Setting::leaf("shape", entry.name.as_str(), Origin::Stated),
                Traffic::Trace(trace) => Setting::group("trace", trace.settings()),
                Traffic::Replay(replay) => Setting::group("replay", replay.settings()),
            };
            Setting::group("workload", vec![arm])
        });
        self.scenario.settings_around(workload)
    }

    /// Comment lines that say what the references were.
    pub(crate) fn heading(&self) -> String {
        let named = |entry: &EntryName| format!("workloads/{}.yaml, sha256 {}", entry.name, entry.sha256);
        match &self.traffic {
            Some(Traffic::Replay(replay)) => replay
                .entry
                .as_ref()
                .map_or(String::new(), |entry| format!("# merged with {}\n", named(entry))),
            Some(Traffic::Shape { entry, shape }) => {
                let shape = effective::to_yaml(&shape.settings(Origin::Catalog));
                let lines = shape.lines().map(|line| format!("#   {line}\n"));
                format!("# {}:\n{}", named(entry), lines.collect::<String>())
            }
            _ => String::new(),
        }
    }

    /// `entry`, the catalog file that was referred to, and `shape`, if it is one.
    pub(crate) fn references_json(&self) -> Map<String, Value> {
        let mut object = Map::new();
        let entry = match &self.traffic {
            Some(Traffic::Replay(replay)) => replay.entry.as_ref(),
            Some(Traffic::Shape { entry, shape }) => {
                object.insert(
                    "shape".to_owned(),
                    effective::to_json(&shape.settings(Origin::Catalog)),
                );
                Some(entry)
            }
            _ => None,
        };
        if let Some(entry) = entry {
            object.insert(
                "entry".to_owned(),
                json!({"name": entry.name, "sha256": entry.sha256}),
            );
        }
        object
    }
}
