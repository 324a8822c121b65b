//! Random streams that give, bit for bit, what `CPython` and numpy give for the same seed.
//!
//! aiperf draws lane starts with numpy and block offsets with Python's `random`; a run that is to send the
//! same bytes must draw the same numbers. Three nouns: a [`stream`] derives named seeds, [`Python`] is
//! `CPython`'s Mersenne Twister ([`first_below`] seeds several at once), [`Numpy`] is `numpy.random.Generator(PCG64(seed))`.
//!
//! Never draws from the operating system: every value follows from a seed that the caller states.

mod first;
mod numpy;
mod python;
pub mod stream;

pub use first::{GROUP, first_below};
pub use numpy::{Numpy, SeedSequence};
pub use python::Python;
