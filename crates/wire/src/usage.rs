//! The server's own token counts, under every name that servers give them (`metrics-and-exports` §1.7).

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

/// Token counts of one answer. `None` where the server said nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "UsageObject")]
pub struct Usage {
    /// Prompt tokens (ISL).
    pub prompt_tokens: Option<u64>,
    /// Output tokens, reasoning included (OSL).
    pub completion_tokens: Option<u64>,
    /// Prompt tokens taken from the server's prefix cache.
    pub cached_tokens: Option<u64>,
    /// Output tokens spent on reasoning.
    pub reasoning_tokens: Option<u64>,
}

impl Usage {
    /// No count at all: such a report does not replace an earlier one.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A `usage` object as it stands in an answer. Large, so it does not leave this module.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsageObject {
    prompt_tokens: Count,
    input_tokens: Count,
    #[serde(rename = "promptTokenCount")]
    prompt_token_count: Count,
    #[serde(rename = "inputTokens")]
    input_tokens_camel: Count,
    input_token_count: Count,

    completion_tokens: Count,
    output_tokens: Count,
    #[serde(rename = "candidatesTokenCount")]
    candidates_token_count: Count,
    #[serde(rename = "outputTokens")]
    output_tokens_camel: Count,
    generated_token_count: Count,

    prompt_tokens_details: Option<Details>,
    input_tokens_details: Option<Details>,
    completion_tokens_details: Option<Details>,
    output_tokens_details: Option<Details>,
    #[serde(rename = "thoughtsTokenCount")]
    thoughts_token_count: Count,

    cache_read_input_tokens: Count,
    prompt_cache_hit_tokens: Count,
    #[serde(rename = "cachedContentTokenCount")]
    cached_content_token_count: Count,
    #[serde(rename = "cacheReadInputTokens")]
    cache_read_input_tokens_camel: Count,
    cached_tokens: Count,
    cache_creation_input_tokens: Count,
    #[serde(rename = "cacheWriteInputTokens")]
    cache_write_input_tokens_camel: Count,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct Details {
    cached_tokens: Count,
    reasoning_tokens: Count,
}

/// Of several names for one count, the first of the table wins.
impl From<UsageObject> for Usage {
    fn from(told: UsageObject) -> Self {
        let details = |one: Option<Details>, other: Option<Details>| one.or(other).unwrap_or_default();
        let input = details(told.prompt_tokens_details, told.input_tokens_details);
        let output = details(told.completion_tokens_details, told.output_tokens_details);
        Self {
            prompt_tokens: told.prompt(),
            completion_tokens: first([
                told.completion_tokens,
                told.output_tokens,
                told.candidates_token_count,
                told.output_tokens_camel,
                told.generated_token_count,
            ]),
            cached_tokens: first([
                input.cached_tokens,
                told.cache_read_input_tokens,
                told.prompt_cache_hit_tokens,
                told.cached_content_token_count,
                told.cache_read_input_tokens_camel,
                told.cached_tokens,
            ]),
            reasoning_tokens: first([output.reasoning_tokens, told.thoughts_token_count]),
        }
    }
}

impl UsageObject {
    /// Prompt tokens. Where the count is called `input_tokens`, cached ones stand beside it and not in it.
    fn prompt(&self) -> Option<u64> {
        let apart = first([self.input_tokens, self.input_tokens_camel]);
        let whole = first([
            self.prompt_tokens,
            self.input_tokens,
            self.prompt_token_count,
            self.input_tokens_camel,
            self.input_token_count,
        ])?;
        if self.prompt_tokens.0.is_some() || apart != Some(whole) {
            return Some(whole);
        }
        let read = first([self.cache_read_input_tokens, self.cache_read_input_tokens_camel]);
        let written = first([
            self.cache_creation_input_tokens,
            self.cache_write_input_tokens_camel,
        ]);
        Some(
            whole
                .saturating_add(read.unwrap_or(0))
                .saturating_add(written.unwrap_or(0)),
        )
    }
}

fn first<const N: usize>(counts: [Count; N]) -> Option<u64> {
    counts.iter().find_map(|count| count.0)
}

/// A count that may be absent, null, or written as a whole double.
#[derive(Clone, Copy, Debug, Default)]
struct Count(Option<u64>);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountVisitor;
        impl Visitor<'_> for CountVisitor {
            type Value = Count;
            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("a token count or null")
            }
            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Count, E> {
                Ok(Count(Some(count)))
            }
            fn visit_f64<E: de::Error>(self, count: f64) -> Result<Count, E> {
                let whole = count.fract() == 0.0 && (0.0..9.0e15).contains(&count);
                Ok(Count(whole.then_some(count as u64)))
            }
            fn visit_i64<E: de::Error>(self, _negative: i64) -> Result<Count, E> {
                Ok(Count(None))
            }
            fn visit_unit<E: de::Error>(self) -> Result<Count, E> {
                Ok(Count(None))
            }
        }
        deserializer.deserialize_any(CountVisitor)
    }
}
