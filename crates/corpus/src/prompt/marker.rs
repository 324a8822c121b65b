//! The cache-bust marker: a short text that makes the prompts of one play of a trace unlike those of any other.
//!
//! Root and children of one play share it, warm-up and measurement alike (`aiperf-corpus` §5.8, target
//! `first_turn_prefix`). Which digits it carries is `replay`'s business. Never put before a system message.

/// The marker with these twelve hex digits: `[rid:` + digits + `]` + two newlines.
pub fn text(hex: &str) -> String {
    format!("[rid:{hex}]\n\n")
}
