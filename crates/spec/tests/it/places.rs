//! Every problem of every fixture stands inside its file, and says what was found and what would be right.

use spec::{Kind, Problem, render};

use crate::support::{Case, bindings, sweepers};

fn all() -> impl Iterator<Item = (Case, Vec<Problem>)> {
    bindings().into_iter().chain(sweepers()).map(|case| {
        let problems = case.problems();
        (case, problems)
    })
}

#[test]
fn every_problem_has_a_line_and_a_column_inside_the_file() {
    for (case, problems) in all() {
        for problem in problems {
            let place = problem
                .place
                .unwrap_or_else(|| panic!("{}: {problem}", case.name));
            let line = case.text.lines().nth(place.line as usize - 1);
            let line = line.unwrap_or_else(|| panic!("{}: {problem}: line {}", case.name, place.line));
            let columns = line.chars().count() as u32 + 1;
            assert!(
                (1..=columns).contains(&place.column),
                "{}: {problem}: column {}",
                case.name,
                place.column
            );
            assert_eq!(
                spec_line(&case.text, place.start),
                place.line,
                "{}: {problem}",
                case.name
            );
        }
    }
}

fn spec_line(text: &str, offset: usize) -> u32 {
    text[..offset].matches('\n').count() as u32 + 1
}

#[test]
fn every_message_says_what_was_found_and_what_would_be_right() {
    const FOUND: [&str; 14] = [
        "found",
        "missing",
        "empty",
        "not one of",
        "unknown key",
        "twice",
        "exceeds",
        "longer",
        "below",
        "above",
        "constrains nothing",
        "looked for",
        "is for",
        "alias",
    ];
    const RIGHT: [&str; 7] = [
        "expected",
        "must",
        "one of",
        "keep one",
        "the catalog has",
        "reads ",
        "exactly two",
    ];
    for (case, problems) in all() {
        for problem in problems {
            let told = format!("{} {}", problem.message, problem.hint.as_deref().unwrap_or(""));
            let right = RIGHT.iter().any(|word| told.contains(word)) || problem.hint.is_some();
            // Quoted text is what was found.
            let found = FOUND.iter().any(|word| told.contains(word)) || problem.message.starts_with('"');
            assert!(found && right, "{}: {problem} | {:?}", case.name, problem.hint);
            let first = problem.message.chars().next().unwrap();
            assert!(
                !first.is_uppercase() && !problem.message.ends_with('.'),
                "{}: {problem}",
                case.name
            );
        }
    }
}

#[test]
fn places_are_those_of_the_value_the_key_or_the_mapping_that_lacks_it() {
    let cases = [
        // A wrong value: the value.
        (
            "workload:\n  trace:\n    data: a\n    rows: -1\n",
            "workload.trace.rows",
            (4, 11),
        ),
        // An unknown key: the key.
        ("workload:\n  trace:\n    dta: a\n", "workload.trace.dta", (3, 5)),
        // A missing key: the mapping that lacks it, flow or block.
        (
            "workload:\n  replay:\n    scenario: x\n",
            "workload.replay.concurrency",
            (3, 5),
        ),
        (
            "workload: {replay: {scenario: x}}\n",
            "workload.replay.concurrency",
            (1, 20),
        ),
        // A missing mapping: each leaf, at the nearest mapping there is.
        (
            "workload:\n  trace:\n    data: a\n",
            "workload.trace.header.mode",
            (3, 5),
        ),
        // A key stated twice: the second.
        ("workload:\n  shape: a\n  shape: b\n", "workload.shape", (3, 3)),
        // Characters count, not bytes; a byte-order mark and carriage returns do not.
        (
            "\u{feff}workload: {shape: é, shap: é}\r\n",
            "workload.shap",
            (1, 22),
        ),
        ("# é\r\nworkload:\r\n  shap: b\r\n", "workload.shap", (3, 3)),
        // An alias: where it stands.
        ("a: &a {x: 1}\nworkload: *a\n", "workload.x", (2, 11)),
        // Broken syntax.
        ("workload:\n  shape: [a\n", "", (2, 10)),
        ("", "", (1, 1)),
        ("# only a comment\n", "", (1, 1)),
        ("workload: {}\n---\nworkload: {}\n", "", (2, 1)),
    ];
    for (text, path, place) in cases {
        let (_, problems) = spec::read(text, Some(Kind::Scenario));
        let found: Vec<_> = problems.iter().filter(|problem| problem.path == path).collect();
        assert!(!found.is_empty(), "{text:?}: {problems:#?}");
        let at = found[0].place.unwrap();
        assert_eq!((at.line, at.column), place, "{text:?}: {found:#?}");
    }
}

#[test]
fn bytes_that_are_not_text_are_told_where_they_stand() {
    let (document, problems) = spec::read_bytes(b"name: x\nmodel: \xff\n", None);
    assert!(document.is_none());
    let place = problems[0].place.unwrap();
    assert_eq!((place.line, place.column), (2, 8));
    assert!(problems[0].message.contains("0xff"), "{}", problems[0]);
}

#[test]
fn problems_render_with_the_line_a_caret_and_the_hint() {
    let text = "workload:\n  trace:\n    data: runs/a.csv\n    header:\n      trace_version: 3\n      time_unit: us\n      mode: observed\n";
    let (_, problems) = spec::read(text, None);
    let shown = render::text(&problems, render::Source { file: "a.yaml", text }, false);
    assert_eq!(
        shown,
        "error: workload.trace.header.mode: \"observed\" is not one of [generated real replayed]\n \
         --> a.yaml:7:13\n  |\n7 |       mode: observed\n  |             ^^^^^^^^\n"
    );
    let coloured = render::text(&problems, render::Source { file: "a.yaml", text }, true);
    assert!(coloured.contains('\u{1b}'));

    let (_, problems) = spec::read("workload:\n  trace:\n    sha265: x\n", None);
    let shown = render::text(
        &problems,
        render::Source {
            file: "a.yaml",
            text: "workload:\n  trace:\n    sha265: x\n",
        },
        false,
    );
    assert!(
        shown.contains("    ^^^^^^\n") && shown.contains("hint: did you mean sha256?"),
        "{shown}"
    );
}

#[test]
fn problems_render_as_the_json_of_the_command_line() {
    let (_, problems) = spec::read("workload:\n  replay:\n    concurrency: x\n", None);
    let json = render::to_json([("a.yaml", &problems[..])]);
    assert_eq!(json["ok"], false);
    let problem = &json["problems"][0];
    assert_eq!(problem["file"], "a.yaml");
    assert_eq!(problem["path"], "workload.replay.concurrency");
    assert_eq!(problem["severity"], "error");
    assert_eq!(
        (problem["line"].as_u64(), problem["column"].as_u64()),
        (Some(3), Some(18))
    );
    assert!(
        problem["message"]
            .as_str()
            .unwrap()
            .contains("expected an integer")
    );
    assert_eq!(
        render::to_json([("a.yaml", &[][..])]),
        serde_json::json!({"problems": [], "ok": true})
    );
}

#[test]
fn any_rendering_of_any_fixture_is_possible() {
    for (case, problems) in all() {
        let source = render::Source {
            file: &case.name,
            text: &case.text,
        };
        let shown = render::text(&problems, source, false);
        for problem in &problems {
            let title = format!("{}: {}", problem.severity, problem.path);
            assert!(shown.contains(&title), "{}: {shown}", case.name);
        }
    }
}
