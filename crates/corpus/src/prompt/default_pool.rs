//! The text of the pool that needs no file: made-up code, logs, configuration and prose, the same on every machine.
//!
//! What a coding agent's context is made of, in our own words: sections of a few kinds whose words are drawn with a fixed
//! seed. It stands in for aiperf's pool where the exact bytes do not matter; block structure and cache behaviour do not
//! depend on the text. Never depends on the run seed: its digest is one number.

use rng::Python;

/// Sections that the pool is made of; gives some 300 kB.
const SECTIONS: usize = 760;

/// Seed of the one stream that everything is drawn from.
const SEED: u64 = 0x7475_726e_6d69_6c6c;

/// The whole text.
pub(super) fn text() -> String {
    let mut writer = Writer {
        random: Python::new(SEED),
        text: String::with_capacity(350_000),
    };
    for _ in 0..SECTIONS {
        writer.section();
    }
    writer.text
}

/// One kind of section: a head, some rows, a foot.
///
/// `%t` stands for a thing, `%T` for a thing in capitals, `%a` for an act, `%q` for a quality, `%n` for a name, `%d` and
/// `%D` for a small and a large number, `%y` for a type, `%l` for a log level, `%o` and `%c` for the opening and closing
/// words of a sentence, all drawn anew; `%1` and `%2` for two names that stay the same within a section.
struct Kind {
    head: &'static str,
    row: &'static str,
    /// Least number of rows and how many may be added.
    rows: (u64, u64),
    foot: &'static str,
}

const KINDS: [Kind; 10] = [
    Kind {
        head: "/// Keeps the %q %ts of one %t.\npub struct %T%T {\n    %1: %y,\n",
        row: "    %n: %y,\n",
        rows: (1, 4),
        foot: "}\n\nimpl %T {\n    /// Must be %q by now.\n    fn %a_%2(&self) -> Option<&%T> {\n        self.%1.iter().find(|%t| %t.%n > %d)\n    }\n}\n\n",
    },
    Kind {
        head: "fn %a_%1(%2: &[u8]) -> Result<usize, Error> {\n    let mut left = %2.len().min(%D);\n",
        row: "    if left > %d && !%2.is_empty() {\n        left -= %a(%2, Mode::%T)?; // %q %t\n    }\n",
        rows: (1, 4),
        foot: "    Ok(left)\n}\n\n",
    },
    Kind {
        head: "def %a_%t(%1, limit=%d):\n    \"\"\"Leaves only what is %q.\"\"\"\n    found = [item for item in %1 if item.%2 < limit]\n",
        row: "    if not found:\n        raise LookupError(\"no %t is %q (E%d)\")\n    found = %a(found, key=\"%n\", size=%D)\n",
        rows: (1, 3),
        foot: "    return sorted(found, key=lambda item: item.%2)\n\n\n",
    },
    Kind {
        head: "%D-%d %l %t: %a %1 began\n",
        row: "%D-%d %l %t: %a %n count=%D took=%dms\n",
        rows: (4, 10),
        foot: "%D-%d %l %t: %1 has %d %q entries\n\n",
    },
    Kind {
        head: "{\n  \"%1\": %D,\n  \"items\": [\n",
        row: "    {\"%n\": {\"%t\": %D, \"state\": \"%q\"}, \"tags\": [\"%t\", \"%t\"]},\n",
        rows: (2, 6),
        foot: "    {\"%2\": null}\n  ],\n  \"total\": %d\n}\n\n",
    },
    Kind {
        head: "--- a/src/%t/%1.rs\n+++ b/src/%t/%1.rs\n@@ -%d,4 +%d,5 @@\n     let %t = %a(&%2)?;\n",
        row: "-    %t.%a(%2);\n+    // The %t may be %q here.\n+    %t.%a(%n, %d);\n",
        rows: (1, 3),
        foot: "     Ok(())\n\n",
    },
    Kind {
        head: "$ grep -rn \"%1\" src/%t | head\n",
        row: "src/%t/%n.rs:%d:    %a(%1)?;\n",
        rows: (2, 6),
        foot: "$ make check\n%D passed, %d failed\n\n",
    },
    Kind {
        head: "| name | state | size |\n| --- | --- | ---: |\n",
        row: "| `%n` | %q | %D |\n",
        rows: (3, 6),
        foot: "\n",
    },
    Kind {
        head: "%1:\n  name: %n\n  %t:\n    max: %D\n    mode: %q\n",
        row: "    - %n: %d\n",
        rows: (1, 6),
        foot: "\n",
    },
    Kind {
        head: "",
        row: "%o `%n` has to %a the %t while it is still %q, %c ",
        rows: (2, 5),
        foot: "See `%1` in src/%t/%2.rs.\n\n",
    },
];

const THINGS: &[&str] = &[
    "account", "archive", "batch", "beacon", "buffer", "canal", "cargo", "channel", "cluster", "column",
    "cursor", "depot", "digest", "engine", "folder", "gateway", "harbor", "index", "journal", "kernel",
    "ledger", "lock", "meter", "node", "orchard", "packet", "parcel", "queue", "record", "relay", "route",
    "sample", "shard", "signal", "socket", "stanza", "ticket", "turbine", "vessel", "window",
];
const ACTS: &[&str] = &[
    "align", "append", "assign", "balance", "close", "collect", "compare", "count", "drain", "fetch",
    "filter", "flush", "gather", "load", "match", "merge", "open", "parse", "prune", "publish", "reload",
    "rotate", "send", "settle", "sort", "split", "trace", "verify",
];
const QUALITIES: &[&str] = &[
    "active", "brief", "cold", "dense", "early", "empty", "fresh", "hidden", "idle", "large", "late",
    "local", "lost", "narrow", "open", "pending", "plain", "quiet", "remote", "shared", "slow", "stale",
    "steady", "strict", "sudden", "warm",
];
const TYPES: &[&str] = &[
    "u64",
    "String",
    "bool",
    "f64",
    "usize",
    "Vec<u8>",
    "Duration",
    "Option<u32>",
];
const LEVELS: &[&str] = &["INFO", "INFO", "WARN", "DEBUG", "ERROR"];
const OPENERS: &[&str] = &[
    "Before we change this, note that",
    "From what I can see,",
    "The reason seems simple:",
    "After another look,",
    "In the failing case",
    "Once the service has started,",
    "As far as the tests show,",
    "When two workers meet here,",
    "On a second run",
    "Nothing in the log explains why",
];
const CLOSERS: &[&str] = &[
    "so I would start there.",
    "which is what the report describes.",
    "and the next step depends on it.",
    "although only under load.",
    "because nobody waits for it.",
    "and that is the whole change.",
    "so the order must stay as it is.",
    "which the old version never did.",
    "and it costs almost nothing.",
    "unless the limit was raised by hand.",
];

struct Writer {
    random: Python,
    text: String,
}

impl Writer {
    fn section(&mut self) {
        let kind = &KINDS[self.random.below(KINDS.len() as u64) as usize];
        let names = [self.name(), self.name()];
        self.fill(kind.head, &names);
        for _ in 0..kind.rows.0 + self.random.below(kind.rows.1) {
            self.fill(kind.row, &names);
        }
        self.fill(kind.foot, &names);
    }

    fn fill(&mut self, template: &str, names: &[String; 2]) {
        let mut letters = template.chars();
        while let Some(letter) = letters.next() {
            if letter != '%' {
                self.text.push(letter);
                continue;
            }
            let word = match letters.next() {
                Some('t') => self.pick(THINGS).to_owned(),
                Some('T') => capital(self.pick(THINGS)),
                Some('a') => self.pick(ACTS).to_owned(),
                Some('q') => self.pick(QUALITIES).to_owned(),
                Some('y') => self.pick(TYPES).to_owned(),
                Some('l') => self.pick(LEVELS).to_owned(),
                Some('o') => self.pick(OPENERS).to_owned(),
                Some('c') => self.pick(CLOSERS).to_owned(),
                Some('n') => self.name(),
                Some('d') => self.random.below(100).to_string(),
                Some('D') => self.random.below(100_000).to_string(),
                Some('1') => names[0].clone(),
                Some('2') => names[1].clone(),
                other => unreachable!("{other:?} is no placeholder"),
            };
            self.text.push_str(&word);
        }
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.random.below(from.len() as u64) as usize]
    }

    fn name(&mut self) -> String {
        format!("{}_{}", self.pick(QUALITIES), self.pick(THINGS))
    }
}

fn capital(word: &str) -> String {
    let (head, rest) = word.split_at(1);
    head.to_uppercase() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_the_same_everywhere() {
        let text = text();
        assert_eq!(text.len(), 302_790);
        assert_eq!(
            super::super::sha256_hex(text.as_bytes()),
            "4385f61caef70fa27a67ff98fc61e31e0e08a1ac4002052e0be0ab269b512c6d"
        );
    }
}
