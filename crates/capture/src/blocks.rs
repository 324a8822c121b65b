//! Prompts as lists of block ids: equal ids mean equal blocks with equal blocks before them, and nothing else.
//!
//! A block is [`BLOCK_TOKENS`] tokens. A proxy has no tokenizer; it has the prompt's bytes and, from the server, the number
//! of tokens. Tokens are therefore spread evenly over those bytes of a prompt that no earlier prompt had. What an earlier
//! prompt had is cut as it was cut then, so that a conversation's next turn begins with the very blocks of the turn
//! before, and its own tokens lie in what is new. Counts are thereby exact, and shared lengths to within one block as far as
//! the text in front of them is of even density. Prompts sent as token ids are cut exactly.
//!
//! Ids come from hashes salted with random bytes that exist only in this process, and are then numbered in order of first
//! appearance: what is written tells nothing about the content, not even to someone who guesses it.

use std::collections::HashMap;

use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::prompt::ID_BYTES;

/// Tokens of one block, the size of Weka traces.
pub const BLOCK_TOKENS: u64 = 64;
/// Bytes of a token before any server has told better.
const BYTES_PER_TOKEN: f64 = 4.0;
/// Most ways to cut that are tried behind one block.
const CUTS_MAX: usize = 16;
/// Most tokens of a prompt; a server that claims more is not believed.
const TOKENS_MAX: u64 = 1 << 26;

/// Salted hash of a block and all before it.
type Chain = [u8; 16];

/// All blocks seen since the last rotation.
#[derive(Debug)]
pub(crate) struct Blocks {
    salt: [u8; 32],
    known: HashMap<Chain, Known>,
    next_id: u64,
    /// Bytes and tokens of prompts that the server has counted.
    counted: (f64, f64),
}

#[derive(Debug)]
struct Known {
    id: u64,
    /// Lengths in bytes of the full blocks that were seen behind this one.
    cuts: Vec<usize>,
}

/// A prompt, cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Prompt tokens: the server's count, else an estimate.
    pub(crate) tokens: u64,
    /// One for each block; the last may cover a part of one.
    pub(crate) ids: Vec<u64>,
    /// Where each block ends, in bytes of the prompt.
    ends: Vec<usize>,
}

impl Cut {
    /// How many tokens the first `bytes` bytes of the prompt have.
    pub(crate) fn tokens_before(&self, bytes: usize) -> u64 {
        let block = self.ends.partition_point(|end| *end <= bytes);
        let full = block as u64 * BLOCK_TOKENS;
        let Some(end) = self.ends.get(block) else {
            return self.tokens;
        };
        let start = block.checked_sub(1).map_or(0, |before| self.ends[before]);
        let of_block = (self.tokens - full).min(BLOCK_TOKENS);
        full + (bytes - start) as u64 * of_block / (end - start).max(1) as u64
    }
}

impl Blocks {
    /// With a salt of its own.
    pub(crate) fn new() -> Self {
        let mut salt = [0; 32];
        salt[..16].copy_from_slice(Uuid::new_v4().as_bytes());
        salt[16..].copy_from_slice(Uuid::new_v4().as_bytes());
        Self {
            salt,
            known: HashMap::new(),
            next_id: 1,
            counted: (0.0, 0.0),
        }
    }

    /// Forgets all blocks: the next file is a trace of its own. The salt stays, and so does what is known of densities.
    pub(crate) fn rotate(&mut self) {
        self.known.clear();
        self.next_id = 1;
    }

    /// Cuts a prompt of `counted` tokens, if the server has counted. Blocks are shared only between prompts of one `family`:
    /// a model's.
    pub(crate) fn cut(&mut self, family: &str, prompt: &[u8], is_ids: bool, counted: Option<u64>) -> Cut {
        let counted = counted.filter(|tokens| (1..=TOKENS_MAX).contains(tokens));
        let mut chains = vec![self.root(family, is_ids)];
        let mut ends = Vec::new();
        self.walk(prompt, &mut chains, &mut ends);
        let exact = is_ids.then_some((prompt.len() / ID_BYTES) as u64);
        let tokens = exact
            .or(counted)
            .unwrap_or_else(|| self.estimate(prompt.len(), &ends));
        if let Some(counted) = counted.filter(|_| !is_ids) {
            self.counted.0 += prompt.len() as f64;
            self.counted.1 += counted as f64;
        }
        // Of what is known, keep what leaves a token for each byte run that is left, and at most what was counted.
        let rest_needs = |end: usize| u64::from(end < prompt.len());
        while ends
            .last()
            .is_some_and(|end| ends.len() as u64 * BLOCK_TOKENS + rest_needs(*end) > tokens)
        {
            ends.pop();
            chains.pop();
        }
        self.cut_rest(prompt, tokens, &mut chains, &mut ends);
        let ids = chains[1..].iter().map(|chain| self.known[chain].id).collect();
        Cut { tokens, ids, ends }
    }

    /// A prompt of which nothing but its length is known: blocks that nothing shares.
    pub(crate) fn private(&mut self, tokens: u64) -> Cut {
        let tokens = tokens.min(TOKENS_MAX);
        let n_blocks = tokens.div_ceil(BLOCK_TOKENS);
        let first = self.next_id;
        self.next_id += n_blocks;
        Cut {
            tokens,
            ids: (first..self.next_id).collect(),
            ends: Vec::new(),
        }
    }

    /// Follows the blocks that earlier prompts began with, as far as this one begins with them.
    fn walk(&self, prompt: &[u8], chains: &mut Vec<Chain>, ends: &mut Vec<usize>) {
        let mut at = 0;
        'blocks: while let Some(known) = chains.last().and_then(|chain| self.known.get(chain)) {
            for length in &known.cuts {
                let Some(block) = prompt.get(at..at + length) else {
                    continue;
                };
                let chain = self.chain(&chains[chains.len() - 1], block, BLOCK_TOKENS);
                if self.known.contains_key(&chain) {
                    at += length;
                    chains.push(chain);
                    ends.push(at);
                    continue 'blocks;
                }
            }
            return;
        }
    }

    /// Spreads what is left of `tokens` evenly over what is left of `prompt`.
    fn cut_rest(&mut self, prompt: &[u8], tokens: u64, chains: &mut Vec<Chain>, ends: &mut Vec<usize>) {
        let start = ends.last().copied().unwrap_or(0);
        let mut left = tokens - ends.len() as u64 * BLOCK_TOKENS;
        let per_token = (prompt.len() - start) as f64 / left.max(1) as f64;
        let mut done = 0;
        let mut at = start;
        while left > 0 {
            let here = left.min(BLOCK_TOKENS);
            left -= here;
            done += here;
            let end = if left == 0 {
                prompt.len()
            } else {
                (start + (done as f64 * per_token).round() as usize).min(prompt.len())
            };
            let before = chains[chains.len() - 1];
            let chain = self.chain(&before, &prompt[at..end], here);
            if here == BLOCK_TOKENS && end > at {
                self.remember(before, end - at);
            }
            self.name(chain);
            chains.push(chain);
            ends.push(end);
            at = end;
        }
    }

    /// Tokens of a prompt of so many bytes, of which nothing is known.
    pub(crate) fn estimate_alone(&self, bytes: usize) -> u64 {
        self.estimate(bytes, &[])
    }

    fn estimate(&self, bytes: usize, known_ends: &[usize]) -> u64 {
        let known_bytes = known_ends.last().copied().unwrap_or(0);
        let per_token = if self.counted.1 > 0.0 {
            self.counted.0 / self.counted.1
        } else {
            BYTES_PER_TOKEN
        };
        let rest = ((bytes - known_bytes) as f64 / per_token).ceil() as u64;
        (known_ends.len() as u64 * BLOCK_TOKENS + rest).clamp(1, TOKENS_MAX)
    }

    fn root(&mut self, family: &str, is_ids: bool) -> Chain {
        let kind: &[u8] = if is_ids { b"ids" } else { b"text" };
        let chain = self.hash(&[kind, family.as_bytes()]);
        // Not a block: its id is never given out.
        self.known.entry(chain).or_insert(Known {
            id: 0,
            cuts: Vec::new(),
        });
        chain
    }

    fn chain(&self, before: &Chain, block: &[u8], tokens: u64) -> Chain {
        self.hash(&[before, &tokens.to_le_bytes(), block])
    }

    fn hash(&self, parts: &[&[u8]]) -> Chain {
        let mut hash = Sha256::new();
        hash.update(self.salt);
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let digest: [u8; 32] = hash.finalize().into();
        let mut chain = Chain::default();
        chain.copy_from_slice(&digest[..16]);
        chain
    }

    fn remember(&mut self, before: Chain, length: usize) {
        if let Some(known) = self.known.get_mut(&before)
            && !known.cuts.contains(&length)
            && known.cuts.len() < CUTS_MAX
        {
            known.cuts.push(length);
        }
    }

    fn name(&mut self, chain: Chain) {
        let next_id = &mut self.next_id;
        self.known.entry(chain).or_insert_with(|| {
            *next_id += 1;
            Known {
                id: *next_id - 1,
                cuts: Vec::new(),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(one: &Cut, other: &Cut) -> usize {
        one.ids.iter().zip(&other.ids).take_while(|(a, b)| a == b).count()
    }

    #[test]
    fn a_later_turn_begins_with_all_full_blocks_of_the_earlier_one() {
        let mut blocks = Blocks::new();
        let text: Vec<u8> = (0..6000_u32).flat_map(u32::to_le_bytes).collect();
        let turns = [(2_000, 517), (5_000, 1_311), (5_300, 1_400), (23_000, 6_000)];
        let cuts: Vec<_> = turns
            .iter()
            .map(|(bytes, tokens)| blocks.cut("m", &text[..*bytes], false, Some(*tokens)))
            .collect();
        for ((_, tokens), cut) in turns.iter().zip(&cuts) {
            assert_eq!(
                (cut.tokens, cut.ids.len() as u64),
                (*tokens, tokens.div_ceil(BLOCK_TOKENS))
            );
        }
        for pair in cuts.windows(2) {
            assert_eq!(shared(&pair[0], &pair[1]) as u64, pair[0].tokens / BLOCK_TOKENS);
        }
        assert_eq!(blocks.cut("m", &text[..5_000], false, Some(1_311)), cuts[1]);
        assert_eq!(
            shared(&blocks.cut("other", &text[..5_000], false, Some(1_311)), &cuts[1]),
            0
        );
    }

    #[test]
    fn two_prompts_share_what_they_begin_with() {
        let mut blocks = Blocks::new();
        let system = vec![b's'; 4_000];
        let one = blocks.cut("m", &[&system[..], &[b'a'; 800]].concat(), false, Some(1_200));
        let other = blocks.cut("m", &[&system[..], &[b'b'; 400]].concat(), false, Some(1_100));
        assert_eq!(shared(&one, &other), 1_000 / 64);
        assert_eq!(
            (one.tokens_before(4_000), one.tokens_before(4_800)),
            (1_000, 1_200)
        );
    }

    #[test]
    fn token_ids_are_cut_exactly() {
        let mut blocks = Blocks::new();
        let ids = |n: u32| (0..n).flat_map(u32::to_le_bytes).collect::<Vec<_>>();
        let one = blocks.cut("m", &ids(130), true, Some(999));
        let other = blocks.cut("m", &[ids(128), vec![9; 40]].concat(), true, None);
        assert_eq!((one.tokens, one.ids.clone()), (130, vec![1, 2, 3]));
        assert_eq!((other.tokens, other.ids), (138, vec![1, 2, 4]));
    }

    #[test]
    fn counts_that_do_not_fit_the_bytes_are_kept_and_hurt_nothing() {
        let mut blocks = Blocks::new();
        let text = vec![b'x'; 1_000];
        blocks.cut("m", &text, false, Some(1_000));
        for tokens in [1, 63, 64, 65, 640, 5_000] {
            let cut = blocks.cut("m", &text[..900], false, Some(tokens));
            assert_eq!(
                (cut.tokens, cut.ids.len() as u64),
                (tokens, tokens.div_ceil(BLOCK_TOKENS))
            );
        }
        assert_eq!(blocks.cut("m", b"", false, Some(70)).ids.len(), 2);
        assert_eq!(blocks.cut("m", b"", false, None).tokens, 1);
    }

    #[test]
    fn without_a_count_tokens_are_estimated_from_those_that_were_counted() {
        let mut blocks = Blocks::new();
        assert_eq!(blocks.cut("m", &[b'x'; 400], false, None).tokens, 100);
        blocks.cut("m", &[b'y'; 1_000], false, Some(500));
        assert_eq!(blocks.cut("m", &[b'z'; 400], false, None).tokens, 200);
    }

    #[test]
    fn two_captures_hash_the_same_text_differently() {
        let (one, other) = (Blocks::new(), Blocks::new());
        assert_ne!(one.hash(&[b"text"]), other.hash(&[b"text"]));
    }
}
