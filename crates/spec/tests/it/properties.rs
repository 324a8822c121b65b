//! What holds for any input: no panic, places inside the text, stable order, and idempotent resolution.

use proptest::prelude::*;
use spec::problem::{is_ok, is_ok_but_for_locks};
use spec::schema::schema;
use spec::{Document, Kind, Problem, render};

use crate::schema::{as_json, conforms};
use crate::support::{bindings, sweepers};

fn kinds() -> impl Iterator<Item = Option<Kind>> {
    [None].into_iter().chain(Kind::ALL.map(Some))
}

fn holds_for_any(bytes: &[u8]) {
    for kind in kinds() {
        let (document, problems) = spec::read_bytes(bytes, kind);
        assert_eq!(
            document.is_some(),
            is_ok_but_for_locks(&problems),
            "{problems:#?}"
        );
        let text = String::from_utf8_lossy(bytes);
        inside(&text, &problems);
        let mut sorted = problems.clone();
        sorted.sort_by(|a, b| (&a.path, &a.message).cmp(&(&b.path, &b.message)));
        assert_eq!(problems, sorted);
        if std::str::from_utf8(bytes).is_ok() {
            render::text(
                &problems,
                render::Source {
                    file: "a",
                    text: &text,
                },
                false,
            );
        }
        render::to_json([("a", &problems[..])]);
        if let Some(document) = document {
            schema_accepts(&document, &text, is_ok(&problems));
            let (effective, _) = spec::resolve(&document, None);
            if let Some(effective) = effective {
                let printed = effective.to_yaml();
                let (again, problems) = spec::read(&printed, kind.or(Some(effective.kind())));
                let again = again.unwrap_or_else(|| panic!("{printed}\n{problems:#?}"));
                let (again, _) = spec::resolve(&again, None);
                assert_eq!(
                    effective.to_json()["document"],
                    again.unwrap().to_json()["document"],
                    "{printed}"
                );
            }
        }
    }
}

/// What validates, the schema accepts, if JSON has a form for it.
fn schema_accepts(document: &Document, text: &str, valid: bool) {
    let kind = match document {
        Document::Scenario(_) => Kind::Scenario,
        Document::Catalog(_) => Kind::Catalog,
        Document::Sweeper(_) => Kind::Sweeper,
    };
    if let Some(json) = as_json(text).filter(|_| valid) {
        assert_eq!(conforms(&schema(kind), &json), Ok(()), "{text}");
    }
}

fn inside(text: &str, problems: &[Problem]) {
    let lines = text.split('\n').count() as u32;
    for problem in problems {
        let place = problem.place.expect("a document's problem has a place");
        assert!((1..=lines).contains(&place.line), "{problem}: {place:?}");
        let line = text.split('\n').nth(place.line as usize - 1).unwrap();
        assert!(
            (1..=line.chars().count() as u32 + 1).contains(&place.column),
            "{problem}: {place:?}"
        );
        assert!(!problem.message.is_empty());
    }
}

/// Words that documents are made of, so that random documents get past the first stage.
fn word() -> impl Strategy<Value = String> {
    let words = [
        "workload",
        "shape",
        "trace",
        "replay",
        "header",
        "corpus",
        "concurrency",
        "prompt",
        "output",
        "tokens",
        "goal",
        "isl",
        "osl",
        "kv_load_ratio",
        "thinking",
        "on",
        "true",
        "~",
        "0",
        "-1",
        "64",
        "1e3",
        ".inf",
        ".nan",
        "\"\"",
        "'x'",
        "{}",
        "[]",
        "[0, 1]",
        "<<",
        "&a",
        "*a",
        "!!str",
        "acceptance",
        "rates",
        "goodput_slo_targets",
        "|",
        ">",
        "#",
        "---",
        "sweep",
        "kind",
        "Scenario",
        "é",
        "\u{feff}",
        "\t",
        "_comment",
        "chatbot",
    ];
    prop_oneof![
        8 => proptest::sample::select(words.to_vec()).prop_map(str::to_owned),
        1 => "[ -~]{0,6}",
    ]
}

fn almost_yaml() -> impl Strategy<Value = String> {
    let line = (
        0usize..4,
        word(),
        prop_oneof![Just(": "), Just(":"), Just(" "), Just("- ")],
        word(),
    )
        .prop_map(|(depth, key, between, value)| format!("{}{key}{between}{value}\n", "  ".repeat(depth)));
    proptest::collection::vec(line, 0..12).prop_map(|lines| lines.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        holds_for_any(&bytes);
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in "\\PC{0,120}") {
        holds_for_any(text.as_bytes());
    }

    #[test]
    fn almost_documents_are_read_without_a_panic(text in almost_yaml()) {
        holds_for_any(text.as_bytes());
    }

    /// A fixture with a stretch replaced: close to valid, often just beyond it.
    #[test]
    fn a_changed_fixture_is_read_without_a_panic(
        which in any::<proptest::sample::Index>(),
        at in any::<proptest::sample::Index>(),
        length in 0usize..12,
        replacement in word(),
    ) {
        let cases: Vec<_> = bindings().into_iter().chain(sweepers()).collect();
        let mut bytes = which.get(&cases).text.clone().into_bytes();
        let start = at.index(bytes.len());
        let end = (start + length).min(bytes.len());
        bytes.splice(start..end, replacement.bytes());
        holds_for_any(&bytes);
    }

    /// Random synthetic load: what validates is accepted by the schema, with a JSON form made here and not by the crate.
    #[test]
    fn random_sweeper_documents_agree_with_the_schema(
        isl in -1i64..4, osl in -1i64..4, ratio in -1i64..4, concurrency in proptest::option::of(-1i64..4),
        rate in proptest::option::of(-1i64..4), prefix in -1i64..3,
    ) {
        let mut workload = serde_json::json!({
            "isl": isl, "osl": osl, "num_request_ratio": ratio, "shared_prefix_ratio": prefix, "num_prefix_groups": 1,
        });
        for (key, value) in [("concurrency", concurrency), ("request_rate", rate)] {
            if let Some(value) = value {
                workload[key] = value.into();
            }
        }
        let document = serde_json::json!({"workload": workload});
        // JSON is YAML.
        let (read, _) = spec::read(&document.to_string(), None);
        let valid = isl > 0 && osl > 0 && ratio > 0 && (0..=1).contains(&prefix)
            && concurrency.is_some() != rate.is_some() && concurrency.or(rate).is_some_and(|load| load > 0);
        prop_assert_eq!(read.is_some(), valid);
        if valid {
            prop_assert_eq!(conforms(&schema(Kind::Sweeper), &document), Ok(()));
        }
    }
}

#[test]
fn ten_thousand_documents_are_validated_one_by_one() {
    // The budget is two seconds in release; here only that the work is bounded and each outcome is the same every time.
    let cases: Vec<_> = bindings().into_iter().chain(sweepers()).collect();
    let first: Vec<usize> = cases
        .iter()
        .map(|case| spec::read(&case.text, Some(case.kind)).1.len())
        .collect();
    for round in 0..=10_000 / cases.len() {
        for (case, expected) in cases.iter().zip(&first) {
            let found = spec::read(&case.text, Some(case.kind)).1.len();
            assert_eq!(found, *expected, "{} in round {round}", case.name);
        }
    }
}
