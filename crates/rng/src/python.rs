//! `CPython`'s `random.Random`: MT19937 seeded from an integer, and the draws aiperf uses.

use rand_mt::Mt;

/// Python's Mersenne Twister, seeded as `random.Random(seed)` seeds it for a non-negative integer.
pub struct Python(Mt);

impl Python {
    /// Seeds with the 32-bit words of `seed`, least significant first, no leading zero words (0 is one zero word).
    pub fn new(seed: u64) -> Self {
        let (low, high) = (seed as u32, (seed >> 32) as u32);
        let words = [low, high];
        let used = if high == 0 { 1 } else { 2 };
        Self(Mt::new_with_key(words[..used].iter().copied()))
    }

    /// `getrandbits(bits)` for 1 to 64 bits: whole words least significant first, the last one shifted down.
    ///
    /// # Panics
    /// When `bits` is 0 or above 64.
    pub fn bits(&mut self, bits: u32) -> u64 {
        assert!((1..=64).contains(&bits), "1 to 64 bits, not {bits}");
        if bits <= 32 {
            return u64::from(self.0.next_u32() >> (32 - bits));
        }
        let low = u64::from(self.0.next_u32());
        low | u64::from(self.0.next_u32() >> (64 - bits)) << 32
    }

    /// `_randbelow(n)`: uniform in `0..n` by rejection over the bit length of `n` (not of `n - 1`).
    ///
    /// # Panics
    /// When `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "nothing is below 0");
        let width = 64 - n.leading_zeros();
        loop {
            let drawn = self.bits(width);
            if drawn < n {
                return drawn;
            }
        }
    }

    /// `random()`: a double in `[0, 1)` of 53 random bits.
    pub fn random(&mut self) -> f64 {
        let high = f64::from(self.0.next_u32() >> 5);
        let low = f64::from(self.0.next_u32() >> 6);
        (high * 67_108_864.0 + low) / 9_007_199_254_740_992.0
    }
}
