//! Every fixture: exact paths, severities and stages; the walk's exit codes and what it prints.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;
use spec::catalog;
use spec::problem::is_ok;

use crate::support::{bindings, data, paths, sweepers};

#[test]
fn every_binding_fixture_has_exactly_its_problems() {
    for case in bindings() {
        let problems = case.problems();
        assert_eq!(
            paths(&problems, true),
            case.expected("problems"),
            "{}: {problems:#?}",
            case.name
        );
        assert_eq!(
            paths(&problems, false),
            case.expected("warnings"),
            "{}: {problems:#?}",
            case.name
        );
    }
}

#[test]
fn every_sweeper_fixture_has_exactly_its_problems() {
    for case in sweepers().iter().filter(|case| case.stage() != "resolve") {
        let problems = case.problems();
        assert_eq!(
            paths(&problems, true),
            case.expected("problems"),
            "{}: {problems:#?}",
            case.name
        );
    }
}

#[test]
fn every_fixture_file_is_a_row_of_its_index() {
    for (folder, cases) in [("bindings", bindings()), ("sweeper", sweepers())] {
        let rows: BTreeSet<String> = cases.into_iter().map(|case| case.name).collect();
        let mut files = BTreeSet::new();
        for half in ["valid", "invalid"] {
            for item in fs::read_dir(data(folder).join(half)).unwrap() {
                files.insert(format!(
                    "{folder}/{half}/{}",
                    item.unwrap().file_name().to_str().unwrap()
                ));
            }
        }
        assert_eq!(rows, files);
    }
}

#[test]
fn a_later_stage_runs_only_without_errors_of_an_earlier_one() {
    for case in bindings() {
        let (document, problems) = spec::read(&case.text, Some(case.kind));
        let clean = ["resolve", "ok"].contains(&case.stage());
        assert_eq!(is_ok(&problems), clean, "{}: {problems:#?}", case.name);
        assert!(document.is_some() || !clean, "{}", case.name);
    }
}

#[test]
fn each_fixture_is_told_apart_as_what_it_is() {
    for case in bindings().into_iter().chain(sweepers()) {
        let told = spec::read(&case.text, None);
        let stated = spec::read(&case.text, Some(case.kind));
        // An entry whose only content is a mistake cannot be told by its keys.
        assert_eq!(told.1, stated.1, "{}", case.name);
    }
}

#[test]
fn the_catalog_walk_ends_as_its_cases_say() {
    let index: Value = testkit::json(&data("bindings/index.json"));
    for row in index["validate_catalog_cli"].as_array().unwrap() {
        let args = row["args"].as_array().unwrap();
        // The number of arguments is the command line's business.
        let [root] = &args[..] else { continue };
        let walk = catalog::validate(&data("bindings").join(root.as_str().unwrap()));
        assert_eq!(
            u64::from(walk.exit),
            row["exit"].as_u64().unwrap(),
            "{root}: {walk:?}"
        );
        for mention in row["stderr_mentions"].as_array().into_iter().flatten() {
            assert!(
                walk.err.contains(mention.as_str().unwrap()),
                "{root}: {mention} in {}",
                walk.err
            );
        }
    }
}

#[test]
fn the_catalog_walk_prints_headings_names_and_totals() {
    let ok = catalog::validate(&data("bindings/catalog/ok"));
    let out =
        "workloads\n  chatbot: ok\n  summarization: ok\n  workload-replay: ok\n3 of 3 artifact(s) valid\n";
    assert_eq!((ok.out.as_str(), ok.err.as_str()), (out, ""));

    let bad = catalog::validate(&data("bindings/catalog/bad"));
    assert!(bad.err.ends_with("2 of 2 artifact(s) failed\n"), "{}", bad.err);
    for line in bad.err.lines().filter(|line| !line.ends_with("failed")) {
        assert!(
            line.starts_with("chatbot: error: ") || line.starts_with("broken-replay: error: "),
            "{line}"
        );
    }
}

#[test]
fn a_catalog_of_other_namespaces_has_nothing_to_validate() {
    let root = testkit::tempdir().unwrap();
    fs::create_dir(root.path().join("models")).unwrap();
    let walk = catalog::validate(root.path());
    assert_eq!(walk.exit, 2, "{walk:?}");
    assert!(
        walk.err.contains("models") && walk.err.contains("workloads"),
        "{}",
        walk.err
    );
}

#[test]
fn only_regular_yaml_files_directly_in_workloads_are_entries() {
    let root = testkit::tempdir().unwrap();
    let workloads = root.path().join("workloads");
    fs::create_dir_all(workloads.join("folder.yaml")).unwrap();
    fs::create_dir_all(workloads.join("deeper")).unwrap();
    let shape = "prompt: {tokens: 1}\noutput: {tokens: 1}\n";
    for name in ["b.yaml", "a.yaml", "c.yml", "d.YAML", ".yaml", "deeper/e.yaml"] {
        fs::write(workloads.join(name), shape).unwrap();
    }
    assert_eq!(catalog::Catalog::new(root.path()).names().unwrap(), ["a", "b"]);
}
