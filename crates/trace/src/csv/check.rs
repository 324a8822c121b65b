//! What the rows of a file must be to each other (`trace-csv` §2.3), in one pass.
//!
//! Costs for each row about half a byte of its id ([`super::ids`]), for each session its name and forty bytes, for each
//! prefix group its name and sixteen. Rounds that come in order cost nothing more.

use std::collections::{BTreeSet, HashMap};

use super::ids::IdSet;
use super::row::Row;
use crate::problem::{Place, Problems};

/// The checks over a file while its rows go by.
#[derive(Clone, Debug, Default)]
pub struct FileChecks {
    ids: IdSet,
    sessions: HashMap<Box<str>, Rounds>,
    groups: HashMap<Box<str>, Group>,
}

/// The rounds of a session that have been seen.
#[derive(Clone, Debug, Default)]
struct Rounds {
    /// All below it were there.
    next: u32,
    /// Those beyond it.
    ahead: BTreeSet<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    length: u32,
    warned: bool,
}

impl FileChecks {
    /// Looks at one more row; `number` is its number from 1, `line` where it stands.
    pub fn row(&mut self, row: &Row<'_>, number: u64, line: Option<u64>, problems: &mut Problems) {
        if !self.ids.insert(row.request_id) {
            let place = Place::Cell(number, "request_id");
            let found = format!("{} a second time", row.request_id);
            problems.error(line, place, found, "an id of its own for each request");
        }
        if !row.session_id.is_empty() {
            self.round(row, number, line, problems);
        }
        if !row.prefix_group.is_empty() {
            self.group(row, line, problems);
        }
    }

    fn round(&mut self, row: &Row<'_>, number: u64, line: Option<u64>, problems: &mut Problems) {
        // Looked up before it is inserted, so that a known session costs no allocation.
        if !self.sessions.contains_key(row.session_id) {
            self.sessions.insert(row.session_id.into(), Rounds::default());
        }
        let rounds = self.sessions.get_mut(row.session_id).expect("inserted above");
        let round = row.round_index;
        if round < rounds.next || !rounds.ahead.insert(round) {
            let found = format!("round {round} of session {} a second time", row.session_id);
            problems.error(line, Place::Cell(number, "round_index"), found, "each round once");
        }
        while rounds.ahead.remove(&rounds.next) {
            rounds.next += 1;
        }
    }

    fn group(&mut self, row: &Row<'_>, line: Option<u64>, problems: &mut Problems) {
        let Some(group) = self.groups.get_mut(row.prefix_group) else {
            let group = Group {
                length: row.prefix_length,
                warned: false,
            };
            self.groups.insert(row.prefix_group.into(), group);
            return;
        };
        if group.length != row.prefix_length && !group.warned {
            group.warned = true;
            let found = format!(
                "{} tokens here, {} in its first row",
                row.prefix_length, group.length
            );
            let place = Place::PrefixGroup(row.prefix_group.to_owned());
            problems.warning(
                line,
                place,
                found,
                "one prefix_length in a group; the first is used",
            );
        }
    }

    /// The file is at its end: sessions must have no gap. Not asked when rows were wrong, since each of those may be a
    /// round that now seems to be missing.
    pub fn finish(&self, problems: &mut Problems) {
        let mut gaps: Vec<_> = self
            .sessions
            .iter()
            .filter_map(|(session, rounds)| Some((session, rounds.next, *rounds.ahead.first()?)))
            .collect();
        gaps.sort_unstable();
        for (session, missing, next) in gaps {
            let found = format!("no round {missing}, but round {next}");
            problems.error(
                None,
                Place::Session(session.to_string()),
                found,
                "rounds 0 to n − 1",
            );
        }
    }

    /// Sessions seen.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }
}
