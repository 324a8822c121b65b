//! Error texts, grouped: texts that differ in numbers alone (addresses, ids, times) are one error.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::request::RequestRecord;
use crate::words::Word;

/// Groups that are told apart; what comes later is counted as one more.
pub const ERROR_GROUPS_MAX: usize = 20;

/// Name of the group for everything above [`ERROR_GROUPS_MAX`].
const OTHERS: &str = "others";

/// Errors of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorGroup {
    /// Failure kind, or `overflow`.
    pub kind: String,
    /// HTTP status, when one came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// Text of the first.
    pub text: String,
    /// Requests.
    pub count: u64,
}

/// Groups while they are counted.
#[derive(Clone, Debug, Default)]
pub(super) struct ErrorTally {
    groups: Vec<ErrorGroup>,
    known: HashMap<(String, Option<u16>, String), usize>,
    others: u64,
}

impl ErrorTally {
    /// Takes a request that failed or overflowed.
    pub(super) fn push(&mut self, record: &RequestRecord) {
        let kind = record
            .failure_kind
            .map_or(record.outcome.word(), Word::word)
            .to_owned();
        let text = record.error.clone().unwrap_or_default();
        let key = (kind, record.http_status, without_numbers(&text));
        if let Some(&index) = self.known.get(&key) {
            self.groups[index].count += 1;
        } else if self.groups.len() < ERROR_GROUPS_MAX {
            let group = ErrorGroup {
                kind: key.0.clone(),
                http_status: key.1,
                text,
                count: 1,
            };
            self.known.insert(key, self.groups.len());
            self.groups.push(group);
        } else {
            self.others += 1;
        }
    }

    /// The groups, the most frequent first.
    pub(super) fn finish(mut self) -> Vec<ErrorGroup> {
        self.groups.sort_by_key(|group| std::cmp::Reverse(group.count));
        if self.others > 0 {
            let kind = OTHERS.to_owned();
            self.groups.push(ErrorGroup {
                kind,
                count: self.others,
                ..ErrorGroup::default()
            });
        }
        self.groups
    }
}

/// `text` with each word that holds a digit replaced, since it is an id, an address, a count or a time.
fn without_numbers(text: &str) -> String {
    let plain = |word: &str| {
        if word.bytes().any(|byte| byte.is_ascii_digit()) {
            "#"
        } else {
            word
        }
        .to_owned()
    };
    text.split_whitespace().map(plain).collect::<Vec<_>>().join(" ")
}
