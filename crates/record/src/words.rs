//! The words that stand for our enumerations in every file.
//!
//! One table an enumeration; reading and writing both go through it. A word that is not in its table is an error that
//! lists the table.

use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::request::{CancelCause, FailureKind, Outcome, Phase};

/// An enumeration with a fixed word for each value.
pub trait Word: Copy + PartialEq + 'static {
    /// What the enumeration is called in messages.
    const WHAT: &'static str;
    /// Every value with its word.
    const TABLE: &'static [(Self, &'static str)];

    /// The value's word.
    fn word(self) -> &'static str {
        Self::TABLE
            .iter()
            .find(|(value, _)| *value == self)
            .map(|(_, word)| *word)
            .expect("the table of words holds every value")
    }

    /// The value of a word.
    fn from_word(word: &str) -> Option<Self> {
        Self::TABLE
            .iter()
            .find(|(_, known)| *known == word)
            .map(|(value, _)| *value)
    }
}

impl Word for Phase {
    const WHAT: &'static str = "phase";
    const TABLE: &'static [(Self, &'static str)] =
        &[(Phase::Warmup, "warmup"), (Phase::Profiling, "profiling")];
}

impl Word for Outcome {
    const WHAT: &'static str = "outcome";
    const TABLE: &'static [(Self, &'static str)] = &[
        (Outcome::Ok, "ok"),
        (Outcome::Failed, "failed"),
        (Outcome::Overflow, "overflow"),
        (Outcome::Cancelled, "cancelled"),
    ];
}

impl Word for FailureKind {
    const WHAT: &'static str = "failure_kind";
    const TABLE: &'static [(Self, &'static str)] = &[
        (FailureKind::Refused, "refused"),
        (FailureKind::ErrorObject, "error_object"),
        (FailureKind::Truncated, "truncated"),
        (FailureKind::TimedOut, "timed_out"),
        (FailureKind::BrokenStream, "broken_stream"),
        (FailureKind::Malformed, "malformed"),
        (FailureKind::Connect, "connect"),
        (FailureKind::Unsent, "unsent"),
    ];
}

impl Word for CancelCause {
    const WHAT: &'static str = "cancel_cause";
    const TABLE: &'static [(Self, &'static str)] = &[
        (CancelCause::Grace, "grace"),
        (CancelCause::Interrupt, "interrupt"),
        (CancelCause::Abort, "abort"),
    ];
}

/// A value that stands in a file as its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worded<T>(pub T);

impl<T: Word> Serialize for Worded<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.word())
    }
}

impl<'de, T: Word> Deserialize<'de> for Worded<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ReadWord<T>(std::marker::PhantomData<T>);
        impl<T: Word> Visitor<'_> for ReadWord<T> {
            type Value = Worded<T>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                let words: Vec<&str> = T::TABLE.iter().map(|(_, word)| *word).collect();
                write!(out, "{}: one of {}", T::WHAT, words.join(", "))
            }

            fn visit_str<E: de::Error>(self, found: &str) -> Result<Self::Value, E> {
                T::from_word(found)
                    .map(Worded)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Str(found), &self))
            }
        }
        deserializer.deserialize_str(ReadWord(std::marker::PhantomData))
    }
}
