//! Prompts for which no text is recorded: stretches of tokens that a generator draws.
//!
//! A trace file says how long a prompt is and which parts of it are equal to parts of others; each such part is a
//! [`Stretch`]. Its tokens follow from run seed and label and from nothing else, so that equal parts are equal tokens
//! wherever they stand, and a server's prefix cache finds what the recorded one found (`trace-csv` §4.3, §5.4). Never keeps
//! what it has drawn: a body draws its tokens again each time it is walked over.

mod body;
mod tokens;

use std::sync::Arc;

use rng::{Numpy, stream};

pub use body::{DrawnBody, DrawnMessage, DrawnOptions, DrawnPrompt};
pub(super) use tokens::LEAST_SAFE_TOKENS;
pub use tokens::SafeTokens;

/// A stretch of drawn tokens. Equal labels give equal tokens; a shorter stretch of a label is the beginning of a longer
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Which sequence: [`Drawer::label`] or [`Drawer::block_label`].
    pub label: u64,
    /// How much of it.
    pub tokens: u32,
}

/// Draws tokens under one run seed.
#[derive(Clone)]
pub struct Drawer {
    tokens: Arc<SafeTokens>,
    names: u64,
    blocks: u64,
    sequences: u64,
}

impl Drawer {
    /// A drawer for a run with random seed `seed`.
    pub fn new(tokens: Arc<SafeTokens>, seed: u64) -> Self {
        Self {
            tokens,
            names: stream::child(seed, "drawn.names"),
            blocks: stream::child(seed, "drawn.blocks"),
            sequences: stream::child(seed, "drawn.sequences"),
        }
    }

    /// The tokens it draws from.
    pub fn safe_tokens(&self) -> &Arc<SafeTokens> {
        &self.tokens
    }

    /// Label of what `kind` calls `name`, such as the `prefix_group` `sys` or the `request` `17`. Equal names of different
    /// kinds are different labels.
    pub fn label(&self, kind: &str, name: &str) -> u64 {
        stream::child(stream::child(self.names, kind), name)
    }

    /// Label of a sidecar's block `id`: some nanoseconds, and no two ids have the same one.
    pub fn block_label(&self, id: u64) -> u64 {
        (id ^ self.blocks).wrapping_mul(ODD)
    }

    /// The token ids of `stretch`.
    pub fn tokens(&self, stretch: Stretch) -> impl Iterator<Item = u32> {
        let mut sequence = self.sequence(stretch.label);
        (0..stretch.tokens).map(move |_| self.tokens.ids()[sequence.next(self.tokens.len())])
    }

    fn sequence(&self, label: u64) -> Sequence {
        Sequence(Numpy::new(label ^ self.sequences))
    }
}

/// Multiplying by an odd number is a bijection of the 64-bit integers; this one (2⁶⁴ over the golden ratio) spreads
/// neighbouring ids far apart.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The endless sequence that a label stands for, as positions in a list of safe tokens.
struct Sequence(Numpy);

impl Sequence {
    /// The next position below `below`: the upper half of a 64-bit draw times `below`. For any vocabulary that is as good
    /// as uniform, and it takes exactly one draw a token.
    fn next(&mut self, below: usize) -> usize {
        ((u128::from(self.0.u64()) * below as u128) >> 64) as usize
    }
}
