//! Inputs that broke other clients, by their numbers in the list of cases, each with its right answer.

use corpus::reconstruct::InnerTimes;
use corpus::{Corpus, HashIdMismatch, LoadOptions, WarningKind};

fn load(rows: &[String]) -> Corpus {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("corpus.jsonl");
    std::fs::write(&path, rows.join("\n")).unwrap();
    Corpus::load(&path, None, &LoadOptions::default(), None).unwrap()
}

fn row(id: &str, requests: &[String]) -> String {
    let requests = requests.join(",");
    format!(
        "{{\"id\":\"{id}\",\"models\":[\"m\"],\"block_size\":64,\"hash_id_scope\":\"local\",\"requests\":[{requests}]}}"
    )
}

fn request(t: f64, input: u32, ids: u32) -> String {
    let ids: Vec<u32> = (1..=ids).collect();
    format!(
        "{{\"t\":{t},\"type\":\"n\",\"model\":\"m\",\"in\":{input},\"out\":5,\"hash_ids\":{ids:?},\"api_time\":1.0}}"
    )
}

/// A trace whose subagent starts at 100 s and has one request, at `inner`.
fn with_subagent(id: &str, inner: f64) -> String {
    let inner = request(inner, 128, 2);
    let subagent = format!(
        "{{\"t\":100.0,\"type\":\"subagent\",\"agent_id\":\"a\",\"subagent_type\":\"x\",\"status\":\"completed\",\"models\":[\"m\"],\"requests\":[{inner}]}}"
    );
    row(id, &[request(0.0, 64, 1), subagent, request(200.0, 128, 2)])
}

#[test]
fn case_26_inner_times_of_both_conventions() {
    let start_ms = |corpus: &Corpus, trace: usize| {
        let subagent = corpus.traces[trace]
            .conversations
            .iter()
            .find(|one| one.id.contains("::sa:"))
            .unwrap();
        subagent.turns[0].timestamp_ms.unwrap()
    };
    for (what, inner, expected_ms, times) in [
        (
            "relative",
            5.0,
            105_000.0,
            InnerTimes {
                absolute: 0,
                relative: 1,
            },
        ),
        (
            "absolute",
            105.0,
            105_000.0,
            InnerTimes {
                absolute: 1,
                relative: 0,
            },
        ),
        (
            "1 µs before the marker",
            99.999_999,
            99_999.999,
            InnerTimes {
                absolute: 1,
                relative: 0,
            },
        ),
    ] {
        let corpus = load(&[with_subagent("t", inner)]);
        assert!((start_ms(&corpus, 0) - expected_ms).abs() < 1e-6, "{what}");
        assert_eq!(corpus.inner_times, times, "{what}");
        assert_eq!(corpus.warnings, [], "{what}");
    }
    let mixed = load(&[with_subagent("t", 5.0), with_subagent("u", 105.0)]);
    assert_eq!((start_ms(&mixed, 0), start_ms(&mixed, 1)), (105_000.0, 105_000.0));
    let kinds: Vec<_> = mixed.warnings.iter().map(|warning| &warning.kind).collect();
    assert_eq!(
        kinds,
        [&WarningKind::MixedInnerTimes {
            absolute: 1,
            relative: 1
        }]
    );
}

#[test]
fn case_27_ids_for_partial_and_surplus_blocks() {
    for (what, ids, expected) in [
        ("a partial block has an id too", 12, HashIdMismatch::Partial),
        ("a whole block too many", 13, HashIdMismatch::Surplus),
    ] {
        let corpus = load(&[row("t", &[request(0.0, 64, 1), request(9.0, 756, ids)])]);
        let turn = corpus.traces[0].conversations[0].turns.last().unwrap();
        assert_eq!(turn.input_tokens, 756, "{what}");
        let told = corpus.warnings.iter().find_map(|warning| match &warning.kind {
            WarningKind::HashIds { mismatch, field, .. } => {
                Some((*mismatch, field.clone(), warning.trace.clone()))
            }
            _ => None,
        });
        assert_eq!(
            told,
            Some((expected, "requests[1]".to_owned(), "t".to_owned())),
            "{what}"
        );
    }
}
