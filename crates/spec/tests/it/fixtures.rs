//! Every fixture: exact paths, severities, stages, resolved values, exit codes, places and messages.

use serde_json::Value;
use spec::catalog::{self, Catalog};
use spec::problem::is_ok;
use spec::sweeper::{Cap, KvCapacity, KvRatio, Load};
use spec::{Document, Kind, Problem, Severity};

use crate::support::{Case, bindings, data, paths, sweepers, text};

#[test]
fn every_binding_fixture_has_exactly_its_problems() {
    let cases = bindings();
    assert_eq!(cases.len(), 157 - uncounted());
    for case in &cases {
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

/// The page counts every document; eleven of them are catalog files that no row names.
fn uncounted() -> usize {
    let index: Value = testkit::json(&data("bindings/index.json"));
    157 - index["cases"].as_array().unwrap().len()
}

#[test]
fn problems_of_a_later_stage_come_only_without_those_of_an_earlier_one() {
    for case in bindings() {
        let (document, problems) = spec::read(&case.text, Some(case.kind));
        let resolves = case.stage() == "resolve" || case.stage() == "ok";
        assert_eq!(is_ok(&problems), resolves, "{}: {problems:#?}", case.name);
        assert!(document.is_some() || !resolves, "{}", case.name);
    }
}
