//! The summary as plain text of at most [`WIDTH`] columns: what was run, whether it counts, what was found, what to doubt.
//!
//! Readable without colour; a value that is not known is an em-dash; every figure names its unit.

mod blocks;
mod quantity;
mod run;
mod server;
mod table;

use record::summary::Summary;

/// Columns of the text.
pub const WIDTH: usize = 100;

/// Whether the text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// For files and pipes.
    Plain,
    /// With ANSI escapes, for a terminal.
    Colour,
}

/// What a piece of text is, for its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Heading,
    Good,
    Bad,
    Doubtful,
}

impl Paint {
    fn paint(self, role: Role, text: &str) -> String {
        let code = match (self, role) {
            (Paint::Plain, _) => return text.to_owned(),
            (Paint::Colour, Role::Heading) => 1,
            (Paint::Colour, Role::Good) => 32,
            (Paint::Colour, Role::Bad) => 31,
            (Paint::Colour, Role::Doubtful) => 33,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// The whole text, its last line ended.
pub fn render(summary: &Summary, paint: Paint) -> String {
    let blocks = [
        run::run(summary, paint),
        blocks::latency(&summary.profiling, paint),
        blocks::throughput(&summary.profiling, paint),
        blocks::requests(summary, paint),
        server::metrics(summary, paint),
        blocks::warnings(summary, paint),
    ];
    let blocks: Vec<String> = blocks
        .into_iter()
        .filter(|lines| !lines.is_empty())
        .map(|lines| lines.join("\n"))
        .collect();
    blocks.join("\n\n") + "\n"
}
