//! A streamed answer in vLLM's shape, and the ways to read it that turnmill is compared with.

use serde::Deserialize;

/// Words that the answer's chunks carry in turn.
const WORDS: [&str; 8] = [
    " the",
    " lane",
    "\\n",
    " takes",
    " turn",
    " ä",
    " (window",
    " forestry",
];

/// Events of an answer of `chunks` content chunks, one text an event, `[DONE]` included.
pub(crate) fn events(chunks: usize) -> Vec<String> {
    let chunk = |delta: &str, reason: &str| {
        format!(
            r#"data: {{"id":"chatcmpl-a23a49028e566d71","object":"chat.completion.chunk","created":1796072230,"model":"some-org/Some-Model-32B","choices":[{{"index":0,"delta":{{{delta}}},"logprobs":null,"finish_reason":{reason},"token_ids":null}}]}}"#
        ) + "\n\n"
    };
    let mut events = vec![chunk(r#""role":"assistant","content":"""#, "null")];
    events.extend((0..chunks).map(|n| chunk(&format!(r#""content":"{}""#, WORDS[n % WORDS.len()]), "null")));
    events.push(chunk(r#""content":"""#, r#""length""#));
    events.push(
        format!(
            r#"data: {{"id":"chatcmpl-a23a49028e566d71","object":"chat.completion.chunk","created":1796072230,"model":"some-org/Some-Model-32B","choices":[],"usage":{{"prompt_tokens":9000,"total_tokens":{},"completion_tokens":{chunks}}}}}"#,
            9000 + chunks
        ) + "\n\n",
    );
    events.push("data: [DONE]\n\n".to_owned());
    events
}

/// A chunk as a program that uses the usual libraries would declare it.
#[derive(Deserialize)]
pub(crate) struct UsualChunk {
    choices: Vec<UsualChoice>,
}

#[derive(Deserialize)]
struct UsualChoice {
    delta: UsualDelta,
}

#[derive(Deserialize)]
struct UsualDelta {
    content: Option<String>,
}

/// Whether an event's data is a content chunk, as such a program would find out.
pub(crate) fn has_content(data: &str) -> bool {
    serde_json::from_str::<UsualChunk>(data).is_ok_and(|chunk| {
        let first = chunk.choices.first();
        first
            .and_then(|choice| choice.delta.content.as_ref())
            .is_some_and(|text| !text.is_empty())
    })
}
