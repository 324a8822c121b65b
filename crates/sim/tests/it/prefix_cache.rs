//! Blocks: hits from the front only, holders, order of eviction.

use sim::prefix_cache::BlockPool;

/// Takes blocks for `hashes` as a new sequence would and lets go of them.
fn visit(pool: &mut BlockPool, hashes: &[u64]) -> usize {
    let mut held = Vec::new();
    let (n_hits, _) = pool.lookup(hashes);
    pool.hold(&hashes[..n_hits], &mut held);
    pool.take(hashes.len() - n_hits, &mut held);
    for (block, hash) in held.iter().zip(hashes) {
        pool.register(*block, *hash);
    }
    pool.release(&mut held);
    n_hits
}

#[test]
fn hits_are_the_known_run_from_the_front() {
    let mut pool = BlockPool::new(100);
    let cases: [(&[u64], usize); 5] = [
        (&[1, 2, 3], 0),
        (&[1, 2, 3, 4], 3),
        (&[1, 9, 3, 4], 1),
        (&[7, 2, 3], 0),
        (&[1, 2, 3, 4, 5], 4),
    ];
    for (hashes, expected) in cases {
        assert_eq!(visit(&mut pool, hashes), expected, "{hashes:?}");
    }
    assert_eq!(pool.available(), 100);
}

#[test]
fn the_longest_unused_goes_first_and_of_one_sequence_its_end() {
    let mut pool = BlockPool::new(6);
    visit(&mut pool, &[1, 2, 3]);
    visit(&mut pool, &[11, 12, 13]);
    // 1, 2, 3 are older, and 3 was let go of first.
    visit(&mut pool, &[21]);
    assert_eq!(pool.evictions(), 1);
    assert_eq!(pool.lookup(&[1, 2, 3]).0, 2);
    assert_eq!(pool.lookup(&[11, 12, 13]).0, 3);
    // A visit makes 1, 2 the youngest; now 13 has to go.
    visit(&mut pool, &[1, 2]);
    visit(&mut pool, &[22]);
    assert_eq!(pool.lookup(&[1, 2, 3]).0, 2);
    assert_eq!(pool.lookup(&[11, 12, 13]).0, 2);
}

#[test]
fn held_blocks_are_never_given_away() {
    let mut pool = BlockPool::new(4);
    let mut held = Vec::new();
    pool.take(2, &mut held);
    pool.register(held[0], 1);
    pool.register(held[1], 2);
    visit(&mut pool, &[8, 9]);
    visit(&mut pool, &[18, 19]);
    assert_eq!(pool.lookup(&[1, 2]), (2, 0));
    assert_eq!(pool.available(), 2);
    assert!((pool.usage() - 0.5).abs() < 1e-12);
    pool.release(&mut held);
    assert_eq!(pool.lookup(&[1, 2]), (2, 2));
    assert_eq!(pool.available(), 4);
}

#[test]
fn one_text_in_two_blocks_is_found_once_and_both_come_free() {
    let mut pool = BlockPool::new(2);
    let (mut first, mut second) = (Vec::new(), Vec::new());
    pool.take(1, &mut first);
    pool.take(1, &mut second);
    pool.register(first[0], 5);
    pool.register(second[0], 5);
    pool.release(&mut first);
    pool.release(&mut second);
    assert_eq!(pool.available(), 2);
    assert_eq!(pool.lookup(&[5]), (1, 1));
    assert_eq!(visit(&mut pool, &[6, 7]), 0);
    assert_eq!(pool.lookup(&[5]).0, 0);
}
