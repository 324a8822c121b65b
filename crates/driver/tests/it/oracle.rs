//! Answers that a vLLM 0.32 server really gave, sent again over a socket in several framings.

use record::request::Outcome;

use crate::script::{LAST_CHUNK, Server, Step, client, send, write};

/// Head (without the framing's own headers) and body of a recorded answer.
fn recorded(name: &str) -> Option<(String, String)> {
    let file = testkit::shared(&format!("oracle/vllm-0.32/{name}.response.txt"))?;
    let text = String::from_utf8(testkit::bytes(&file))
        .unwrap()
        .replace("\r\n", "\n");
    let (head, body) = text.split_once("\n\n").expect("a head");
    let head: Vec<&str> = head
        .lines()
        .filter(|line| !line.starts_with("transfer-encoding") && !line.starts_with("content-length"))
        .collect();
    Some((head.join("\r\n"), body.to_owned()))
}

/// In chunks of `size` bytes, a write each.
fn chunked(head: &str, body: &str, size: usize) -> Vec<Step> {
    let mut steps = vec![
        Step::Request,
        write(&[head, "\r\ntransfer-encoding: chunked\r\n\r\n"]),
    ];
    for piece in body.as_bytes().chunks(size) {
        let framed = [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
        steps.push(Step::Write(framed));
    }
    steps.push(write(&[LAST_CHUNK]));
    steps
}

#[tokio::test]
async fn streams() {
    for (name, contents, tokens) in [
        ("chat-stream-usage", 12, Some((40, 12, 0))),
        ("chat-stream-continuous", 6, Some((40, 6, 0))),
        ("chat-stream-plain", 6, None),
        ("chat-cached", 3, Some((778, 3, 768))),
        ("chat-one-token", 1, Some((40, 1, 0))),
        ("chat-nonstream", 1, Some((40, 6, 0))),
    ] {
        let Some((head, body)) = recorded(name) else {
            return;
        };
        let length = format!("\r\ncontent-length: {}\r\n\r\n", body.len());
        let scripts = vec![
            chunked(&head, &body, 7),
            chunked(&head, &body, 300),
            chunked(&head, &body, body.len()),
            vec![Step::Request, write(&[&head, &length, &body])],
        ];
        for script in scripts {
            let record = send(&client(&Server::start(vec![script]))).await;
            assert_eq!(record.outcome, Outcome::Ok, "{name}: {record:#?}");
            assert_eq!(record.chunks.len(), contents, "{name}");
            let usage = record.usage;
            let reported = usage
                .prompt_tokens
                .zip(usage.completion_tokens)
                .zip(usage.cached_tokens);
            assert_eq!(
                reported.map(|((prompt, completion), cached)| (prompt, completion, cached)),
                tokens,
                "{name}"
            );
            assert_eq!(record.finish_reason.as_deref(), Some("length"), "{name}");
            assert_eq!(record.response_bytes, body.len() as u64, "{name}");
        }
    }
}

#[tokio::test]
async fn errors() {
    for (name, status, outcome, text) in [
        (
            "error-prompt-too-long",
            400,
            Outcome::Overflow,
            "maximum context length is 131072",
        ),
        (
            "error-max-tokens",
            400,
            Outcome::Failed,
            "max_tokens=200000 cannot be greater",
        ),
        ("error-zero-tokens", 400, Outcome::Failed, "must be at least 1"),
        ("error-bad-json", 400, Outcome::Failed, "JSON decode error"),
        ("error-unknown-model", 404, Outcome::Failed, "does not exist"),
        ("error-not-found", 404, Outcome::Failed, "Not Found"),
    ] {
        let Some((head, body)) = recorded(name) else {
            return;
        };
        let length = format!("\r\ncontent-length: {}\r\n\r\n", body.len());
        let script = vec![Step::Request, write(&[&head, &length, &body])];
        let record = send(&client(&Server::start(vec![script]))).await;
        assert_eq!(record.http_status, Some(status), "{name}");
        assert_eq!(record.outcome, outcome, "{name}");
        assert!(
            record.error.as_deref().unwrap().contains(text),
            "{name}: {record:?}"
        );
    }
}
