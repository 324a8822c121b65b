//! The canonical dump of session trees: every field and the exact token content of every message, as lines of text.
//!
//! Made to be compared: the format is that of the published vectors, in which message text is replaced by the count and
//! digest of its tokens over the *identity pool*, whose token at position `i` is `i`. So a dump needs no tokenizer and no
//! text. Written as it is made; memory does not grow with the prompts.

use std::io::{self, Write};

use sha2::{Digest, Sha256};
use tree::segments::{Role, Segment, SegmentList};
use tree::{BLOCK_TOKENS, BlockIndex, Conversation, InputKind, SourceKind, Trace, Turn};

use crate::draws::Draws;
use crate::verify::hex;

/// Tokens of the identity pool: as many as the coding pool has in the Qwen vocabulary.
pub const IDENTITY_POOL_TOKENS: u32 = 276_439;

/// What a dump depends on beside the traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpOptions {
    /// Run seed.
    pub seed: u64,
    /// Served models; a trace's distinct models are mapped to them in order, wrapping round.
    pub models: Vec<String>,
    /// What stands together as one data set.
    pub layout: Layout,
}

impl Default for DumpOptions {
    fn default() -> Self {
        Self {
            seed: 42,
            models: vec!["m0".to_owned()],
            layout: Layout::Each,
        }
    }
}

/// How the traces of a file are dumped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Each trace as if it were the only one, one after the other.
    #[default]
    Each,
    /// All as one data set: every root, then every trace's children.
    Together,
}

/// Writes the dump of `traces`.
///
/// # Panics
/// When no model is stated.
pub fn dump(traces: &[Trace], options: &DumpOptions, out: &mut dyn Write) -> io::Result<()> {
    assert!(!options.models.is_empty(), "a dump needs at least one model");
    match options.layout {
        Layout::Each => {
            for trace in traces {
                let mut dumper = Dumper::new(trace, options);
                for conversation in &trace.conversations {
                    dumper.conversation(conversation, out)?;
                }
            }
        }
        Layout::Together => {
            for trace in traces {
                let roots = trace.conversations.iter().take(1);
                roots
                    .into_iter()
                    .try_for_each(|root| Dumper::new(trace, options).conversation(root, out))?;
            }
            for trace in traces {
                let mut dumper = Dumper::new(trace, options);
                for child in trace.conversations.iter().skip(1) {
                    dumper.conversation(child, out)?;
                }
            }
        }
    }
    Ok(())
}

/// Writes one line `ID SHA256` a trace: the digest of its dump, each trace taken as the only one.
///
/// # Panics
/// When no model is stated.
pub fn digests(traces: &[Trace], options: &DumpOptions, out: &mut dyn Write) -> io::Result<()> {
    let options = DumpOptions {
        layout: Layout::Each,
        ..options.clone()
    };
    for trace in traces {
        let mut hasher = HashWriter(Sha256::new());
        dump(std::slice::from_ref(trace), &options, &mut hasher)?;
        writeln!(out, "{} {}", trace.id, hex(&hasher.0.finalize()))?;
    }
    Ok(())
}

struct HashWriter(Sha256);

impl Write for HashWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the conversations of one trace.
struct Dumper<'a> {
    trace: &'a Trace,
    models: &'a [String],
    draws: Draws,
    /// Pool position of each block, drawn when first needed.
    starts: Vec<Option<u32>>,
}

impl<'a> Dumper<'a> {
    fn new(trace: &'a Trace, options: &'a DumpOptions) -> Self {
        Self {
            trace,
            models: &options.models,
            draws: Draws::new(options.seed, u64::from(IDENTITY_POOL_TOKENS)),
            starts: vec![None; trace.block_ids.len()],
        }
    }

    fn conversation(&mut self, own: &Conversation, out: &mut dyn Write) -> io::Result<()> {
        let parent = own
            .parent
            .map_or("-", |parent| &self.trace.conversations[parent].id);
        writeln!(out, "C|{}|{parent}|{}|{}", own.id, own.depth, own.replay_scope)?;
        let mut messages = Messages::default();
        for (index, turn) in own.turns.iter().enumerate() {
            self.turn(index, turn, out)?;
            for branch in &turn.spawns {
                writeln!(out, "b|{index}|{}", own.branches[*branch].id)?;
            }
            for branch in &turn.joins {
                writeln!(out, "p|{index}|{}", own.branches[*branch].id)?;
            }
            for earlier in &turn.predecessors {
                let id = &self.trace.conversations[earlier.conversation].id;
                writeln!(out, "d|{index}|{id}|{}", earlier.turn)?;
            }
            messages.apply(turn, index, |segment, blocks| self.text(own, segment, blocks));
            for (segment, text) in messages.list.segments.iter().zip(&messages.texts) {
                writeln!(out, "M|{}|{text}", role(segment.role))?;
            }
        }
        for branch in &own.branches {
            let children: Vec<&str> = branch
                .children
                .iter()
                .map(|child| &*self.trace.conversations[*child].id)
                .collect();
            let background = u8::from(branch.background);
            writeln!(
                out,
                "B|{}|{background}|{}|{}",
                branch.id,
                bits(branch.start_ms),
                children.join(",")
            )?;
        }
        Ok(())
    }

    fn turn(&self, index: usize, turn: &Turn, out: &mut dyn Write) -> io::Result<()> {
        let model = &self.models[turn.model as usize % self.models.len()];
        let kind = match turn.input_kind {
            Some(InputKind::ToolResult) => "tool_result",
            Some(InputKind::UserInput) => "user_input",
            None => "-",
        };
        let source = match turn.source.kind {
            SourceKind::WekaMain => "weka_main",
            SourceKind::WekaFlat => "weka_flat",
            SourceKind::WekaSubagent => "weka_subagent",
        };
        let inner = turn
            .source
            .inner
            .map_or_else(|| "-".to_owned(), |inner| inner.to_string());
        writeln!(
            out,
            "T|{index}|{}|{}|{}|{model}|{}|{kind}|{}|{inner}|{source}|{}|{}",
            bits(turn.timestamp_ms),
            bits(turn.delay_ms),
            bits(turn.api_time_ms),
            turn.max_tokens,
            turn.source.outer,
            turn.cache.hit_blocks,
            turn.cache.total_blocks
        )
    }

    /// `COUNT:DIGEST` of a message's tokens.
    fn text(&mut self, own: &Conversation, segment: &Segment, blocks: &[BlockIndex]) -> String {
        let mut hasher = Sha256::new();
        let mut count = 0;
        for block in blocks {
            let start = self.start(*block);
            let end = start + BLOCK_TOKENS;
            hash_tokens(&mut hasher, (start..end).map(|at| at % IDENTITY_POOL_TOKENS));
            count += BLOCK_TOKENS;
        }
        if segment.tail_tokens > 0 {
            let start = self.draws.tail_start(&own.id, segment.turn, segment.tail_tokens) as u32;
            let end = start
                .saturating_add(segment.tail_tokens)
                .min(IDENTITY_POOL_TOKENS);
            hash_tokens(&mut hasher, start..end);
            count += end - start;
        }
        format!("{count}:{}", &hex(&hasher.finalize())[..16])
    }

    fn start(&mut self, block: BlockIndex) -> u32 {
        let (trace, draws) = (self.trace, self.draws);
        let index = block.0 as usize;
        *self.starts[index].get_or_insert_with(|| draws.block_start(&trace.id, trace.block_ids[index]) as u32)
    }
}

fn hash_tokens(hasher: &mut Sha256, tokens: impl Iterator<Item = u32>) {
    let mut bytes = [0; 4 * BLOCK_TOKENS as usize];
    let mut filled = 0;
    for token in tokens {
        bytes[filled..filled + 4].copy_from_slice(&token.to_le_bytes());
        filled += 4;
        if filled == bytes.len() {
            hasher.update(bytes);
            filled = 0;
        }
    }
    hasher.update(&bytes[..filled]);
}

fn role(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

/// The bits of a double, big-endian hexadecimal; `-` for none.
fn bits(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{:016x}", value.to_bits()))
}

/// A message list whose texts are worked out once, not on every turn that sends them.
#[derive(Default)]
struct Messages {
    list: SegmentList,
    texts: Vec<String>,
}

impl Messages {
    fn apply(&mut self, turn: &Turn, index: usize, mut text: impl FnMut(&Segment, &[BlockIndex]) -> String) {
        let before = std::mem::take(&mut self.list.segments);
        self.list.segments.clone_from(&before);
        self.list.apply(&turn.prompt, index);
        // A step cuts at the end and then appends: as long as segments are equal to those before, so are their blocks.
        // Two segments can be equal by chance only where something was cut, and then all behind is new.
        let kept = turn.prompt.keep_blocks as usize;
        let mut blocks = 0;
        let unchanged = before.iter().zip(&self.list.segments).take_while(|(old, new)| {
            blocks += new.blocks;
            old == new && blocks <= kept
        });
        let unchanged = unchanged.count();
        self.texts.truncate(unchanged);
        let new = self
            .list
            .iter()
            .skip(unchanged)
            .map(|(segment, blocks)| text(segment, blocks));
        let new: Vec<String> = new.collect();
        self.texts.extend(new);
    }
}
