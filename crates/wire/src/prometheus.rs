//! A page of Prometheus text (`/metrics`), read whole: families, and samples with their labels.
//!
//! Names may hold a colon; every one of vLLM's does (`dependencies`, row "Prometheus text"). The older text format and
//! `OpenMetrics` are read alike. A line that cannot be read is passed over, counted, and the first ones are kept with
//! their numbers; no page makes it fail, and every limit that cuts one short is stated in what comes back.

use std::collections::HashMap;

/// Longest page that is read; what stands behind it is cut off.
pub const PAGE_BYTES_MAX: usize = 16 << 20;
/// Longest line that is read; a longer one is a bad line.
pub const LINE_BYTES_MAX: usize = 64 << 10;
/// Most samples that are taken from a page.
pub const SAMPLES_MAX: usize = 100_000;
/// Most labels that a sample may have.
pub const LABELS_MAX: usize = 64;
/// Bad lines that are kept with their numbers; the others are only counted.
pub const BAD_LINES_KEPT: usize = 8;

/// What the values of a family mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Counts up, and begins again at zero when the server starts over.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts in buckets, with a sum and a count.
    Histogram,
    /// Quantiles that the server computed, with a sum and a count.
    Summary,
    /// Not stated, or by a word that is not known here.
    Untyped,
}

/// Samples of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// As its `TYPE` or `HELP` line spells it, else as its sample does.
    pub name: String,
    /// What the `TYPE` line says.
    pub kind: Kind,
    /// What the `HELP` line says; empty without one.
    pub help: String,
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Index of its family in [`Page::families`].
    pub family: usize,
    /// Its own name, with `_bucket`, `_sum`, `_count`, `_total` or `_created` where it has one.
    pub name: String,
    /// Labels in the order of the page.
    pub labels: Vec<(String, String)>,
    /// May be infinite or not a number.
    pub value: f64,
    /// The time that the server states for it, in the page's own unit.
    pub stated_time: Option<f64>,
}

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// From 1.
    pub line: u64,
    /// What was found.
    pub problem: &'static str,
}

/// A whole page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// In the order in which they first stand.
    pub families: Vec<Family>,
    /// In the order of the page.
    pub samples: Vec<Sample>,
    /// Lines that could not be read.
    pub bad_lines_total: u64,
    /// The first [`BAD_LINES_KEPT`] of them.
    pub bad_lines: Vec<BadLine>,
    /// The page is longer than [`PAGE_BYTES_MAX`] or has more than [`SAMPLES_MAX`] samples: the rest is not here.
    pub cut: bool,
}

/// Reads a page.
pub fn parse(text: &[u8]) -> Page {
    let mut reader = Reader::default();
    let mut text = text;
    if text.len() > PAGE_BYTES_MAX {
        text = &text[..PAGE_BYTES_MAX];
        reader.page.cut = true;
    }
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if reader.page.samples.len() == SAMPLES_MAX {
            reader.page.cut = true;
            break;
        }
        if let Err(problem) = reader.line(line) {
            reader.page.bad_lines_total += 1;
            if reader.page.bad_lines.len() < BAD_LINES_KEPT {
                let line = index as u64 + 1;
                reader.page.bad_lines.push(BadLine { line, problem });
            }
        }
    }
    reader.page
}

#[derive(Default)]
struct Reader {
    page: Page,
    by_name: HashMap<String, usize>,
}

type Read<T> = Result<T, &'static str>;

impl Reader {
    fn line(&mut self, line: &[u8]) -> Read<()> {
        if line.len() > LINE_BYTES_MAX {
            return Err("longer than a line may be");
        }
        let line = std::str::from_utf8(line).map_err(|_| "not UTF-8")?.trim();
        match line.strip_prefix('#') {
            _ if line.is_empty() => Ok(()),
            Some(comment) => self.comment(comment.trim_start()),
            None => self.sample(line),
        }
    }

    /// `HELP` and `TYPE`; whatever else a comment holds says nothing.
    fn comment(&mut self, comment: &str) -> Read<()> {
        let (word, rest) = first_word(comment);
        if !matches!(word, "HELP" | "TYPE") {
            return Ok(());
        }
        let (name, said) = first_word(rest);
        if !is_name(name) {
            return Err("no metric name behind HELP or TYPE");
        }
        let family = self.family(name);
        let family = &mut self.page.families[family];
        if word == "HELP" {
            family.help = unescaped(said);
        } else {
            family.kind = kind(said);
        }
        Ok(())
    }

    fn family(&mut self, name: &str) -> usize {
        if let Some(index) = self.by_name.get(name) {
            return *index;
        }
        let index = self.page.families.len();
        self.page.families.push(Family {
            name: name.to_owned(),
            kind: Kind::Untyped,
            help: String::new(),
        });
        self.by_name.insert(name.to_owned(), index);
        index
    }

    /// The family of a sample: of its own name, else of its name without an ending that the family's kind has.
    fn family_of(&mut self, name: &str) -> usize {
        if let Some(index) = self.by_name.get(name) {
            return *index;
        }
        let declared = ENDINGS.iter().find_map(|(ending, kinds)| {
            let index = *self.by_name.get(name.strip_suffix(ending)?)?;
            kinds.contains(&self.page.families[index].kind).then_some(index)
        });
        declared.unwrap_or_else(|| self.family(name))
    }

    fn sample(&mut self, line: &str) -> Read<()> {
        let end = line
            .find(|letter: char| letter == '{' || letter.is_whitespace())
            .ok_or("a name without a value")?;
        let (name, rest) = line.split_at(end);
        if !is_name(name) {
            return Err("no metric name");
        }
        let rest = rest.trim_start();
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(inside) => labels(inside)?,
            None => (Vec::new(), rest),
        };
        // An `OpenMetrics` exemplar stands behind a `#`.
        let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
        let mut words = rest.split_ascii_whitespace();
        let value = words.next().and_then(number).ok_or("no value")?;
        let stated_time = match words.next() {
            Some(word) => Some(number(word).ok_or("a time that is no number")?),
            None => None,
        };
        if words.next().is_some() {
            return Err("something behind the value");
        }
        let family = self.family_of(name);
        self.page.samples.push(Sample {
            family,
            name: name.to_owned(),
            labels,
            value,
            stated_time,
        });
        Ok(())
    }
}

/// Endings of sample names, and the kinds whose samples have them.
const ENDINGS: [(&str, &[Kind]); 5] = [
    ("_bucket", &[Kind::Histogram]),
    ("_sum", &[Kind::Histogram, Kind::Summary]),
    ("_count", &[Kind::Histogram, Kind::Summary]),
    ("_total", &[Kind::Counter]),
    ("_created", &[Kind::Counter, Kind::Histogram, Kind::Summary]),
];

fn kind(word: &str) -> Kind {
    match word.trim() {
        "counter" => Kind::Counter,
        "gauge" => Kind::Gauge,
        "histogram" => Kind::Histogram,
        "summary" => Kind::Summary,
        _ => Kind::Untyped,
    }
}

fn first_word(text: &str) -> (&str, &str) {
    match text.split_once([' ', '\t']) {
        Some((word, rest)) => (word, rest.trim_start()),
        None => (text, ""),
    }
}

fn is_name(name: &str) -> bool {
    let mut letters = name.bytes();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || matches!(first, b'_' | b':'))
        && letters.all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, b'_' | b':'))
}

/// Labels up to their closing brace, and what stands behind it.
fn labels(mut rest: &str) -> Read<(Vec<(String, String)>, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start();
        if let Some(behind) = rest.strip_prefix('}') {
            return Ok((labels, behind));
        }
        let (key, value) = rest.split_once('=').ok_or("a label without a value")?;
        let key = key.trim();
        if !is_name(key) {
            return Err("no label name");
        }
        let quoted = value
            .trim_start()
            .strip_prefix('"')
            .ok_or("a label value without quotes")?;
        let end = closing_quote(quoted).ok_or("a label value without its closing quote")?;
        if labels.len() == LABELS_MAX {
            return Err("more labels than a sample may have");
        }
        labels.push((key.to_owned(), unescaped(&quoted[..end])));
        rest = quoted[end + 1..].trim_start();
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None if rest.starts_with('}') => {}
            None => return Err("no comma or brace behind a label"),
        }
    }
}

/// Where the first quote stands that no backslash escapes.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })
}

fn unescaped(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            plain.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => plain.push('\n'),
            Some(other @ ('\\' | '"')) => plain.push(other),
            Some(other) => plain.extend(['\\', other]),
            None => plain.push('\\'),
        }
    }
    plain
}

/// A value as Go writes it: also `+Inf`, `-Inf` and `NaN`.
fn number(word: &str) -> Option<f64> {
    word.parse().ok()
}
