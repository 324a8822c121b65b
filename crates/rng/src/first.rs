//! The first draw of several of Python's generators at once.
//!
//! A block's place in the pool is the one draw of a generator of its own, and nearly all of its cost is seeding: two passes
//! over 624 words in which each word waits for the one before. Seeds do not wait for each other, so a group of them is
//! passed over together, and only those words are made that the first draw looks at. Never used where a second draw follows.

use crate::Python;

/// Seeds that are drawn together.
pub const GROUP: usize = 8;

const WORDS: usize = 624;
/// Distance between the words that an output is made of.
const SHIFT: usize = 397;
/// Outputs that follow from the seeded state alone; none is made of another.
const OUTPUTS: usize = WORDS - SHIFT;

/// One word of each generator.
type Row = [u32; GROUP];

/// For each seed the value of `Python::new(seed).below(n)`.
///
/// # Panics
/// When `n` is 0.
pub fn first_below(seeds: &[u64; GROUP], n: u64) -> [u64; GROUP] {
    assert!(n > 0, "nothing is below 0");
    let width = 64 - n.leading_zeros();
    // Shorter keys mix differently, wider draws take two words.
    if width > 32 || seeds.iter().any(|seed| seed >> 32 == 0) {
        return seeds.map(|seed| Python::new(seed).below(n));
    }
    let state = seeded(seeds);
    std::array::from_fn(|lane| {
        let mut drawn = (0..OUTPUTS).map(|at| u64::from(output(&state, at, lane) >> (32 - width)));
        drawn
            .find(|drawn| *drawn < n)
            .unwrap_or_else(|| Python::new(seeds[lane]).below(n))
    })
}

/// `init_by_array` of MT19937 with the two words of each seed, least significant first.
fn seeded(seeds: &[u64; GROUP]) -> [Row; WORDS] {
    let keys = [
        seeds.map(|seed| seed as u32),
        seeds.map(|seed| ((seed >> 32) as u32).wrapping_add(1)), // the key's position is added with it
    ];
    let mut state = START.map(|word| [word; GROUP]);
    let mut before = state[0];
    for at in 1..WORDS {
        before = mixed(&state[at], &before, 1_664_525, &keys[(at - 1) % 2]);
        state[at] = before;
    }
    // Word 0 is now the last one; the pass ends with word 1.
    before = mixed(&state[1], &before, 1_664_525, &keys[(WORDS - 1) % 2]);
    state[1] = before;
    for (at, word) in (2_u32..).zip(&mut state[2..]) {
        before = mixed(word, &before, 1_566_083_941, &[at.wrapping_neg(); GROUP]);
        *word = before;
    }
    state[1] = mixed(&state[1], &before, 1_566_083_941, &[1_u32.wrapping_neg(); GROUP]);
    state[0] = [0x8000_0000; GROUP];
    state
}

#[inline]
fn mixed(word: &Row, before: &Row, factor: u32, add: &Row) -> Row {
    std::array::from_fn(|lane| {
        let stirred = (before[lane] ^ before[lane] >> 30).wrapping_mul(factor);
        (word[lane] ^ stirred).wrapping_add(add[lane])
    })
}

/// Output number `at` of one generator.
fn output(state: &[Row; WORDS], at: usize, lane: usize) -> u32 {
    let joined = state[at][lane] & 0x8000_0000 | state[at + 1][lane] & 0x7fff_ffff;
    let twist = if joined & 1 == 0 { 0 } else { 0x9908_b0df };
    let mut word = state[at + SHIFT][lane] ^ joined >> 1 ^ twist;
    word ^= word >> 11;
    word ^= word << 7 & 0x9d2c_5680;
    word ^= word << 15 & 0xefc6_0000;
    word ^ word >> 18
}

/// `init_genrand(19650218)`, from which every key starts.
const START: [u32; WORDS] = {
    let mut words = [0; WORDS];
    words[0] = 19_650_218;
    let mut at = 1;
    while at < WORDS {
        let before: u32 = words[at - 1];
        words[at] = (before ^ before >> 30)
            .wrapping_mul(1_812_433_253)
            .wrapping_add(at as u32);
        at += 1;
    }
    words
};

#[cfg(test)]
mod tests {
    use super::{GROUP, first_below};
    use crate::{Python, stream};

    #[test]
    fn equals_one_generator_after_the_other() {
        let check = |seeds: [u64; GROUP], n: u64| {
            let singly = seeds.map(|seed| Python::new(seed).below(n));
            assert_eq!(first_below(&seeds, n), singly, "{seeds:?} below {n}");
        };
        for round in 0..200_u64 {
            let seeds = std::array::from_fn(|lane| stream::be64(&format!("{round}:{lane}")));
            // 2^31 + 1 rejects nearly every second draw.
            for n in [
                1,
                2,
                790,
                276_439,
                (1 << 31) + 1,
                u64::from(u32::MAX),
                1 << 32,
                u64::MAX,
            ] {
                check(seeds, n);
            }
        }
        check(
            [0, 1, 1 << 32, u64::MAX, u64::from(u32::MAX), 42, 1 << 63, 7],
            276_439,
        );
        check([u64::MAX; GROUP], 276_439);
    }
}
