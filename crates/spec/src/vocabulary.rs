//! The closed vocabularies, and how a word outside one is told.
//!
//! Matching is exact: case counts, nothing is trimmed (`bindings.md` §1). Adding a word is a change of one row here.

use crate::problem::shown;

/// Time units of a trace's columns: spelling and microseconds a unit (`bindings.md` §1.1), sorted by spelling.
pub const TIME_UNITS: [(&str, f64); 8] = [
    ("microseconds", 1.0),
    ("milliseconds", 1e3),
    ("ms", 1e3),
    ("nanoseconds", 1e-3),
    ("ns", 1e-3),
    ("s", 1e6),
    ("seconds", 1e6),
    ("us", 1.0),
];

/// How a trace's latencies came about (`bindings.md` §1.2).
pub const TRACE_MODES: [&str; 3] = ["generated", "real", "replayed"];

/// Replay scenarios and the harness release each one is transcribed from (`bindings.md` §1.3).
pub const SCENARIOS: [(&str, &str); 1] = [("inferencex-agentx-mvp", "0.12.0")];

/// Forms of a corpus' traces (`bindings.md` §1.4).
pub const CORPUS_FORMATS: [&str; 1] = ["weka-trace-v7"];

/// Encodings of a corpus file (`bindings.md` §1.4).
pub const CORPUS_ENCODINGS: [&str; 1] = ["jsonl"];

/// Warm-up modes (`bindings.md` §1.5).
pub const WARMUP_MODES: [&str; 2] = ["cache_pressure", "synthesized"];

/// Where the harness can put a cache-bust marker; the scenario allows the first (`bindings.md` §1.6).
pub const CACHE_BUST_TARGETS: [&str; 5] = [
    "first_turn_prefix",
    "first_turn_suffix",
    "none",
    "system_prefix",
    "system_suffix",
];

/// Whether the model reasons.
pub const THINKING: [&str; 2] = ["off", "on"];

/// Formats of a Sweeper trace (`sweeper-traffic.md` §7.2).
pub const TRACE_FORMATS: [&str; 1] = ["mooncake"];

/// Targets of a Sweeper goal (`sweeper-traffic.md` §1).
pub const GOAL_TARGETS: [&str; 7] = [
    "e2e_latency",
    "goodput",
    "goodput_per_gpu",
    "pareto",
    "throughput",
    "throughput_per_gpu",
    "throughput_per_user",
];

/// The spellings of [`TIME_UNITS`].
pub const TIME_UNIT_NAMES: [&str; 8] = {
    let mut names = [""; 8];
    let mut at = 0;
    while at < names.len() {
        names[at] = TIME_UNITS[at].0;
        at += 1;
    }
    names
};

/// Names of the replay scenarios.
pub const SCENARIO_NAMES: [&str; 1] = [SCENARIOS[0].0];

/// Harness releases that some scenario is transcribed from.
pub const HARNESS_VERSIONS: [&str; 1] = [SCENARIOS[0].1];

/// `"observed" is not one of [generated real replayed]`.
pub(crate) fn not_one_of(found: &str, allowed: &[&str]) -> String {
    format!("{} is not one of {}", shown(found), listed(allowed))
}

/// `[generated real replayed]`.
pub(crate) fn listed(words: &[&str]) -> String {
    let mut sorted = words.to_vec();
    sorted.sort_unstable();
    format!("[{}]", sorted.join(" "))
}

/// The word that was probably meant: one whose spelling is near, or that holds the other as a part.
pub(crate) fn nearest<'a>(found: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LENGTH_MAX: usize = 64;
    if found.is_empty() || found.chars().count() > LENGTH_MAX {
        return None;
    }
    let lower = found.to_lowercase();
    words
        .into_iter()
        .filter_map(|word| {
            let edits = edits(&lower, word);
            let near = edits <= 2.min(word.len() / 2) || edits * 3 <= word.len();
            let part =
                found.len() >= 4 && (word.contains(&lower) || (word.len() >= 4 && lower.contains(word)));
            (near || part).then_some((edits, word))
        })
        .min()
        .map(|(_, word)| word)
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
fn edits(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    let mut before_last = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (row, left) in from.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, right) in to.iter().enumerate() {
            let replaced = last[column] + usize::from(left != right);
            let mut best = replaced.min(last[column + 1] + 1).min(current[column] + 1);
            if row > 0 && column > 0 && *left == to[column - 1] && from[row - 1] == *right {
                best = best.min(before_last[column - 1] + 1);
            }
            current.push(best);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_one_a_person_would_mean() {
        let words = ["sha256", "rows", "benchmark_duration_s", "prompt", "concurrency"];
        let cases = [
            ("sha265", Some("sha256")),
            ("row", Some("rows")),
            ("duration", Some("benchmark_duration_s")),
            ("Concurrency", Some("concurrency")),
            ("promt", Some("prompt")),
            ("qps", None),
            ("", None),
        ];
        for (found, expected) in cases {
            assert_eq!(nearest(found, words), expected, "{found:?}");
        }
    }
}
