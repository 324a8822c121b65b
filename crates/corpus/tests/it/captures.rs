//! Requests that aiperf 0.12.0 really sent: each must be a turn of ours, from the same place of the row, with messages of
//! the same roles. (Their text is compared where prompts are made.)

use std::fs;

use corpus::select::Selection;
use corpus::{Corpus, LoadOptions, reconstruct};
use serde_json::Value;
use tree::segments::{Role, SegmentList};
use tree::{Conversation, SourceKind, Trace};

/// Loads a corpus of the oracle as its captures were made.
fn corpus(name: &str, max_context_length: u64, split_flattened_agents: bool) -> Option<Vec<Trace>> {
    let packed = testkit::shared(name)?;
    let folder = testkit::tempdir().unwrap();
    let path = folder.path().join("corpus.jsonl");
    fs::write(&path, testkit::bytes(&packed)).unwrap();
    let options = LoadOptions {
        selection: Selection {
            max_context_length: Some(max_context_length),
            entries: Some(393),
        },
        reconstruct: reconstruct::Options {
            split_flattened_agents,
            ..Default::default()
        },
        ..Default::default()
    };
    Some(Corpus::load(&path, None, &options, None).unwrap().traces)
}

/// Compares all requests of a capture; gives how many there were.
fn check(capture: &str, traces: &[Trace]) -> usize {
    let path = testkit::shared(&format!("oracle/captures/{capture}.json.gz")).unwrap();
    let capture: Value = testkit::json(&path);
    let requests = capture["requests"].as_array().unwrap();
    for request in requests {
        let id = request["conversation_id"].as_str().unwrap();
        let own = traces
            .iter()
            .flat_map(|trace| &trace.conversations)
            .find(|own| &*own.id == id);
        let own = own.unwrap_or_else(|| panic!("{capture}: no conversation {id}", capture = capture["run"]));
        check_request(own, request, &capture["messages"]);
    }
    requests.len()
}

fn check_request(own: &Conversation, request: &Value, messages: &Value) {
    let index = request["turn"].as_u64().unwrap() as usize;
    let place = format!("{} turn {index}", own.id);
    let turn = &own.turns[index];
    let kind = match turn.source.kind {
        SourceKind::WekaMain => "weka_main",
        SourceKind::WekaFlat => "weka_flat",
        SourceKind::WekaSubagent => "weka_subagent",
    };
    assert_eq!(request["source_kind"], kind, "{place}");
    assert_eq!(request["source_outer_idx"], turn.source.outer, "{place}");
    assert_eq!(
        request["source_inner_idx"],
        serde_json::json!(turn.source.inner),
        "{place}"
    );
    assert_eq!(request["depth"], own.depth, "{place}");
    if request["phase"] == "profiling" {
        assert_eq!(
            request["fields"]["max_completion_tokens"], turn.max_tokens,
            "{place}"
        );
    }
    let sent = request["messages"].as_array().unwrap().iter().map(|message| {
        let index = message.as_u64().or_else(|| message[0].as_u64()).unwrap();
        match messages[index as usize]["role"].as_str().unwrap() {
            "tool" => "user", // tool-shaped user text
            role => role,
        }
    });
    let list = SegmentList::of(own, index);
    let roles = list.segments.iter().map(|segment| match segment.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
    });
    assert!(sent.eq(roles), "{place}: roles");
}

#[test]
fn corpus_a() {
    let Some(traces) = corpus("oracle/corpora/corpus_a.jsonl", 8192, true) else {
        return;
    };
    assert_eq!(traces.len(), 6, "one of seven is over the limit");
    let captures = [
        "a_c2_r1",
        "a_c2_hfdir_r1",
        "a_c2_toolshape_r1",
        "a_c8_r1",
        "a_c4_scnratios_r1",
        "a_c4_cachepressure_r1",
    ];
    let requests: usize = captures.iter().map(|capture| check(capture, &traces)).sum();
    assert_eq!(requests, 125 + 59 + 59 + 486 + 112 + 1341);
}

#[test]
fn corpus_a_without_chain_detection() {
    let Some(traces) = corpus("oracle/corpora/corpus_a.jsonl", 8192, false) else {
        return;
    };
    assert_eq!(check("a_c2_nosplit_r1", &traces), 58);
}

#[test]
fn corpus_b() {
    let Some(traces) = corpus("oracle/corpora/corpus_b.jsonl.gz", 131_072, true) else {
        return;
    };
    let captures = ["b_c8_r1", "b_c8_idle2_r1", "b_c4_cachepressure_r1"];
    let requests: usize = captures.iter().map(|capture| check(capture, &traces)).sum();
    assert_eq!(requests, 43 + 745 + 1520);
}
