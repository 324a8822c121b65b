//! The one mixing function behind block hashes, output texts and seeded draws.
//!
//! Not for anything secret, and not compatible with any other program: it only has to be quick and the same everywhere.

use std::hash::{BuildHasherDefault, Hasher};

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
const SPREAD: u64 = 0xd6e8_feb8_6659_fd93;

/// Two words into one, by folding their 128-bit product.
pub(crate) fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left ^ ODD) * u128::from(right ^ SPREAD);
    (product as u64) ^ ((product >> 64) as u64) ^ left.rotate_left(23) ^ right
}

/// A well-spread word out of a seed and an index.
pub(crate) fn draw(seed: u64, index: u64) -> u64 {
    fold(fold(seed, index.wrapping_mul(ODD)), seed ^ SPREAD)
}

/// A double in `[0, 1)` out of a seed and an index.
pub(crate) fn unit(seed: u64, index: u64) -> f64 {
    (draw(seed, index) >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
}

/// `parent` and the bytes of one block into the block's hash.
pub(crate) fn bytes(parent: u64, bytes: &[u8]) -> u64 {
    let mut hash = fold(parent, bytes.len() as u64);
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        let word = u64::from_le_bytes(word.try_into().expect("chunks of eight"));
        hash = fold(hash, word);
    }
    let mut last = [0; 8];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    fold(hash, u64::from_le_bytes(last))
}

/// A map keyed by values that [`fold`] made, which need no second hashing.
pub(crate) type MixedMap<V> = std::collections::HashMap<u64, V, BuildHasherDefault<AsIs>>;

/// Takes a `u64` key as its own hash.
#[derive(Default)]
pub(crate) struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are u64");
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_differ_by_any_byte_by_length_and_by_parent() {
        let base = bytes(1, b"0123456789abcdef");
        assert_eq!(base, bytes(1, b"0123456789abcdef"));
        for other in [
            bytes(2, b"0123456789abcdef"),
            bytes(1, b"0123456789abcdeg"),
            bytes(1, b"1123456789abcdef"),
            bytes(1, b"0123456789abcdef\0"),
            bytes(1, b"0123456789abcde"),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn draws_fill_the_unit_interval_evenly() {
        let n = 10_000;
        let mean = (0..n).map(|index| unit(7, index)).sum::<f64>() / n as f64;
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
        let low = (0..n).filter(|index| unit(8, *index) < 0.1).count();
        assert!((800..1200).contains(&low), "{low}");
    }
}
