//! Resolution: the fixtures' values, origins, and that a resolved document resolves to itself.

use serde_json::Value;
use spec::catalog::{Catalog, Traffic};
use spec::replay::{MaxContextLength, Warmup};
use spec::{Document, Effective, Origin};

use crate::support::{bindings, data, sha256, sweepers, text};

fn resolved(text: &str, kind: Option<spec::Kind>, catalog: Option<&Catalog>) -> Effective {
    let (document, problems) = spec::read(text, kind);
    let document = document.unwrap_or_else(|| panic!("{text}: {problems:#?}"));
    let (effective, problems) = spec::resolve(&document, catalog);
    effective.unwrap_or_else(|| panic!("{text}: {problems:#?}"))
}

/// Numbers compare as numbers: 3.0 is 3.
fn same(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            found.len() == expected.len() && expected.iter().all(|(key, value)| same(&found[key], value))
        }
        _ if expected.is_number() => found.as_f64() == expected.as_f64(),
        _ => found == expected,
    }
}

#[test]
fn fixtures_resolve_to_their_values() {
    let index: Value = testkit::json(&data("bindings/index.json"));
    for row in index["resolved"].as_array().unwrap() {
        let file = row["binding"].as_str().unwrap();
        let catalog = row["catalog"]
            .as_str()
            .map(|root| Catalog::new(data("bindings").join(root)));
        let effective = resolved(&text(&data("bindings").join(file)), None, catalog.as_ref());
        let replay = &effective.to_json()["document"]["workload"]["replay"];
        for (key, expected) in row["expect"].as_object().unwrap() {
            assert!(
                same(&replay[key], expected),
                "{file}: {key}: {} is not {expected}",
                replay[key]
            );
        }
    }
}

#[test]
fn each_value_says_where_it_is_from() {
    let catalog = Catalog::new(data("bindings/catalog/ok"));
    let effective = resolved(
        &text(&data("bindings/valid/40-replay-reference.yaml")),
        None,
        Some(&catalog),
    );
    let json = effective.to_json();
    let cases = [
        ("concurrency", "stated"),
        ("grace_period_s", "stated"),
        ("benchmark_duration_s", "catalog"),
        ("corpus.sha256", "catalog"),
        ("corpus.source.file", "default"),
        ("random_seed", "default"),
        ("warmup.mode", "default"),
        ("cache_bust", "lock"),
        ("synthesis_max_isl", "lock"),
        ("trace_idle_gap_cap_s", "default"),
    ];
    for (key, origin) in cases {
        assert_eq!(json["origins"][format!("workload.replay.{key}")], origin, "{key}");
    }
    assert_eq!(json["entry"]["name"], "workload-replay");
    let bytes = testkit::bytes(&data("bindings/catalog/ok/workloads/workload-replay.yaml"));
    assert_eq!(json["entry"]["sha256"], sha256(&bytes));

    let yaml = effective.to_yaml();
    assert!(yaml.contains("    grace_period_s: 1800  # stated\n"), "{yaml}");
    assert!(yaml.contains("    thinking: \"on\"  # catalog\n"), "{yaml}");
    assert!(
        yaml.contains("    harness_version: \"0.12.0\"  # catalog\n"),
        "{yaml}"
    );

    let Effective::Scenario(scenario) = &effective else {
        panic!("{effective:?}")
    };
    let Some(Traffic::Replay(replay)) = &scenario.traffic else {
        panic!("{scenario:?}")
    };
    assert_eq!(replay.origin("random_seed"), Some(Origin::Default));
    assert!(replay.states("benchmark_duration_s") && !replay.states("warmup.requests_per_lane"));
    assert_eq!(
        (replay.max_context_length, replay.warmup),
        (Some(MaxContextLength::ModelLimit), Warmup::Synthesized)
    );
}

#[test]
fn a_resolved_document_validates_and_resolves_to_itself() {
    for case in bindings()
        .into_iter()
        .chain(sweepers())
        .filter(|case| case.name.contains("/valid/"))
    {
        // A reference needs its catalog; the one fixture without is about validation alone.
        let needs_catalog = case.name.contains("42-replay-reference-no-catalog");
        if needs_catalog {
            continue;
        }
        let once = resolved(&case.text, Some(case.kind), case.catalog.as_ref());
        let printed = once.to_yaml();
        let (_, problems) = spec::read(&printed, Some(case.kind));
        assert!(
            problems.iter().all(|problem| !problem.is_error()),
            "{}: {printed}\n{problems:#?}",
            case.name
        );
        let told = resolved(&printed, None, case.catalog.as_ref());
        let twice = resolved(&printed, Some(case.kind), case.catalog.as_ref());
        assert_eq!(
            once.to_json()["document"],
            twice.to_json()["document"],
            "{}: {printed}",
            case.name
        );
        assert_eq!(twice.to_yaml(), told.to_yaml(), "{}", case.name);
    }
}

#[test]
fn keys_of_the_fork_are_named() {
    let cases: [(&str, &[&str]); 4] = [
        ("20-replay-inline-minimal", &[]),
        (
            "21-replay-inline-full",
            &["trace_idle_gap_cap_s", "warmup.requests_per_lane"],
        ),
        ("25-replay-warmup-duration", &[]),
        ("26-replay-warmup-synthesized", &[]),
    ];
    for (file, keys) in cases {
        let text = text(&data(&format!("bindings/valid/{file}.yaml")));
        let Effective::Scenario(scenario) = resolved(&text, None, None) else {
            panic!("{file}")
        };
        let Some(Traffic::Replay(replay)) = scenario.traffic else {
            panic!("{file}")
        };
        assert_eq!(replay.fork_keys(), keys, "{file}");
    }
}

#[test]
fn a_reference_without_a_catalog_does_not_resolve() {
    for (file, path) in [
        ("01-shape-reference", "references.workload.shape"),
        ("40-replay-reference", "references.workload.replay.workload"),
    ] {
        let (document, _) = spec::read(&text(&data(&format!("bindings/valid/{file}.yaml"))), None);
        let (effective, problems) = spec::resolve(&document.unwrap(), None);
        assert!(effective.is_none());
        assert_eq!(problems[0].path, path);
        assert!(
            problems[0].hint.as_deref().unwrap().contains("--catalog"),
            "{problems:?}"
        );
    }
}

#[test]
fn a_missing_entry_is_told_with_the_file_and_what_is_there() {
    let catalog = Catalog::new(data("bindings/catalog/ok"));
    let (document, _) = spec::read("workload: {shape: chatbt}", None);
    let (_, problems) = spec::resolve(&document.unwrap(), Some(&catalog));
    assert_eq!(
        problems[0].message,
        "\"chatbt\": looked for workloads/chatbt.yaml; the catalog has [chatbot summarization workload-replay]"
    );
    assert_eq!(problems[0].hint.as_deref(), Some("did you mean chatbot?"));
}

#[test]
fn an_entry_that_does_not_decode_is_one_problem_at_the_reference() {
    let root = testkit::tempdir().unwrap();
    let workloads = root.path().join("workloads");
    std::fs::create_dir(&workloads).unwrap();
    let entries = [
        ("typo", "prompt: {tokns: 1, tokes: 2}\noutput: {tokens: x}\n"),
        ("syntax", "prompt: [\n"),
        ("replay-typo", "replay: {secnario: x, streaming: 5}\n"),
        ("bytes", "\u{1}"),
    ];
    for (name, content) in entries {
        std::fs::write(workloads.join(format!("{name}.yaml")), content).unwrap();
    }
    let catalog = Catalog::new(root.path());
    for (name, _) in entries {
        for (document, path) in [
            (
                format!("workload: {{shape: {name}}}"),
                "references.workload.shape",
            ),
            (
                format!("workload: {{replay: {{workload: {name}, concurrency: 1}}}}"),
                "references.workload.replay.workload",
            ),
        ] {
            let (read, _) = spec::read(&document, None);
            let (_, problems) = spec::resolve(&read.unwrap(), Some(&catalog));
            assert_eq!(problems.len(), 1, "{document}: {problems:#?}");
            assert_eq!(problems[0].path, path, "{document}: {problems:#?}");
        }
    }
}

#[test]
fn an_acceptance_is_replaced_whole_and_a_bad_shape_is_told_under_the_reference() {
    let root = testkit::tempdir().unwrap();
    let workloads = root.path().join("workloads");
    std::fs::create_dir(&workloads).unwrap();
    let entry = text(&data("bindings/catalog/ok/workloads/workload-replay.yaml"));
    let entry = entry + "  acceptance: {rates: [0.5, 0.25], method: measured}\n  random_seed: 5\n";
    std::fs::write(workloads.join("r.yaml"), entry).unwrap();
    std::fs::write(
        workloads.join("s.yaml"),
        "prompt: {tokens: 0}\noutput: {tokens: 1}\n",
    )
    .unwrap();
    let catalog = Catalog::new(root.path());

    let binding = "workload: {replay: {workload: r, concurrency: 3, acceptance: {length: 2, num_speculative_tokens: 2}}}";
    let replay = &resolved(binding, None, Some(&catalog)).to_json()["document"]["workload"]["replay"];
    assert_eq!(
        replay["acceptance"],
        serde_json::json!({"length": 2, "num_speculative_tokens": 2})
    );
    assert_eq!(replay["random_seed"], 5);
    let kept = "workload: {replay: {workload: r, concurrency: 3}}";
    let replay = &resolved(kept, None, Some(&catalog)).to_json()["document"]["workload"]["replay"];
    assert_eq!(replay["acceptance"]["method"], "measured");

    let (document, _) = spec::read("workload: {shape: s}", None);
    let Some(Document::Scenario(_)) = &document else {
        panic!("{document:?}")
    };
    let (_, problems) = spec::resolve(&document.unwrap(), Some(&catalog));
    assert_eq!(problems[0].path, "references.workload.shape.prompt.tokens");
    assert!(
        problems[0].message.contains("workloads/s.yaml:1:18"),
        "{}",
        problems[0]
    );
}
