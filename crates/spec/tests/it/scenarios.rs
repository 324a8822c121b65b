//! The documents and corpora that come with the program: each is read by a test, and each file it names is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use spec::catalog::{self, Catalog, Traffic};
use spec::loaders::LOADERS;
use spec::sweeper::Load;
use spec::{Document, Effective};

use crate::support::{sha256, text};

fn digest(path: &Path) -> String {
    sha256(&testkit::bytes(path))
}

#[test]
fn every_scenario_resolves_without_a_problem() {
    let root = testkit::checkout().join("scenarios");
    let catalog = Catalog::new(&root);
    let mut seen = BTreeSet::new();
    for item in fs::read_dir(&root).unwrap() {
        let path = item.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "yaml") {
            continue;
        }
        let (document, problems) = spec::read(&text(&path), None);
        assert!(problems.is_empty(), "{}: {problems:#?}", path.display());
        let (effective, problems) = spec::resolve(&document.unwrap(), Some(&catalog));
        assert!(problems.is_empty(), "{}: {problems:#?}", path.display());
        seen.insert(match effective.unwrap() {
            Effective::Scenario(resolved) => match resolved.traffic.unwrap() {
                Traffic::Shape { .. } => "shape",
                Traffic::Trace(trace) => {
                    assert_eq!(Some(digest(&root.join(&trace.data))), trace.sha256);
                    let rows = text(&root.join(&trace.data)).lines().count() as u64 - 1;
                    assert_eq!(trace.rows, Some(rows));
                    let blocks = trace.token_blocks.unwrap();
                    assert_eq!(digest(&root.join(&blocks.path)), blocks.sha256);
                    "trace"
                }
                Traffic::Replay(replay) if replay.entry.is_some() => "reference",
                Traffic::Replay(_) => "replay",
            },
            Effective::Sweeper(sweeper) => {
                if let Load::Trace(trace) = &sweeper.load {
                    assert!(root.join(&trace.path).is_file(), "{}", trace.path);
                }
                sweeper.shape()
            }
            Effective::Catalog(_) => panic!("{}: a catalog entry lies in workloads/", path.display()),
        });
    }
    // "trace" is both the arm and the Sweeper's shape.
    let arms = [
        "concurrency",
        "kv_load",
        "reference",
        "replay",
        "request_rate",
        "shape",
        "trace",
    ];
    assert!(seen.iter().copied().eq(arms), "{seen:?}");
}

#[test]
fn the_catalog_that_comes_with_the_program_validates() {
    let walk = catalog::validate(&testkit::checkout().join("scenarios"));
    assert_eq!((walk.exit, walk.err.as_str()), (0, ""), "{walk:?}");
    for name in [
        "chatbot",
        "contentgen",
        "multidoc",
        "summarization",
        "workload-replay",
    ] {
        assert!(walk.out.contains(&format!("  {name}: ok\n")), "{}", walk.out);
    }
}

#[test]
fn the_pins_name_the_loaders_and_their_repositories() {
    let pins: Value = testkit::json(&testkit::checkout().join("corpora/pins.json"));
    let mut rows: Vec<(&str, &str, bool)> = pins
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["loader"].as_str().unwrap(),
                row["huggingface"].as_str().unwrap(),
                row["rolling"].as_bool().unwrap(),
            )
        })
        .collect();
    rows.sort_unstable();
    let loaders: Vec<_> = LOADERS
        .iter()
        .map(|loader| (loader.name, loader.repository, loader.rolling))
        .collect();
    assert_eq!(rows, loaders);
}

#[test]
fn the_replay_entry_states_the_pinned_digest() {
    let pins: Value = testkit::json(&testkit::checkout().join("corpora/pins.json"));
    let path = testkit::checkout().join("scenarios/replay.yaml");
    let (document, _) = spec::read(&text(&path), None);
    let Some(Document::Scenario(scenario)) = document else {
        panic!("{document:?}")
    };
    let Some(spec::Workload::Replay(replay)) = scenario.workload else {
        panic!("no replay")
    };
    let row = pins
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["loader"] == replay.corpus.loader.as_str())
        .unwrap();
    assert_eq!(
        (&row["sha256"], &row["revision"]),
        (&replay.corpus.sha256.into(), &replay.corpus.revision.into())
    );
}
