//! The distinct models of a row, in the order in which they are mapped to the stated ones (`aiperf-corpus` §4.7).

use crate::formats::weka::{Entry, Request, Row};

/// Models by position: the main one first, then the others as they appear in the row.
pub(super) struct Models<'r>(Vec<&'r str>);

impl<'r> Models<'r> {
    pub(super) fn of(row: &'r Row) -> Self {
        let mut models = Vec::new();
        let in_row = row.entries.iter().flat_map(|entry| match entry {
            Entry::Request(request) => std::slice::from_ref(request),
            Entry::Subagent(subagent) => subagent.requests.as_slice(),
        });
        for model in main_request(row)
            .into_iter()
            .chain(in_row)
            .map(|request| request.model.as_str())
        {
            if !models.contains(&model) {
                models.push(model);
            }
        }
        Self(models)
    }

    /// Position of a model of the row.
    pub(super) fn position(&self, model: &str) -> u32 {
        let found = self.0.iter().position(|own| *own == model);
        found.expect("every request's model was listed") as u32
    }
}

/// The first top level request, else the first one of any subagent.
fn main_request(row: &Row) -> Option<&Request> {
    let top = row.entries.iter().find_map(|entry| match entry {
        Entry::Request(request) => Some(request),
        Entry::Subagent(_) => None,
    });
    top.or_else(|| {
        row.entries.iter().find_map(|entry| match entry {
            Entry::Request(_) => None,
            Entry::Subagent(subagent) => subagent.requests.first(),
        })
    })
}
