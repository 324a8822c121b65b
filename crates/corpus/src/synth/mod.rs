//! A small corpus of our own in the Weka trace format, made from a seed.
//!
//! [`demo`] is the one that comes with the program (`corpora/demo.jsonl`, byte for byte); [`Synth`] makes other sizes. Its
//! traces have what the recorded ones have: declared tool and system prefixes, prompts that grow by whole blocks, answers
//! that come back in the next prompt, people who think, subagents that are waited for and others that are not, agents and
//! short calls that a capture flattened into the main list, and compactions.
//!
//! Draws whole numbers only, so that the bytes are the same on every machine. Never claims to be measured: its times are
//! made up, and its models have names that nobody serves.

mod context;
mod draw;
mod row;
mod session;

use draw::Draw;

/// SHA-256 of what [`demo`] gives, as a scenario states it.
pub const DEMO_SHA256: &str = "85b5dee8b69d77880c9dcaf8abd2753d78965cbad675eecd0d1416d3c8aa73e9";

/// The bundled corpus: one JSON trace a line.
pub fn demo() -> Vec<u8> {
    Synth::DEMO.jsonl()
}

/// What a synthetic corpus is made of. Bounds are inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synth {
    /// Every trace draws from this seed and its own number, so more traces leave the first ones as they are.
    pub seed: u64,
    /// How many traces.
    pub traces: u32,
    /// Turns of a trace's main conversation, at least 6; one that fills its prompt ends earlier.
    pub turns: (u32, u32),
    /// No prompt is longer, in tokens; at least 8192.
    pub prompt_tokens_max: u32,
    /// Tokens of an answer; short ones are likelier.
    pub output_tokens: (u32, u32),
    /// What a tool takes, in ms; quick ones are likelier. At least 20.
    pub tool_ms: (u32, u32),
    /// What a person takes, in ms; quick ones are likelier. At least 20.
    pub think_ms: (u32, u32),
}

impl Synth {
    /// The bundled corpus: some seconds of think time at most, so that half a minute of replay shows much traffic.
    pub const DEMO: Self = Self {
        seed: 42,
        traces: 24,
        turns: (9, 18),
        prompt_tokens_max: 30_000,
        output_tokens: (20, 400),
        tool_ms: (40, 900),
        think_ms: (600, 4_000),
    };

    /// The corpus, one JSON trace a line.
    ///
    /// # Panics
    /// When a bound is below what its field demands.
    pub fn jsonl(&self) -> Vec<u8> {
        assert!(
            self.turns.0 >= 6,
            "a trace of fewer than 6 turns has no room for agents"
        );
        assert!(
            self.prompt_tokens_max >= 8192,
            "declared prefixes alone take some 3,000 tokens"
        );
        assert!(
            self.tool_ms.0.min(self.think_ms.0) >= 20,
            "agents start in the pauses of the main conversation"
        );
        let mut lines = Vec::new();
        for number in 0..self.traces {
            let draw = Draw::new(self.seed, &format!("synth.trace.{number}"));
            let row = session::trace(self, number, draw);
            serde_json::to_writer(&mut lines, &row).expect("plain structs go into memory");
            lines.push(b'\n');
        }
        lines
    }
}
