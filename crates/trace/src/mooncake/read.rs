//! The reader: lines one at a time, each checked, and what they must be to each other at the end.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::BLOCK_TOKENS;
use crate::error::TraceError;
use crate::lines::Lines;
use crate::problem::{Place, Problems};

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Tokens of a block, at least 1.
    pub block_size: u32,
    /// Cut a prompt that is longer than its ids can tell, as upstream does, instead of giving it a tail of its own.
    pub clamp_to_blocks: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            block_size: BLOCK_TOKENS,
            clamp_to_blocks: false,
        }
    }
}

/// One request.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Line of the file, from 1.
    pub line: u64,
    /// Its session; `None` for a single request.
    pub session: Option<String>,
    /// Turn in its session, from 0.
    pub turn: u32,
    /// Recorded start in ms.
    pub at_ms: Option<f64>,
    /// Wait after the end of the turn before, in ms: stated, or the gap between the two starts; `None` on turn 0.
    pub delay_ms: Option<f64>,
    /// Prompt tokens.
    pub input: u32,
    /// Output tokens.
    pub output: u32,
    /// Ids of the prompt's first blocks; tokens beyond them are the request's own.
    pub hash_ids: Vec<i64>,
}

/// What reading on gave.
#[derive(Clone, Debug, PartialEq)]
pub enum Read {
    /// A right line.
    Entry(Entry),
    /// A line with problems, which were collected.
    Wrong,
    /// The file is at its end, and what concerns it as a whole has been collected.
    End,
}

/// The requests of a file, in file order. Keeps for each session its name and some forty bytes.
pub struct Entries {
    lines: Lines,
    options: Options,
    sessions: HashMap<String, Session>,
    seen: Seen,
}

struct Session {
    turns: u32,
    last_ms: Option<f64>,
    first_id: Option<i64>,
}

/// What the file as a whole is asked at its end.
#[derive(Default)]
struct Seen {
    rows: u64,
    timed: u64,
    first_untimed: Option<u64>,
    last_ms: f64,
    unsorted: u64,
    first_unsorted: u64,
    uncovered: u64,
    first_uncovered: Option<(u64, String)>,
    later_turns: u64,
    growing_turns: u64,
}

#[derive(Deserialize)]
struct Line {
    #[serde(default, alias = "created_time")]
    timestamp: Option<f64>,
    #[serde(default, alias = "input_tokens")]
    input_length: Option<u32>,
    #[serde(default, alias = "output_tokens")]
    output_length: Option<u32>,
    #[serde(default)]
    hash_ids: Option<Vec<i64>>,
    #[serde(default)]
    session_id: Option<String>,
    #[serde(default, alias = "delay_ms")]
    delay: Option<f64>,
    #[serde(default)]
    output_token_ids: Option<Vec<IgnoredAny>>,
    text_input: Option<IgnoredAny>,
    messages: Option<IgnoredAny>,
    payload: Option<IgnoredAny>,
}

impl Entries {
    /// Opens a file; a name that ends in `.gz` is unpacked on the way.
    pub fn open(path: &Path, options: Options) -> Result<Self, TraceError> {
        Ok(Self {
            lines: Lines::open(path)?,
            options,
            sessions: HashMap::new(),
            seen: Seen::default(),
        })
    }

    /// Reads on.
    pub fn next(&mut self, problems: &mut Problems) -> Result<Read, TraceError> {
        let Some(bytes) = self.lines.next()? else {
            self.seen.finish(problems);
            return Ok(Read::End);
        };
        let parsed = serde_json::from_slice::<Line>(bytes);
        let line = self.lines.number;
        self.seen.rows += 1;
        let before = problems.errors();
        match parsed {
            Err(error) => {
                let text = error.to_string();
                let text = text.split(" at line ").next().unwrap_or(&text);
                let place = Place::Line(line, String::new());
                problems.error(Some(line), place, text, "a request as one JSON object");
            }
            Ok(parsed) => {
                let entry = self.entry(line, parsed, problems);
                if let Some(entry) = entry.filter(|_| problems.errors() == before) {
                    return Ok(Read::Entry(entry));
                }
            }
        }
        Ok(Read::Wrong)
    }

    fn entry(&mut self, number: u64, line: Line, problems: &mut Problems) -> Option<Entry> {
        let mut wrong = |key: &str, found: String, expected: &str| {
            problems.error(Some(number), Place::Line(number, key.to_owned()), found, expected);
        };
        let finished = [
            ("text_input", line.text_input.is_some()),
            ("messages", line.messages.is_some()),
            ("payload", line.payload.is_some()),
        ];
        if let Some((key, _)) = finished.iter().find(|(_, stated)| *stated) {
            wrong(
                key,
                "a finished prompt".to_owned(),
                "input_length and hash_ids instead",
            );
            return None;
        }
        for (key, value) in [("timestamp", line.timestamp), ("delay", line.delay)] {
            if let Some(value) = value.filter(|value| !(0.0..=MS_MAX).contains(value)) {
                wrong(key, format!("{value}"), "milliseconds from 0 to 1e14");
            }
        }
        let output = line.output_length.or_else(|| {
            wrong(
                "output_length",
                "nothing".to_owned(),
                "the number of output tokens",
            );
            None
        })?;
        if let Some(tokens) = line
            .output_token_ids
            .as_ref()
            .filter(|ids| ids.len() != output as usize)
        {
            let found = format!("{} members", tokens.len());
            wrong("output_token_ids", found, "as many as output_length says");
        }
        let block = u64::from(self.options.block_size);
        let stated = line.hash_ids.as_ref().map(|ids| ids.len() as u64 * block);
        let covered = stated.unwrap_or(0);
        let Some(mut input) = line
            .input_length
            .or_else(|| stated.and_then(|tokens| u32::try_from(tokens).ok()))
        else {
            wrong(
                "input_length",
                "nothing".to_owned(),
                "the number of prompt tokens, or hash_ids",
            );
            return None;
        };
        let hash_ids = line.hash_ids.unwrap_or_default();
        let needed = u64::from(input).div_ceil(block);
        if hash_ids.len() as u64 > needed {
            let found = format!("{} ids for {input} tokens", hash_ids.len());
            wrong(
                "hash_ids",
                found,
                &format!("at most {needed} at {block} tokens a block"),
            );
        }
        if u64::from(input) > covered && stated.is_some() {
            self.seen.uncovered += 1;
            let found = format!("{} ids for {input} tokens", hash_ids.len());
            self.seen.first_uncovered.get_or_insert((number, found));
            if self.options.clamp_to_blocks {
                input = covered as u32; // below `input`, which is of 32 bits
            }
        }
        let (turn, delay_ms) = self.place(
            number,
            line.session_id.as_deref(),
            line.timestamp,
            line.delay,
            problems,
        );
        self.growth(line.session_id.as_deref(), turn, hash_ids.first().copied());
        Some(Entry {
            line: number,
            session: line.session_id,
            turn,
            at_ms: line.timestamp,
            delay_ms,
            input,
            output,
            hash_ids,
        })
    }

    /// The turn of a row in its session, and the wait before it.
    fn place(
        &mut self,
        line: u64,
        session: Option<&str>,
        at_ms: Option<f64>,
        delay_ms: Option<f64>,
        problems: &mut Problems,
    ) -> (u32, Option<f64>) {
        let known = session.and_then(|session| self.sessions.get_mut(session));
        let mut wrong = |key: &str, found: String, expected: &str| {
            problems.error(Some(line), Place::Line(line, key.to_owned()), found, expected);
        };
        if let Some(known) = known {
            let turn = known.turns;
            known.turns += 1;
            let gap = at_ms.zip(known.last_ms).map(|(at, last)| at - last);
            if let (None, Some(gap)) = (delay_ms, gap.filter(|gap| *gap < 0.0)) {
                let found = format!("{gap} ms from the start of the turn before");
                wrong("timestamp", found, "no negative delay");
            }
            known.last_ms = at_ms.or(known.last_ms);
            return (turn, Some(delay_ms.or(gap).unwrap_or(0.0)));
        }
        if let Some(delay) = delay_ms.filter(|delay| *delay != 0.0) {
            wrong(
                "delay",
                format!("{delay} on the first turn of a session"),
                "none, or 0",
            );
        }
        self.seen.start(line, at_ms);
        if let Some(session) = session {
            let first = Session {
                turns: 1,
                last_ms: at_ms,
                first_id: None,
            };
            self.sessions.insert(session.to_owned(), first);
        }
        (0, None)
    }

    /// Counts later turns that begin with the block that the turn before began with.
    fn growth(&mut self, session: Option<&str>, turn: u32, first_id: Option<i64>) {
        let Some(session) = session.and_then(|session| self.sessions.get_mut(session)) else {
            return;
        };
        if turn > 0 && session.first_id.is_some() && first_id.is_some() {
            self.seen.later_turns += 1;
            self.seen.growing_turns += u64::from(session.first_id == first_id);
        }
        session.first_id = first_id.or(session.first_id);
    }
}

/// Largest time; some three thousand years.
const MS_MAX: f64 = 1e14;

impl Seen {
    /// A session, or a single request, starts.
    fn start(&mut self, line: u64, at_ms: Option<f64>) {
        let Some(at_ms) = at_ms else {
            self.first_untimed.get_or_insert(line);
            return;
        };
        self.timed += 1;
        if (0.0..self.last_ms).contains(&at_ms) {
            self.unsorted += 1;
            if self.unsorted == 1 {
                self.first_unsorted = line;
            }
        }
        self.last_ms = self.last_ms.max(at_ms);
    }

    fn finish(&self, problems: &mut Problems) {
        if self.rows == 0 {
            problems.error(None, Place::File, "no request", "at least one line");
        }
        if let Some(line) = self.first_untimed.filter(|_| self.timed > 0) {
            let found = format!("no timestamp, though {} other starts have one", self.timed);
            let place = Place::Line(line, "timestamp".to_owned());
            problems.error(Some(line), place, found, "one at every start, or at none");
        }
        if self.unsorted > 0 {
            let found = format!(
                "an earlier start than a line before it ({} such lines)",
                self.unsorted
            );
            let place = Place::Line(self.first_unsorted, "timestamp".to_owned());
            let expected = "lines in order of their starts; they are sorted, equal ones in file order";
            problems.warning(Some(self.first_unsorted), place, found, expected);
        }
        if let Some((line, found)) = &self.first_uncovered {
            let found = format!("{found} ({} such lines)", self.uncovered);
            let place = Place::Line(*line, "hash_ids".to_owned());
            let expected = "an id for every block; the rest is text of the request's own";
            problems.warning(Some(*line), place, found, expected);
        }
        if self.later_turns > 0 && self.growing_turns == 0 {
            let found = format!(
                "none of {} later turns begins as the turn before it does",
                self.later_turns
            );
            let expected = "whole prompts in every row; rows that hold only the new part are another format (mooncake-delta), \
                            and their history is not put back";
            problems.warning(None, Place::File, found, expected);
        }
    }
}
