//! Blocks of KV cache: who holds them, which texts they hold, and which are given up first.
//!
//! A block's hash covers everything before it (`tokens::chain`), so a lookup is a walk from the front that ends at the first
//! unknown hash. A block nobody holds keeps its text until it is needed for another: least recently released goes first,
//! and of one sequence the last block before the first one, as in vLLM. Knows neither tokens nor time.

use crate::mix::MixedMap;

/// Index of a block in its [`BlockPool`].
pub type BlockId = u32;

const NOBODY: BlockId = BlockId::MAX;

#[derive(Clone, Copy)]
struct Block {
    hash: Option<u64>,
    holders: u32,
    older: BlockId,
    newer: BlockId,
}

/// A bounded set of blocks, shared by all sequences.
pub struct BlockPool {
    capacity: usize,
    /// Grows up to `capacity`; what is not there yet has never been used.
    blocks: Vec<Block>,
    /// Used before, held by nobody, without a text.
    blank: Vec<BlockId>,
    by_hash: MixedMap<BlockId>,
    oldest: BlockId,
    newest: BlockId,
    n_held: usize,
    evictions: u64,
}

impl BlockPool {
    /// An empty pool of `capacity` blocks.
    ///
    /// # Panics
    /// With 2³² − 1 blocks or more.
    pub fn new(capacity: usize) -> Self {
        assert!(capacity < NOBODY as usize, "block ids are 32 bits");
        Self {
            capacity,
            blocks: Vec::new(),
            blank: Vec::new(),
            by_hash: MixedMap::default(),
            oldest: NOBODY,
            newest: NOBODY,
            n_held: 0,
            evictions: 0,
        }
    }

    /// Blocks that a sequence could still take, whether or not they hold a text.
    pub fn available(&self) -> usize {
        self.capacity - self.n_held
    }

    /// Share of the blocks that some sequence holds, as `vllm:kv_cache_usage_perc` means it.
    pub fn usage(&self) -> f64 {
        self.n_held as f64 / self.capacity as f64
    }

    /// Texts given up so far to make room.
    pub fn evictions(&self) -> u64 {
        self.evictions
    }

    /// The longest known run from the front of `hashes`: how many blocks, and how many of these nobody holds at present
    /// (which holding them would take from [`Self::available`]).
    pub fn lookup(&self, hashes: &[u64]) -> (usize, usize) {
        let known = hashes.iter().map_while(|hash| self.by_hash.get(hash));
        known.fold((0, 0), |(n, idle), block| {
            let unheld = self.blocks[*block as usize].holders == 0;
            (n + 1, idle + usize::from(unheld))
        })
    }

    /// Holds the blocks of `hashes` and appends their ids to `held`.
    ///
    /// # Panics
    /// If one is unknown: only what [`Self::lookup`] found can be held.
    pub fn hold(&mut self, hashes: &[u64], held: &mut Vec<BlockId>) {
        for hash in hashes {
            let block = *self.by_hash.get(hash).expect("only what lookup found is held");
            if self.blocks[block as usize].holders == 0 {
                self.unlink(block);
                self.n_held += 1;
            }
            self.blocks[block as usize].holders += 1;
            held.push(block);
        }
    }

    /// Takes `n` blocks without a text and appends their ids to `held`; forgets old texts if it must.
    ///
    /// # Panics
    /// If fewer than `n` are [`Self::available`].
    pub fn take(&mut self, n: usize, held: &mut Vec<BlockId>) {
        assert!(
            n <= self.available(),
            "{n} blocks wanted, {} there",
            self.available()
        );
        for _ in 0..n {
            let block = self.next_blank();
            let slot = &mut self.blocks[block as usize];
            debug_assert!(slot.hash.is_none() && slot.holders == 0);
            slot.holders = 1;
            held.push(block);
        }
        self.n_held += n;
    }

    /// States that `block`, which the caller holds, now has the text of `hash`. Nothing happens if another block has it.
    pub fn register(&mut self, block: BlockId, hash: u64) {
        let slot = &mut self.blocks[block as usize];
        debug_assert!(slot.holders > 0);
        if slot.hash.is_none() {
            let entry = self.by_hash.entry(hash).or_insert(block);
            slot.hash = (*entry == block).then_some(hash);
        }
    }

    /// Lets go of `held`, last block first.
    pub fn release(&mut self, held: &mut Vec<BlockId>) {
        while let Some(block) = held.pop() {
            let slot = &mut self.blocks[block as usize];
            slot.holders -= 1;
            if slot.holders > 0 {
                continue;
            }
            self.n_held -= 1;
            if slot.hash.is_some() {
                self.link_newest(block);
            } else {
                self.blank.push(block);
            }
        }
    }

    fn next_blank(&mut self) -> BlockId {
        if let Some(block) = self.blank.pop() {
            return block;
        }
        if self.blocks.len() < self.capacity {
            let block = self.blocks.len() as BlockId;
            self.blocks.push(Block {
                hash: None,
                holders: 0,
                older: NOBODY,
                newer: NOBODY,
            });
            return block;
        }
        let block = self.oldest;
        self.unlink(block);
        let hash = self.blocks[block as usize].hash.take();
        self.by_hash
            .remove(&hash.expect("only blocks with a text are in the list"));
        self.evictions += 1;
        block
    }

    fn link_newest(&mut self, block: BlockId) {
        let previous = std::mem::replace(&mut self.newest, block);
        self.blocks[block as usize].older = previous;
        self.blocks[block as usize].newer = NOBODY;
        match previous {
            NOBODY => self.oldest = block,
            previous => self.blocks[previous as usize].newer = block,
        }
    }

    fn unlink(&mut self, block: BlockId) {
        let Block { older, newer, .. } = self.blocks[block as usize];
        match older {
            NOBODY => self.oldest = newer,
            older => self.blocks[older as usize].newer = newer,
        }
        match newer {
            NOBODY => self.newest = older,
            newer => self.blocks[newer as usize].older = older,
        }
    }
}
