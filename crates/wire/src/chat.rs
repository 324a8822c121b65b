//! One event of a chat stream, or one whole chat reply, as the server wrote it.
//!
//! The structs borrow from the event, or hold no more than whether something was there; every other key is read over. Nothing is
//! required: a chunk without `choices`, with `"choices":null`, with an empty list or without `object` is a chunk
//! all the same (`metrics-and-exports` §2.3, our rules).

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::usage::Usage;

/// A `chat.completion.chunk`, a `chat.completion` or a `text_completion`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Chunk<'a> {
    /// Kind of object; `error` in the answers of older servers.
    #[serde(borrow)]
    pub object: Option<Text<'a>>,
    /// The first choice. We never ask for more than one, and aiperf 0.12.0 looks at no other either.
    #[serde(borrow, deserialize_with = "first_or_none")]
    pub choices: Option<Choice<'a>>,
    /// Token counts.
    pub usage: Option<Usage>,
    /// Token counts under the name that Gemini-shaped gateways use.
    #[serde(rename = "usageMetadata")]
    pub usage_metadata: Option<Usage>,
    /// An error object or text.
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
    /// Flat form of an error: its kind.
    #[serde(borrow)]
    pub error_type: Option<Text<'a>>,
    /// Flat form of an error: its text.
    #[serde(borrow)]
    pub error_message: Option<Text<'a>>,
}

/// One choice of a chunk.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Choice<'a> {
    /// What this chunk adds.
    pub delta: Option<Delta>,
    /// The whole message, in a reply that was not streamed.
    pub message: Option<Delta>,
    /// Text of the completions endpoint.
    pub text: Filled,
    /// Why the server stopped.
    #[serde(borrow)]
    pub finish_reason: Option<Text<'a>>,
}

/// Added output, or the whole of it. Whether there is some is all that a measurement asks, so the text itself is not kept:
/// structs that hold it are moved about for as long as their parsing takes.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Delta {
    /// Answer text.
    pub content: Filled,
    /// Reasoning text, under its older name.
    pub reasoning_content: Filled,
    /// Reasoning text, under its newer name.
    pub reasoning: Filled,
    /// Calls of tools.
    #[serde(deserialize_with = "any_call")]
    pub tool_calls: Filled,
}

/// Part of a tool call.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ToolCall {
    function: Option<FunctionCall>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FunctionCall {
    name: Filled,
    arguments: Filled,
}

/// What sort of output a chunk carries. A chunk that carries several is named after the first of content, tool call,
/// reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// No output: a role, an empty delta, a finish reason, token counts.
    Nothing,
    /// Answer text.
    Content,
    /// Reasoning and nothing else.
    Reasoning,
    /// A function name or arguments.
    ToolCall,
}

impl<'a> Chunk<'a> {
    /// Reads one event's data.
    ///
    /// # Errors
    /// When it is not a JSON object, or a key named here has another type than servers give it.
    pub fn parse(data: &'a str) -> Result<Self, serde_json::Error> {
        // A derived struct would also read itself from an array, element by element.
        if !data.trim_start().starts_with('{') {
            return Err(de::Error::custom("not a JSON object"));
        }
        serde_json::from_str(data)
    }

    /// What it carries (`metrics-and-exports` §1.3; `design` §3.2).
    pub fn carries(&self) -> Carries {
        let Some(choice) = &self.choices else {
            return Carries::Nothing;
        };
        match choice.delta.or(choice.message) {
            _ if choice.text.0 => Carries::Content,
            Some(delta) => delta.carries(),
            None => Carries::Nothing,
        }
    }

    /// The finish reason, when this chunk states one.
    pub fn finish_reason(&self) -> Option<&str> {
        let reason = self.choices.as_ref()?.finish_reason.as_ref()?;
        Some(&reason.0)
            .filter(|text| !text.is_empty())
            .map(|text| &**text)
    }
}

impl Delta {
    fn carries(self) -> Carries {
        if self.content.0 {
            Carries::Content
        } else if self.tool_calls.0 {
            Carries::ToolCall
        } else if self.reasoning_content.0 || self.reasoning.0 {
            Carries::Reasoning
        } else {
            Carries::Nothing
        }
    }
}

/// Whether a value holds anything: text that is not empty, or a list or object that is not. Null does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filled(pub bool);

impl<'de> Deserialize<'de> for Filled {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FilledVisitor;
        impl<'de> Visitor<'de> for FilledVisitor {
            type Value = Filled;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("text or null")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Filled, E> {
                Ok(Filled(!text.is_empty()))
            }
            fn visit_unit<E: de::Error>(self) -> Result<Filled, E> {
                Ok(Filled(false))
            }
            // Content in parts, arguments that are no text: not the protocol, but output all the same.
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Filled, A::Error> {
                let mut filled = false;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    filled = true;
                }
                Ok(Filled(filled))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Filled, A::Error> {
                let mut filled = false;
                while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                    filled = true;
                }
                Ok(Filled(filled))
            }
        }
        deserializer.deserialize_any(FilledVisitor)
    }
}

/// Whether any of the calls in a list has a name or arguments.
fn any_call<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Filled, D::Error> {
    let calls = Option::<Vec<ToolCall>>::deserialize(deserializer)?;
    let mut functions = calls.iter().flatten().filter_map(|call| call.function.as_ref());
    Ok(Filled(
        functions.any(|function| function.name.0 || function.arguments.0),
    ))
}

/// JSON text, borrowed unless it has escapes (serde's own `Cow` inside an `Option` would always copy).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("text")
            }
            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

/// The first element of a list, `None` for an empty list or null; the others are read over.
fn first_or_none<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct FirstVisitor<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for FirstVisitor<T> {
        type Value = Option<T>;
        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("a list or null")
        }
        fn visit_unit<E: de::Error>(self) -> Result<Option<T>, E> {
            Ok(None)
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Option<T>, A::Error> {
            let first = list.next_element::<Option<T>>()?.flatten();
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(first)
        }
    }
    deserializer.deserialize_any(FirstVisitor(PhantomData))
}
