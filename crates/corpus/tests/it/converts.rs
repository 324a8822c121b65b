//! Weka traces into a bundle and back: every request and every equality of blocks comes back, and so do the session trees.

use std::path::Path;

use corpus::convert::{from_weka, pieces, to_weka};
use corpus::synth::Synth;
use corpus::{Corpus, LoadOptions};
use tempfile::TempDir;
use trace::blocks::{BlockStore, ChainIds};
use trace::bundle::BundleFiles;
use trace::header::{Header, Mode, Stored};
use trace::mooncake::Options;
use trace::recording::{LoadOptions as TraceOptions, Recording};
use trace::verify::{Reference, VERSION_MAX, verify};
use trace::{Problems, TimeUnit};

/// What the binding of a bundle says.
fn reference(folder: &Path, stored: &Stored) -> Reference {
    Reference {
        data: folder.join(&stored.data),
        sha256: Some(stored.sha256.clone()),
        rows: Some(stored.rows),
        trace_version: VERSION_MAX,
        time_unit: TimeUnit::Microsecond,
        token_blocks: stored
            .token_blocks
            .as_ref()
            .map(|(name, digest)| (folder.join(name), digest.clone())),
    }
}

fn bundle(source: &Path, folder: &Path, stem: &str) -> (Recording, Vec<(&'static str, u64)>) {
    let files = BundleFiles::of_stem(folder, stem);
    let converted = from_weka(source, files, &Header::new(Mode::Generated)).unwrap();
    let reference = reference(folder, &converted.stored);
    assert_eq!(verify(&reference).unwrap().problems.list(), []);
    let recording = Recording::load(&reference, TraceOptions::default()).unwrap();
    assert_eq!(recording.requests.len() as u64, converted.stored.rows);
    (recording, converted.losses.list().to_vec())
}

/// Converts there and back, and compares the session trees.
fn check(source: &Path) {
    let folder = TempDir::new().unwrap();
    let (recording, _) = bundle(source, folder.path(), "there");
    let back = folder.path().join("back.jsonl");
    let losses = to_weka(&recording, std::fs::File::create(&back).unwrap()).unwrap();
    let blocks = losses.list().iter().find(|(what, _)| what.contains("block"));
    assert_eq!(blocks, None, "no Weka trace shares a block with another");
    let load = |path: &Path| Corpus::load(path, None, &LoadOptions::default(), None).unwrap();
    let (before, after) = (load(source), load(&back));
    assert_eq!(before.traces.len(), after.traces.len());
    for trace in &before.traces {
        let other = after.traces.iter().find(|other| other.id == trace.id).unwrap();
        assert_eq!(trace.peak_tokens, other.peak_tokens, "{}", trace.id);
        assert_eq!(
            trace.conversations.len(),
            other.conversations.len(),
            "{}",
            trace.id
        );
        for conversation in &trace.conversations {
            let same = other
                .conversations
                .iter()
                .find(|same| same.id == conversation.id)
                .unwrap();
            assert_eq!(conversation.turns.len(), same.turns.len(), "{}", conversation.id);
            for (turn, (left, right)) in conversation.turns.iter().zip(&same.turns).enumerate() {
                let place = format!("{} turn {turn}", conversation.id);
                let near = |left: Option<f64>, right: Option<f64>, allowed_ms: f64| match (left, right) {
                    (Some(left), Some(right)) => (left - right).abs() <= allowed_ms,
                    (left, right) => left.is_none() == right.is_none(),
                };
                assert!(
                    near(left.timestamp_ms, right.timestamp_ms, 0.001),
                    "{place}: start"
                );
                assert!(
                    near(left.api_time_ms, right.api_time_ms, 0.001),
                    "{place}: api time"
                );
                assert!(near(left.delay_ms, right.delay_ms, 0.003), "{place}: delay");
                assert_eq!(
                    (left.input_tokens, left.max_tokens, left.cache),
                    (right.input_tokens, right.max_tokens, right.cache),
                    "{place}: lengths and shared blocks"
                );
            }
        }
    }
}

fn unpacked(relative: &str) -> Option<(TempDir, std::path::PathBuf)> {
    let path = testkit::shared(relative)?;
    let folder = TempDir::new().unwrap();
    let plain = folder.path().join("corpus.jsonl");
    std::fs::write(&plain, testkit::bytes(&path)).unwrap();
    Some((folder, plain))
}

#[test]
fn real_traces_come_back() {
    for relative in [
        "oracle/corpora/corpus_b.jsonl.gz",
        "oracle/corpora/corpus_c.jsonl.gz",
    ] {
        if let Some((_folder, path)) = unpacked(relative) {
            check(&path);
        }
    }
}

#[test]
fn random_traces_come_back() {
    let folder = TempDir::new().unwrap();
    for seed in 0..6 {
        let path = folder.path().join(format!("{seed}.jsonl"));
        std::fs::write(&path, Synth { seed, ..Synth::DEMO }.jsonl()).unwrap();
        check(&path);
    }
}

#[test]
fn what_a_data_file_cannot_hold_is_said() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("demo.jsonl");
    std::fs::write(&path, corpus::synth::demo()).unwrap();
    let (recording, losses) = bundle(&path, folder.path(), "demo");
    let lost: Vec<_> = losses.iter().map(|(what, _)| *what).collect();
    assert!(
        lost.contains(&"spawns and joins of subagents; their sessions keep their names"),
        "{lost:?}"
    );
    assert!(lost.contains(&"declared tool and system tokens"), "{lost:?}");
    assert_eq!(
        recording.skipped.failed, 0,
        "rows that were never run are no failed ones"
    );
}

#[test]
fn weka_goes_through_mooncake() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("demo.jsonl");
    std::fs::write(&path, corpus::synth::demo()).unwrap();
    let (recording, _) = bundle(&path, folder.path(), "demo");
    let lines = folder.path().join("lines.jsonl");
    let losses = trace::convert::to_mooncake(&recording, 64, std::fs::File::create(&lines).unwrap()).unwrap();
    assert!(
        losses.list().iter().all(|(what, _)| !what.contains("sharing")),
        "64 divides 64: {losses:?}"
    );
    let options = Options {
        block_size: 64,
        ..Options::default()
    };
    let files = BundleFiles::of_stem(folder.path(), "back");
    let mut problems = Problems::new(&lines);
    let converted = trace::convert::from_mooncake(
        &lines,
        options,
        files,
        &Header::new(Mode::Generated),
        &mut problems,
    )
    .unwrap();
    let back = Recording::load(
        &reference(folder.path(), &converted.stored),
        TraceOptions::default(),
    )
    .unwrap();
    let essence = |recording: &Recording| {
        let requests = recording.requests.iter();
        requests
            .map(|request| {
                let session = recording.names.text(request.session).to_owned();
                (
                    session,
                    request.round,
                    request.at_us,
                    request.input_tokens,
                    request.output_tokens,
                )
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(essence(&recording), essence(&back));
    assert_eq!(seen_blocks(&recording), seen_blocks(&back));
}

/// For each request in order of arrival, the leading blocks that came before.
fn seen_blocks(recording: &Recording) -> Vec<usize> {
    let store: &BlockStore = recording.blocks.as_ref().unwrap();
    let mut seen = std::collections::HashSet::new();
    recording
        .requests
        .iter()
        .map(|request| {
            let ids = store.ids(request.request_id).unwrap().unwrap();
            let leading = ids.iter().take_while(|id| seen.contains(*id)).count();
            seen.extend(ids);
            leading
        })
        .collect()
}

#[test]
fn chained_ids_share_what_prompts_share() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("demo.jsonl");
    std::fs::write(&path, corpus::synth::demo()).unwrap();
    let corpus = Corpus::load(&path, None, &LoadOptions::default(), None).unwrap();
    let mut chain = ChainIds::new(tree::BLOCK_TOKENS);
    let mut shared = 0;
    for trace in &corpus.traces {
        let root = chain.root(&trace.id);
        for (index, conversation) in trace.conversations.iter().enumerate() {
            let mut before: Vec<u64> = Vec::new();
            for (turn, at) in conversation.turns.iter().enumerate() {
                let mut ids = Vec::new();
                let tokens = chain.of(root, pieces(index, conversation, turn), &mut ids);
                assert_eq!(tokens, at.input_tokens, "{} turn {turn}", conversation.id);
                assert_eq!(ids.len() as u64, tokens.div_ceil(64));
                let common = before
                    .iter()
                    .zip(&ids)
                    .take_while(|(left, right)| left == right)
                    .count();
                assert!(common as u64 >= u64::from(at.prompt.keep_blocks).min(tokens / 64));
                shared += common;
                before = ids;
            }
        }
    }
    assert!(
        shared > 1000,
        "turns of one conversation share what they keep: {shared}"
    );
}

#[test]
fn sharing_that_weka_cannot_hold_is_counted() {
    // Two sessions that begin alike become two traces, whose ids are their own.
    let folder = TempDir::new().unwrap();
    let lines = folder.path().join("m.jsonl");
    let line = |session: &str| {
        format!(
            "{{\"session_id\":\"{session}\",\"timestamp\":0,\"input_length\":1024,\"output_length\":1,\"hash_ids\":[1,2]}}\n"
        )
    };
    std::fs::write(&lines, line("a") + &line("b")).unwrap();
    let mut problems = Problems::new(&lines);
    let recording =
        trace::convert::load_mooncake(&lines, Options::default(), TraceOptions::default(), &mut problems)
            .unwrap();
    let back = folder.path().join("back.jsonl");
    let losses = to_weka(&recording, std::fs::File::create(&back).unwrap()).unwrap();
    assert_eq!(losses.list(), [("blocks that another trace had too", 2)]);
    let corpus = Corpus::load(&back, None, &LoadOptions::default(), None).unwrap();
    assert_eq!(corpus.traces.len(), 2);
}
