//! What lines must be to each other, asked when the file is at its end.

use crate::problem::{Place, Problems};

/// What the file as a whole is asked at its end.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) rows: u64,
    timed: u64,
    first_untimed: Option<u64>,
    last_ms: f64,
    unsorted: u64,
    first_unsorted: u64,
    pub(super) uncovered: u64,
    pub(super) first_uncovered: Option<(u64, String)>,
    pub(super) later_turns: u64,
    pub(super) growing_turns: u64,
}

impl Seen {
    /// A session, or a single request, starts.
    pub(super) fn start(&mut self, line: u64, at_ms: Option<f64>) {
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

    /// The file is at its end.
    pub(super) fn finish(&self, problems: &mut Problems) {
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
