//! What serde reads: every key that any entry may have, absent ones told apart from null. [`super::check`] says which
//! of them belong where, so that the parser needs no second look at the text to learn an entry's type.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};

use super::lenient::{AnyObject, Float, Int, Named, Object};

/// A row of the file. `None` = the key is absent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRow<'a> {
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) models: Option<Vec<Text<'a>>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) block_size: Option<Int>,
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) hash_id_scope: Option<Text<'a>>,
    #[serde(default)]
    pub(super) tool_tokens: Option<Int>,
    #[serde(default)]
    pub(super) system_tokens: Option<Int>,
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) requests: Option<Vec<Object<RawEntry<'a>>>>,
    #[serde(default, rename = "totals")]
    _totals: Option<AnyObject>,
}

/// An element of `requests` of either kind. `None` = the key is absent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEntry<'a> {
    #[serde(default, deserialize_with = "given")]
    pub(super) t: Option<Float>,
    #[serde(borrow, default, rename = "type", deserialize_with = "given")]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) model: Option<Text<'a>>,
    #[serde(default, rename = "in", alias = "input_length", deserialize_with = "given")]
    pub(super) input: Option<Int>,
    #[serde(default, rename = "out", alias = "output_length", deserialize_with = "given")]
    pub(super) output: Option<Int>,
    #[serde(default, deserialize_with = "given")]
    pub(super) hash_ids: Option<HashIds>,
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) input_types: Option<Vec<Text<'a>>>,
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) output_types: Option<Vec<Text<'a>>>,
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) stop: Option<Text<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) api_time: Option<Nullable<Float>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) think_time: Option<Nullable<Float>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) ttft: Option<Nullable<Float>>,
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) agent_id: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) subagent_type: Option<Text<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) duration_ms: Option<Nullable<Int>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) total_tokens: Option<Nullable<Int>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) tool_use_count: Option<Nullable<Int>>,
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) status: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) requests: Option<Vec<Object<RawEntry<'a>>>>,
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) models: Option<Vec<Text<'a>>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) tool_tokens: Option<Int>,
    #[serde(default, deserialize_with = "given")]
    pub(super) system_tokens: Option<Int>,
}

impl Named for RawRow<'_> {
    const NAME: &'static str = "an object, a Weka trace";
}

impl Named for RawEntry<'_> {
    const NAME: &'static str = "an object, a request or a subagent entry";
}

/// A string, borrowed where it holds no escape.
#[derive(Debug, Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl Text<'_> {
    pub(super) fn into_owned(self) -> String {
        self.0.into_owned()
    }
}

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// A value that may be null.
#[derive(Debug, Deserialize)]
pub(super) struct Nullable<T>(pub(super) Option<T>);

/// Hash ids, stored as plain numbers.
#[derive(Debug)]
pub(super) struct HashIds(pub(super) Vec<i64>);

impl<'de> Deserialize<'de> for HashIds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Ids;
        impl<'de> serde::de::Visitor<'de> for Ids {
            type Value = HashIds;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list of integers")
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<HashIds, A::Error> {
                let mut ids = Vec::new();
                while let Some(Int(id)) = seq.next_element()? {
                    ids.push(id);
                }
                Ok(HashIds(ids))
            }
        }
        deserializer.deserialize_seq(Ids)
    }
}

/// Reads a key that is there: null goes to the value's own reader, which refuses it unless the value may be null.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
