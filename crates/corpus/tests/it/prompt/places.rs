//! Where blocks and tails begin, and the marker's digest, against values printed by aiperf 0.12.0.

use corpus::prompt::{base_seed, block_start, marker, tail_window};
use serde::Deserialize;

use super::data;

#[derive(Deserialize)]
struct Blocks {
    base_seed: String,
    root_seed: u64,
    block_starts: Vec<BlockStart>,
    partial_tails: Vec<PartialTail>,
    decode_blocks_1_2_1_identity_corpus_276439: Decoded,
}

#[derive(Deserialize)]
struct BlockStart {
    trace_id: String,
    hash_id: i64,
    corpus_size: u32,
    start: u32,
}

#[derive(Deserialize)]
struct PartialTail {
    seed: String,
    n: u32,
    corpus_size: u32,
    offset: u32,
    first: u32,
    last: u32,
}

#[derive(Deserialize)]
struct Decoded {
    first4: Vec<u32>,
    tok64: Vec<u32>,
    tok128: Vec<u32>,
}

#[test]
fn blocks_and_tails_begin_where_aiperf_s_do() {
    let blocks: Blocks = testkit::json(&data("blocks.json"));
    let base = base_seed(blocks.root_seed);
    assert_eq!(base.to_string(), blocks.base_seed);
    assert!(blocks.block_starts.len() > 20 && blocks.partial_tails.len() > 10);
    for case in &blocks.block_starts {
        let start = block_start(base, &case.trace_id, case.hash_id, case.corpus_size);
        assert_eq!(
            start, case.start,
            "{} {} {}",
            case.trace_id, case.hash_id, case.corpus_size
        );
    }
    for case in &blocks.partial_tails {
        let label: Vec<&str> = case.seed.rsplitn(3, ':').collect();
        let [_, turn, conversation] = label[..] else {
            panic!("{} is no label of a tail", case.seed)
        };
        let turn = turn.strip_prefix("turn_").unwrap().parse().unwrap();
        let window = tail_window(conversation, turn, case.n, case.corpus_size);
        assert_eq!(
            (window.start, window.tokens),
            (case.offset, case.n),
            "{} {}",
            case.seed,
            case.n
        );
        assert_eq!(
            (case.first, case.last),
            (window.start, window.start + window.tokens - 1)
        );
    }
    let decoded = &blocks.decode_blocks_1_2_1_identity_corpus_276439;
    let start = |id| block_start(base, "trace_0001", id, 276_439);
    assert_eq!(
        [decoded.first4[0], decoded.tok64[0], decoded.tok128[0]],
        [start(1), start(2), start(1)]
    );
}

#[test]
fn a_tail_longer_than_the_pool_is_the_pool() {
    let window = tail_window("t", 0, 1000, 100);
    assert_eq!((window.start, window.tokens), (0, 100));
}

#[derive(Deserialize)]
struct CacheBust {
    markers: Vec<MarkerCase>,
    base_trace_id: std::collections::BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct MarkerCase {
    benchmark_id: String,
    recycle_pass: u64,
    lane: u64,
    base_trace_id: String,
    marker: String,
}

#[test]
fn markers_are_aiperf_s() {
    let cases: CacheBust = testkit::json(&data("cache_bust.json"));
    assert!(!cases.markers.is_empty() && !cases.base_trace_id.is_empty());
    for case in &cases.markers {
        for id in [
            case.base_trace_id.clone(),
            format!("{}::sa:x", case.base_trace_id),
        ] {
            let text = marker::text(&case.benchmark_id, case.recycle_pass, case.lane, &id);
            assert_eq!(text, case.marker);
        }
    }
    for (conversation, trace) in &cases.base_trace_id {
        assert_eq!(marker::base_trace_id(conversation), trace);
    }
}
