//! One event of a chat stream, or one whole chat reply, as the server wrote it.
//!
//! The structs borrow from the event and hold only what a measurement needs; every other key is read over. Nothing is
//! required: a chunk without `choices`, with `"choices":null`, with an empty list or without `object` is a chunk
//! all the same (`metrics-and-exports` §2.3, our rules).

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::usage::UsageObject;

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
    pub usage: Option<UsageObject>,
    /// Token counts under the name that Gemini-shaped gateways use.
    #[serde(rename = "usageMetadata")]
    pub usage_metadata: Option<UsageObject>,
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
    #[serde(borrow)]
    pub delta: Option<Delta<'a>>,
    /// The whole message, in a reply that was not streamed.
    #[serde(borrow)]
    pub message: Option<Delta<'a>>,
    /// Text of the completions endpoint.
    #[serde(borrow)]
    pub text: Option<Text<'a>>,
    /// Why the server stopped.
    #[serde(borrow)]
    pub finish_reason: Option<Text<'a>>,
}

/// Added output, or the whole of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Delta<'a> {
    /// Answer text.
    #[serde(borrow)]
    pub content: Option<Text<'a>>,
    /// Reasoning text, under its older name.
    #[serde(borrow)]
    pub reasoning_content: Option<Text<'a>>,
    /// Reasoning text, under its newer name.
    #[serde(borrow)]
    pub reasoning: Option<Text<'a>>,
    /// Calls of tools.
    #[serde(borrow)]
    pub tool_calls: Option<Vec<ToolCall<'a>>>,
}

/// Part of a tool call.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ToolCall<'a> {
    /// The function that is called.
    #[serde(borrow)]
    pub function: Option<FunctionCall<'a>>,
}

/// Name and arguments of a called function.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct FunctionCall<'a> {
    /// Its name.
    #[serde(borrow)]
    pub name: Option<Text<'a>>,
    /// Its arguments, JSON as text.
    #[serde(borrow)]
    pub arguments: Option<Text<'a>>,
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
        if filled(choice.text.as_ref()) {
            return Carries::Content;
        }
        match choice.delta.as_ref().or(choice.message.as_ref()) {
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

impl Delta<'_> {
    fn carries(&self) -> Carries {
        if filled(self.content.as_ref()) {
            return Carries::Content;
        }
        let calls = self.tool_calls.iter().flatten();
        let mut functions = calls.filter_map(|call| call.function.as_ref());
        if functions.any(|called| filled(called.name.as_ref()) || filled(called.arguments.as_ref())) {
            return Carries::ToolCall;
        }
        if filled(self.reasoning_content.as_ref()) || filled(self.reasoning.as_ref()) {
            return Carries::Reasoning;
        }
        Carries::Nothing
    }
}

fn filled(text: Option<&Text<'_>>) -> bool {
    text.is_some_and(|text| !text.0.is_empty())
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
