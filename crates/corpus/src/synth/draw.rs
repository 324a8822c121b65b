//! Whole numbers from a seed.

use rng::{Python, stream};

/// A stream of draws.
pub(super) struct Draw(Python);

impl Draw {
    /// The stream called `name` under `seed`.
    pub(super) fn new(seed: u64, name: &str) -> Self {
        Self(Python::new(stream::child(seed, name)))
    }

    /// Uniform between the bounds, both included.
    pub(super) fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.0.below(u64::from(high.saturating_sub(low)) + 1) as u32
    }

    /// Between the bounds, both possible, with a quarter of the way as the mean: the third power of a uniform draw.
    pub(super) fn mostly_low(&mut self, (low, high): (u32, u32)) -> u32 {
        let per_mille = self.0.below(1001);
        let cube = per_mille * per_mille * per_mille;
        low + (u64::from(high.saturating_sub(low)) * cube / 1_000_000_000) as u32
    }

    /// True once in `n` times.
    pub(super) fn once_in(&mut self, n: u64) -> bool {
        self.0.below(n) == 0
    }

    /// One of `items`, which are some.
    pub(super) fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.0.below(items.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_kept_and_reached() {
        let mut draw = Draw::new(1, "test");
        let drawn: Vec<u32> = (0..300).map(|_| draw.between(3, 5)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&3), Some(&5)));
        let drawn: Vec<u32> = (0..3000).map(|_| draw.mostly_low((20, 400))).collect();
        let mean = drawn.iter().sum::<u32>() / 3000;
        assert!(
            drawn.iter().all(|value| (20..=400).contains(value)) && (100..130).contains(&mean),
            "{mean}"
        );
        assert_eq!(draw.mostly_low((7, 7)), 7);
    }
}
