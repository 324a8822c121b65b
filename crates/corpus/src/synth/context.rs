//! A prompt that grows: its length and the ids of its full blocks.

use tree::BLOCK_TOKENS;

/// The block ids of one trace, given out in order of first use from 1.
#[derive(Default)]
pub(super) struct BlockIds {
    given: u32,
}

/// A prompt so far. A clone is another conversation with the same beginning.
#[derive(Clone, Default)]
pub(super) struct Context {
    pub(super) tokens: u32,
    pub(super) ids: Vec<u32>,
}

impl Context {
    /// Adds text; every block that it fills gets a new id, and what is left over has none.
    pub(super) fn grow(&mut self, tokens: u32, ids: &mut BlockIds) {
        self.tokens += tokens;
        while (self.ids.len() as u32) < self.tokens / BLOCK_TOKENS {
            ids.given += 1;
            self.ids.push(ids.given);
        }
    }

    /// A fresh prompt of `tokens` tokens.
    pub(super) fn fresh(tokens: u32, ids: &mut BlockIds) -> Self {
        let mut context = Self::default();
        context.grow(tokens, ids);
        context
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_full_blocks_have_ids_and_a_fork_shares_those_it_began_with() {
        let mut ids = BlockIds::default();
        let mut first = Context::fresh(130, &mut ids);
        assert_eq!((first.tokens, first.ids.as_slice()), (130, [1, 2].as_slice()));
        let mut fork = first.clone();
        first.grow(62, &mut ids);
        fork.grow(128, &mut ids);
        assert_eq!(
            (first.ids.as_slice(), fork.ids.as_slice()),
            ([1, 2, 3].as_slice(), [1, 2, 4, 5].as_slice())
        );
    }
}
