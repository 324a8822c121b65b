//! `numpy.random.Generator(PCG64(seed))`: `SeedSequence` is ours, the generator is `rand_pcg`'s.

use rand_core::Rng;
use rand_pcg::Pcg64;

const INIT_A: u32 = 0x43b0_d7e5;
const MULT_A: u32 = 0x931e_8875;
const INIT_B: u32 = 0x8b51_f9dd;
const MULT_B: u32 = 0x58f3_8ded;
const MIX_L: u32 = 0xca01_f9dd;
const MIX_R: u32 = 0x4973_f715;

/// numpy's `SeedSequence` for one integer seed of at most 64 bits.
pub struct SeedSequence {
    pool: [u32; 4],
}

impl SeedSequence {
    /// Mixes the 32-bit words of `seed`, least significant first, into a pool of four words.
    pub fn new(seed: u64) -> Self {
        let words = [seed as u32, (seed >> 32) as u32, 0, 0];
        let mut running = INIT_A;
        let mut hash = |mut value: u32| {
            value ^= running;
            running = running.wrapping_mul(MULT_A);
            value = value.wrapping_mul(running);
            value ^ value >> 16
        };
        let mut pool = words.map(&mut hash);
        for source in 0..4 {
            for target in (0..4).filter(|target| *target != source) {
                pool[target] = mix(pool[target], hash(pool[source]));
            }
        }
        Self { pool }
    }

    /// The mixed pool, as `SeedSequence.pool` shows it.
    pub fn pool(&self) -> [u32; 4] {
        self.pool
    }

    /// `generate_state(4, uint64)`: pairs of words, the low one first.
    pub fn state(&self) -> [u64; 4] {
        let mut running = INIT_B;
        let mut word = |index: usize| {
            let mut value = self.pool[index % 4] ^ running;
            running = running.wrapping_mul(MULT_B);
            value = value.wrapping_mul(running);
            u64::from(value ^ value >> 16)
        };
        let mut state = [0; 4];
        for (index, slot) in state.iter_mut().enumerate() {
            let low = word(2 * index);
            *slot = low | word(2 * index + 1) << 32;
        }
        state
    }
}

fn mix(x: u32, y: u32) -> u32 {
    let mixed = MIX_L.wrapping_mul(x).wrapping_sub(MIX_R.wrapping_mul(y));
    mixed ^ mixed >> 16
}

/// numpy's default generator and the draws aiperf takes from it.
pub struct Numpy {
    pcg: Pcg64,
    spare: Option<u32>,
}

impl Numpy {
    /// `numpy.random.default_rng(seed)` for a non-negative integer seed.
    pub fn new(seed: u64) -> Self {
        let [a, b, c, d] = SeedSequence::new(seed).state().map(u128::from);
        Self {
            pcg: Pcg64::new(a << 64 | b, c << 64 | d),
            spare: None,
        }
    }

    /// The next raw 64-bit output.
    pub fn u64(&mut self) -> u64 {
        self.pcg.next_u64()
    }

    /// A 32-bit draw: the low half of a 64-bit output, whose high half serves the next 32-bit draw.
    fn u32(&mut self) -> u32 {
        if let Some(high) = self.spare.take() {
            return high;
        }
        let drawn = self.u64();
        self.spare = Some((drawn >> 32) as u32);
        drawn as u32
    }

    /// `random()`: a double in `[0, 1)` of 53 random bits.
    pub fn double(&mut self) -> f64 {
        (self.u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// `uniform(low, high)`: multiply, then add, in plain double arithmetic.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.double()
    }

    /// `shuffle` of a list: Fisher–Yates from the end with masked rejection of 32-bit draws.
    ///
    /// # Panics
    /// When the list has 2^32 items or more.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let bound = u32::try_from(last).expect("lists of fewer than 2^32 items");
            let mask = u32::MAX >> bound.leading_zeros();
            let chosen = loop {
                let drawn = self.u32() & mask;
                if drawn <= bound {
                    break drawn;
                }
            };
            items.swap(last, chosen as usize);
        }
    }
}
