//! 512 lanes of prompts of 200,000 tokens that all begin at once: the program's peak memory, beside that of prompts a quarter as
//! long.
//!
//! The traces are made here and share nothing. The demo's tokenizer is in use, whose tokens are about a byte. The server answers as soon as it has read a prompt; its memory, in this
//! process, is not counted.

use crate::files;
use crate::load::{Pace, Run, size};
use crate::table::Line;
use driver::clock::Clock;
use serde_json::{Value, json};

const LANES: u32 = 512;
/// Tokens of a first prompt, and the most memory that is allowed for it.
const PROMPTS: [(u64, Option<f64>); 2] = [(50_000, None), (200_000, Some(1000.0))];
const BLOCK_TOKENS: u64 = 64;
/// Turns of each trace; each adds two blocks.
const TURNS: u64 = 4;
const TURN_TOKENS: u64 = 2 * BLOCK_TOKENS;
/// Length of the measurement.
const DURATION_S: u32 = 20;

pub(crate) fn measure() -> anyhow::Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (tokens, peak_mb_max) in PROMPTS {
        let folder = testkit::tempdir()?;
        let rows = (0..LANES).map(|number| trace(number, tokens));
        let rows = rows.collect::<Result<Vec<_>, _>>()?;
        let corpus = files::write(folder.path().join("long.jsonl"), &rows)?;
        let (lanes, clock) = ((LANES, DURATION_S), Clock::start());
        let run = Run::start(folder.path(), &corpus, lanes, Pace::Burst, 0, clock)?;
        let (peak_mb, rows) = run.finish()?;
        let what = format!("{LANES} lanes, {tokens} tokens");
        lines.push(Line::new(
            format!("corpus; {what}"),
            corpus.bytes as f64 / 1e6,
            "MB",
        ));
        let mut sizes = size(&what, peak_mb, &rows);
        sizes[0].at_most = peak_mb_max;
        lines.extend(sizes);
    }
    Ok(lines)
}

/// A row of the corpus: a conversation that begins with a long prompt.
fn trace(number: u32, prompt_tokens: u64) -> serde_json::Result<Vec<u8>> {
    let turn = |turn: u64| -> Value {
        let tokens = prompt_tokens + turn * TURN_TOKENS;
        json!({
            "t": turn as f64 * 2.0,
            "type": "n",
            "model": "long",
            "in": tokens,
            "out": 8,
            "hash_ids": (1..=tokens / BLOCK_TOKENS).collect::<Vec<_>>(),
            "input_types": ["text"],
            "output_types": ["text"],
            "stop": "end_turn",
            "api_time": 1.0,
            "think_time": if turn == 0 { 0.0 } else { 1.0 },
        })
    };
    serde_json::to_vec(&json!({
        "id": format!("long-{number:03}"),
        "models": ["long"],
        "block_size": BLOCK_TOKENS,
        "tool_tokens": 2084,
        "system_tokens": 900,
        "hash_id_scope": "local",
        "requests": (0..TURNS).map(turn).collect::<Vec<_>>(),
    }))
}
