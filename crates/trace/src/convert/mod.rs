//! From one form of trace to another, and what is lost on the way.
//!
//! A bundle (data CSV and sidecar) is the form in the middle: every other one is made into it and made from it. Whatever a
//! target cannot hold is counted in [`Losses`], never dropped in silence.

mod from_mooncake;
mod guessed;
mod to_mooncake;

pub use from_mooncake::from_mooncake;
pub use guessed::PromptBlocks;
pub use to_mooncake::to_mooncake;

use crate::header::Stored;
use crate::problem::Problems;

/// Things that a target form has no place for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    list: Vec<(&'static str, u64)>,
}

impl Losses {
    /// `count` of something were lost; nothing is noted for none.
    pub fn add(&mut self, what: &'static str, count: u64) {
        if count == 0 {
            return;
        }
        match self.list.iter_mut().find(|(known, _)| *known == what) {
            Some((_, total)) => *total += count,
            None => self.list.push((what, count)),
        }
    }

    /// What, and how many.
    pub fn list(&self) -> &[(&'static str, u64)] {
        &self.list
    }
}

/// A bundle that was made of another form.
#[derive(Clone, Debug, PartialEq)]
pub struct Converted {
    /// The bundle's files.
    pub stored: Stored,
    /// What it cannot hold of the source.
    pub losses: Losses,
    /// What is odd about the source.
    pub problems: Problems,
}
