//! Our answers beside those of a real vLLM 0.32 to the same requests: keys, their order, order of events, error texts.

use std::fmt;
use std::path::Path;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use sim::{Config, Server};

use crate::client::{Answer, CHAT, COMPLETIONS, get, post, start};

/// JSON with its keys in order and its values reduced to their kind; texts that are part of the protocol stay.
struct Skeleton(String);

impl<'de> Deserialize<'de> for Skeleton {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(Reduce)
    }
}

struct Reduce;

impl<'de> Visitor<'de> for Reduce {
    type Value = Skeleton;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Skeleton, E> {
        Ok(Skeleton("null".to_owned()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Skeleton, E> {
        Ok(Skeleton(value.to_string()))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Skeleton, E> {
        Ok(Skeleton("0".to_owned()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Skeleton, E> {
        let is_protocol = ["length", "assistant", "model", "list", "vllm"].contains(&text)
            || text.contains("completion")
            || text.contains("permission");
        Ok(Skeleton(if is_protocol {
            format!("{text:?}")
        } else {
            "\"\"".to_owned()
        }))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Skeleton, A::Error> {
        let mut all = Vec::new();
        while let Some(Skeleton(item)) = items.next_element()? {
            all.push(item);
        }
        Ok(Skeleton(format!("[{}]", all.join(","))))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Skeleton, A::Error> {
        let mut all = Vec::new();
        while let Some((key, Skeleton(value))) = entries.next_entry::<String, Skeleton>()? {
            all.push(format!("{key}:{value}"));
        }
        Ok(Skeleton(format!("{{{}}}", all.join(","))))
    }
}

fn skeleton(json: &str) -> String {
    match serde_json::from_str::<Skeleton>(json) {
        Ok(Skeleton(reduced)) => reduced,
        Err(_) => json.to_owned(),
    }
}

fn like_the_real_one() -> Server {
    let mut config = Config::paced(500_000);
    "qwen2-tok".clone_into(&mut config.model);
    config.natural_output_tokens = 1e9;
    start(config)
}

/// Request body (empty for a GET) and answer (status, body) of the capture called `name`.
fn capture(name: &str) -> Option<(String, u16, String)> {
    let answer = testkit::shared(&format!("oracle/vllm-0.32/{name}.response.txt"))?;
    let request = answer.with_file_name(format!("{name}.request.json"));
    let text = |path: &Path| String::from_utf8(testkit::bytes(path)).unwrap();
    let request = if request.exists() {
        text(&request)
    } else {
        String::new()
    };
    let answer = text(&answer);
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .or_else(|| answer.split_once("\n\n"))
        .unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Some((request, status, body.to_owned()))
}

fn events(body: &str) -> Vec<String> {
    let events = body
        .split("\n\n")
        .filter_map(|event| event.trim().strip_prefix("data: "));
    events.map(skeleton).collect()
}

#[test]
fn streams_have_the_real_events_key_by_key() {
    let server = like_the_real_one();
    let cases = [
        ("chat-stream-usage", CHAT),
        ("chat-stream-usage-again", CHAT),
        ("chat-stream-plain", CHAT),
        ("chat-stream-continuous", CHAT),
        ("chat-one-token", CHAT),
        ("chat-cached", CHAT),
        ("chat-n2", CHAT),
        ("error-role", CHAT),
        ("error-unknown-field", CHAT),
        ("completions-token-ids", COMPLETIONS),
    ];
    for (name, path) in cases {
        let Some((request, status, body)) = capture(name) else {
            return;
        };
        let ours = post(&server, path, &request);
        assert_eq!(ours.status, status, "{name}");
        assert!(ours.has_header("content-type: text/event-stream; charset=utf-8"));
        let (mut expected, mut found) = (events(&body), events(&ours.body()));
        if name == "chat-n2" {
            // Which choice comes first in a step is chance.
            expected.sort();
            found.sort();
        }
        assert_eq!(found, expected, "{name}");
    }
}

type AskFor = fn(&Server, &str) -> Answer;

#[test]
fn whole_answers_and_pages_have_the_real_keys() {
    let server = like_the_real_one();
    let cases: [(&str, AskFor); 4] = [
        ("chat-nonstream", |server, body| post(server, CHAT, body)),
        ("models", |server, _| get(server, "/v1/models")),
        ("version", |server, _| get(server, "/version")),
        ("error-not-found", |server, _| get(server, "/v1/nothing")),
    ];
    for (name, ask) in cases {
        let Some((request, status, body)) = capture(name) else {
            return;
        };
        let ours = ask(&server, &request);
        assert_eq!(ours.status, status, "{name}");
        assert!(ours.has_header("content-type: application/json"));
        assert_eq!(skeleton(&ours.body()), skeleton(&body), "{name}");
    }
}

#[test]
fn errors_have_the_real_texts() {
    let server = like_the_real_one();
    for name in ["error-max-tokens", "error-zero-tokens", "error-unknown-model"] {
        let Some((request, status, body)) = capture(name) else {
            return;
        };
        let ours = post(&server, CHAT, &request);
        assert_eq!((ours.status, ours.body()), (status, body), "{name}");
    }
    let Some((_, status, body)) = capture("error-prompt-too-long") else {
        return;
    };
    let long = crate::client::chat(&"x".repeat(200_000), r#","max_tokens":4"#);
    let ours = post(&server, CHAT, &long);
    assert_eq!((ours.status, ours.body()), (status, body));
    let Some((request, status, body)) = capture("error-bad-json") else {
        return;
    };
    let ours = post(&server, CHAT, &request);
    let theirs: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(ours.status, status);
    assert_eq!(skeleton(&ours.body()), skeleton(&body));
    assert_eq!(ours.json()["error"]["param"], theirs["error"]["param"]);
}

#[test]
fn the_role_leaves_with_the_first_token_and_then_each_token_alone() {
    let server = start(Config::paced(100_000_000));
    let answer = post(
        &server,
        CHAT,
        &crate::client::chat("hello", r#","max_tokens":4,"ignore_eos":true"#),
    );
    let per_write: Vec<_> = answer
        .chunks
        .iter()
        .map(|chunk| chunk.matches("data: ").count())
        .collect();
    assert_eq!(per_write, [2, 1, 1, 1, 1, 1]);
}
