//! Writes the bundled corpus to standard output: `cargo run -p corpus --example demo_corpus > corpora/demo.jsonl`.

use std::io::Write;

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(&corpus::synth::demo())
}
