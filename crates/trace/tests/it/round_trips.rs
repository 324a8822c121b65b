//! Mooncake into a bundle and back, and a bundle into Mooncake and back: what both can hold comes back.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use proptest::prelude::*;
use tempfile::TempDir;
use trace::Problems;
use trace::blocks::{BlockStore, Ids};
use trace::bundle::{Bundle, BundleFiles};
use trace::convert::{from_mooncake, to_mooncake};
use trace::csv::{Optional, Row};
use trace::header::{Header, Mode};
use trace::mooncake::{Entry, Options};
use trace::recording::{LoadOptions, Recording};

use crate::mooncake::read;
use crate::support::reference;

/// Loads the bundle `stem` of `folder`.
fn load(folder: &Path, stem: &str) -> Recording {
    let files = BundleFiles::of_stem(folder, stem);
    Recording::load(&reference(&files.path(&files.binding)), LoadOptions::default()).unwrap()
}

fn bundle_of(path: &Path, folder: &Path) -> Recording {
    let header = Header::new(Mode::Generated);
    let files = BundleFiles::of_stem(folder, "m");
    let mut problems = Problems::new(path);
    from_mooncake(path, Options::default(), files, &header, &mut problems).unwrap();
    load(folder, "m")
}

/// Numbers in order of first appearance: what is left of ids when only equality counts.
fn pattern<T: std::hash::Hash + Eq + Clone>(lists: &[Vec<T>]) -> Vec<Vec<usize>> {
    let mut known = HashMap::new();
    lists
        .iter()
        .map(|list| {
            list.iter()
                .map(|id| {
                    let next = known.len();
                    *known.entry(id.clone()).or_insert(next)
                })
                .collect()
        })
        .collect()
}

/// A request of a random workload: session or none, gap in ms, think time in ms, prompt blocks, tokens of the last, output.
type Drawn = (Option<u8>, u32, u32, Vec<u8>, u32, u32);

fn drawn() -> impl Strategy<Value = Vec<Drawn>> {
    let one = (
        prop::option::of(0..4u8),
        0..100_000u32,
        0..100_000u32,
        prop::collection::vec(0..6u8, 1..5),
        1..=512u32,
        0..3000u32,
    );
    prop::collection::vec(one, 1..20)
}

/// The drawn requests as Mooncake text. Full last blocks, so that every id names a whole block.
fn mooncake_text(requests: &[Drawn]) -> String {
    let mut text = String::new();
    let mut at = 0;
    let mut sessions = HashMap::new();
    for (session, gap, think, blocks, last, output) in requests {
        at += gap;
        let turn = session.map(|session| {
            let turns: &mut u32 = sessions.entry(session).or_default();
            *turns += 1;
            *turns - 1
        });
        let length = (blocks.len() as u32 - 1) * 512 + last;
        let mut line = format!(
            "{{\"timestamp\":{at},\"input_length\":{length},\"output_length\":{output},\"hash_ids\":{blocks:?}"
        );
        if let Some(session) = session {
            write!(line, ",\"session_id\":\"s{session}\"").unwrap();
        }
        if turn.is_some_and(|turn| turn > 0) {
            write!(line, ",\"delay\":{}", think + 1).unwrap();
        }
        text.push_str(&line);
        text.push_str("}\n");
    }
    text
}

fn essence(entries: &[Entry]) -> Vec<(Option<String>, u32, Option<f64>, Option<f64>, u32, u32)> {
    let first = entries.first().and_then(|entry| entry.at_ms).unwrap_or(0.0);
    entries
        .iter()
        .map(|entry| {
            let at = entry.at_ms.map(|at| at - first);
            (
                entry.session.clone(),
                entry.turn,
                at,
                entry.delay_ms,
                entry.input,
                entry.output,
            )
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn mooncake_comes_back(requests in drawn()) {
        let folder = TempDir::new().unwrap();
        let source = folder.path().join("source.jsonl");
        std::fs::write(&source, mooncake_text(&requests)).unwrap();
        let recording = bundle_of(&source, folder.path());
        let back = folder.path().join("back.jsonl");
        let losses = to_mooncake(&recording, 512, std::fs::File::create(&back).unwrap()).unwrap();
        prop_assert_eq!(losses.list(), &[]);
        let (before, _) = read(&source, Options::default());
        let (after, problems) = read(&back, Options::default());
        prop_assert!(problems.is_ok());
        prop_assert_eq!(essence(&before), essence(&after));
        let whole = |entries: &[Entry]| {
            let lists = entries.iter().map(|entry| entry.hash_ids[..(entry.input / 512) as usize].to_vec());
            pattern(&lists.collect::<Vec<_>>())
        };
        prop_assert_eq!(whole(&before), whole(&after));
    }

    #[test]
    fn a_bundle_comes_back_from_mooncake(
        requests in drawn(),
        block_size in prop::sample::select(vec![64u64, 128, 512]),
    ) {
        let folder = TempDir::new().unwrap();
        let source = folder.path().join("source.jsonl");
        std::fs::write(&source, mooncake_text(&requests)).unwrap();
        // The same requests as a bundle of another block size, whose ids are made of the drawn ones.
        let files = BundleFiles::of_stem(folder.path(), "b");
        let optional = Optional { think_time_us: true, ..Optional::default() };
        let mut bundle = Bundle::create(files, optional, Some((block_size, Ids::Content))).unwrap();
        let (entries, _) = read(&source, Options::default());
        let per_block = 512 / block_size;
        for entry in &entries {
            let row = Row {
                request_id: bundle.rows(),
                session_id: entry.session.as_deref().unwrap_or_default(),
                round_index: entry.turn,
                input_tokens: entry.input,
                output_tokens: entry.output,
                arrival_us: entry.at_ms.unwrap() as i64 * 1000,
                think_time_us: entry.delay_ms.unwrap_or(0.0) as i64 * 1000,
                model: "m",
                status: "ok",
                ..Row::default()
            };
            let ids: Vec<u64> = (0..u64::from(entry.input).div_ceil(block_size))
                .map(|block| entry.hash_ids[(block / per_block) as usize] as u64 * per_block + block % per_block)
                .collect();
            bundle.blocks(row.request_id, u64::from(entry.input), &ids).unwrap();
            bundle.row(&row).unwrap();
        }
        bundle.finish(&Header::new(Mode::Generated)).unwrap();
        let recording = load(folder.path(), "b");
        let lines = folder.path().join("lines.jsonl");
        let losses = to_mooncake(&recording, 512, std::fs::File::create(&lines).unwrap()).unwrap();
        prop_assert_eq!(losses.list(), &[("models", entries.len() as u64)]);
        let back = bundle_of(&lines, folder.path());
        let times = |recording: &Recording| {
            let requests = recording.requests.iter();
            requests.map(|request| (request.at_us, request.think_time_us, request.prompt_tokens(), request.output_tokens)).collect::<Vec<_>>()
        };
        prop_assert_eq!(times(&recording), times(&back));
        // Sharing, in whole blocks of 512.
        let whole = |store: &BlockStore, recording: &Recording, per_block: usize| {
            let lists = recording.requests.iter().map(|request| {
                let ids = store.ids(request.request_id).unwrap().unwrap();
                let whole = (request.prompt_tokens() / 512) as usize;
                ids.chunks(per_block).take(whole).map(<[u64]>::to_vec).collect::<Vec<_>>()
            });
            pattern(&lists.collect::<Vec<_>>())
        };
        prop_assert_eq!(
            whole(recording.blocks.as_ref().unwrap(), &recording, per_block as usize),
            whole(back.blocks.as_ref().unwrap(), &back, 1)
        );
    }
}
