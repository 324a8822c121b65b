//! What a request may say, what is kept about it, and the life of a server.

use std::time::Duration;

use sha2::{Digest, Sha256};
use sim::{Config, Outcome, Server};

use crate::client::{CHAT, COMPLETIONS, Connection, chat, eventually, get, post, start};

fn completion(rest: &str) -> String {
    format!(
        r#"{{"prompt":"once upon a time","stream":true,"stream_options":{{"include_usage":true}}{rest}}}"#
    )
}

fn finish(server: &Server, path: &str, body: &str) -> (u64, String) {
    let answer = post(server, path, body);
    assert_eq!(answer.status, 200, "{}", answer.body());
    let tokens = answer.tokens();
    let usage = answer.usage().unwrap();
    let completion_tokens = usage["completion_tokens"].as_u64().unwrap();
    assert_eq!(tokens.len() as u64, completion_tokens, "one event a token");
    let reason = &tokens.last().unwrap()["choices"][0]["finish_reason"];
    (completion_tokens, reason.as_str().unwrap().to_owned())
}

#[test]
fn limits_are_obeyed() {
    let mut config = Config::instant();
    config.max_model_len = 2000;
    config.natural_output_tokens = 50.0;
    let server = start(config);
    let exact = [
        (CHAT, chat("a", r#","max_tokens":7,"ignore_eos":true"#), 7),
        (
            CHAT,
            chat("b", r#","max_completion_tokens":9,"ignore_eos":true"#),
            9,
        ),
        (
            CHAT,
            chat(
                "c",
                r#","max_tokens":7,"max_completion_tokens":9,"ignore_eos":true"#,
            ),
            9,
        ),
        (CHAT, chat("d", r#","ignore_eos":true"#), 2000 - 9),
        (COMPLETIONS, completion(r#","ignore_eos":true"#), 16),
        (
            COMPLETIONS,
            completion(r#","max_tokens":33,"ignore_eos":true"#),
            33,
        ),
    ];
    for (path, body, expected) in exact {
        assert_eq!(
            finish(&server, path, &body),
            (expected, "length".to_owned()),
            "{body}"
        );
    }
    let mut stops = 0;
    let mut lengths = Vec::new();
    for n in 0..40 {
        let (tokens, reason) = finish(
            &server,
            CHAT,
            &chat(&format!("question {n}"), r#","max_tokens":60"#),
        );
        stops += u32::from(reason == "stop");
        assert!(reason == "stop" || tokens == 60);
        lengths.push(tokens);
        let (tokens, _) = finish(
            &server,
            CHAT,
            &chat(&format!("at least {n}"), r#","max_tokens":60,"min_tokens":40"#),
        );
        assert!(tokens >= 40);
    }
    assert!((15..40).contains(&stops), "{stops} of 40 ended by themselves");
    lengths.sort_unstable();
    lengths.dedup();
    assert!(lengths.len() > 10, "{lengths:?}");
}

#[test]
fn what_does_not_fit_is_answered_400_in_vllm_s_words() {
    let mut config = Config::instant();
    config.max_model_len = 100;
    let server = start(config);
    let text = "x".repeat(50);
    // 50 bytes and 8 template tokens leave 42.
    assert_eq!(
        post(&server, CHAT, &chat(&text, r#","max_tokens":42"#)).status,
        200
    );
    let cases = [
        (
            chat(&text, r#","max_tokens":43"#),
            "maximum context length is 100 tokens. However, you requested 43 output tokens and your prompt contains at least 58 input tokens",
        ),
        (
            chat(&"x".repeat(93), r#","max_tokens":1"#),
            "your prompt contains at least 101 input tokens",
        ),
        (
            chat(&text, r#","max_tokens":101"#),
            "max_tokens=101 cannot be greater than max_model_len=100",
        ),
        (
            chat(&text, r#","max_tokens":0"#),
            "max_tokens must be at least 1, got 0",
        ),
        (
            chat(&text, r#","max_tokens":5,"min_tokens":6"#),
            "min_tokens must be less than or equal to max_tokens=5, got 6",
        ),
        (chat(&text, r#","max_tokens":5,"n":0"#), "0 is not from 1 to 128"),
        (chat(&text, r#","max_tokens":"many""#), "invalid type"),
        ("{\"stream\":true}".to_owned(), "at least one message"),
        ("[".to_owned(), "json_invalid"),
    ];
    for (body, expected) in cases {
        let answer = post(&server, CHAT, &body);
        assert_eq!(answer.status, 400, "{body}");
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(expected), "{message}");
        assert_eq!(answer.json()["error"]["code"], 400);
        assert_eq!(server.log().last().unwrap().outcome, Outcome::Refused(400));
    }
}

#[test]
fn same_seed_same_answers() {
    let texts = |seed| {
        let mut config = Config::instant();
        config.seed = seed;
        let server = start(config);
        [1, 2, 3].map(|n| {
            let answer = post(&server, CHAT, &chat(&format!("say {n}"), ""));
            let tokens = answer.tokens();
            let text = |token: &serde_json::Value| {
                token["choices"][0]["delta"]["content"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            };
            tokens.iter().map(text).collect::<String>()
        })
    };
    assert_eq!(texts(1), texts(1));
    assert_ne!(texts(1), texts(2));
    let [a, b, _] = texts(1);
    assert_ne!(a, b);
}

#[test]
fn content_may_be_parts_tools_count_and_ids_are_tokens() {
    let server = start(Config::instant());
    let tokens = |body: &str, path: &str| {
        post(&server, path, body).json()["usage"]["prompt_tokens"]
            .as_u64()
            .unwrap()
    };
    let whole = tokens(
        r#"{"messages":[{"role":"user","content":"abcdef"}],"max_tokens":1}"#,
        CHAT,
    );
    assert_eq!(whole, 6 + 5 + 3);
    let parts = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"abc"},{"type":"text","text":"def"}]}],"max_tokens":1}"#;
    assert_eq!(tokens(parts, CHAT), whole);
    let tools = r#"{"messages":[{"role":"user","content":"abcdef"}],"tools":[{"type":"x"}],"max_tokens":1}"#;
    assert_eq!(tokens(tools, CHAT), whole + 14 + 5);
    let calls = r#"{"messages":[{"role":"user","content":"abcdef"},{"role":"assistant","content":null,"tool_calls":[]}],"max_tokens":1}"#;
    assert_eq!(tokens(calls, CHAT), whole + 2 + 5);
    assert_eq!(tokens(r#"{"prompt":"abcdef","max_tokens":1}"#, COMPLETIONS), 6);
    assert_eq!(
        tokens(r#"{"prompt":[100,200,151000],"max_tokens":1}"#, COMPLETIONS),
        3
    );
    let ids = post(&server, "/tokenize", r#"{"prompt":"abc"}"#).json();
    assert_eq!(ids["tokens"], serde_json::json!([97, 98, 99]));
}

#[test]
fn the_log_says_what_came_and_what_left() {
    let mut config = Config::paced(1_000_000);
    config.log.keep_bodies = true;
    config.log.keep_chunk_times = true;
    config.log.entries_max = 3;
    let server = start(config);
    let mut connection = Connection::open(&server);
    let body = chat("hello", r#","max_tokens":5,"ignore_eos":true"#);
    for n in 0..2 {
        let headers =
            format!("User-Agent: t\r\nX-Request-ID: r{n}\r\nX-Correlation-ID: c\r\nAccept: */*\r\n");
        connection.send("POST", CHAT, &headers, &body);
        let answer = connection.answer();
        assert!(answer.events()[0].contains(&format!(r#""id":"chatcmpl-r{n}""#)));
    }
    get(&server, "/health");
    get(&server, "/version");
    let log = server.log();
    assert_eq!((log.len(), server.log_dropped()), (3, 1));
    let seen = &log[1];
    assert_eq!(
        (seen.connection, seen.nth, seen.outcome),
        (1, 2, Outcome::Answered)
    );
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", CHAT));
    assert_eq!(seen.x_request_id.as_deref(), Some("r1"));
    assert_eq!(seen.x_correlation_id.as_deref(), Some("c"));
    let names: Vec<_> = seen.headers.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "host",
        "user-agent",
        "x-request-id",
        "x-correlation-id",
        "accept",
        "content-type",
        "content-length",
    ];
    assert_eq!(names, expected);
    assert_eq!(seen.body.as_deref(), Some(body.as_bytes()));
    assert_eq!(seen.body_bytes, body.len());
    assert_eq!(seen.body_sha256[..], Sha256::digest(body.as_bytes())[..]);
    assert_eq!(
        (seen.prompt_tokens, seen.max_tokens, seen.output_tokens),
        (13, 5, 5)
    );
    let times = [
        Some(seen.arrived_ns),
        Some(seen.body_read_ns),
        seen.planned_first_token_ns,
        seen.first_token_ns,
        seen.last_token_ns,
        seen.ended_ns,
    ];
    let times: Vec<u64> = times.map(Option::unwrap).to_vec();
    assert!(times.is_sorted(), "{times:?}");
    assert!(times[4] - times[2] >= 4_000_000, "five tokens of one step each");
    assert_eq!(seen.chunks.iter().map(|(_, tokens)| tokens).sum::<u32>(), 5);
    assert_eq!(
        (log[2].connection, log[2].nth, log[2].path.as_str()),
        (2, 0, "/health")
    );
}

#[test]
fn a_client_that_leaves_frees_its_place() {
    let server = start(Config::paced(1_000_000));
    for is_streamed in [true, false] {
        let mut connection = Connection::open(&server);
        let body = chat("hello", r#","max_tokens":100000,"ignore_eos":true"#);
        let body = if is_streamed {
            body
        } else {
            body.replace("true,\"stream_options\":{\"include_usage\":true}", "false")
        };
        connection.send("POST", CHAT, "", &body);
        eventually("it runs", || server.load() == (1, 0));
        drop(connection);
        eventually("it is gone", || server.load() == (0, 0));
        eventually("the log has it", || {
            server.log().last().unwrap().outcome == Outcome::Disconnected
        });
    }
    assert!(
        server
            .metrics()
            .contains(r#"finished_reason="abort",model_name="sim"} 2.0"#)
    );
}

#[test]
fn ttft_of_a_served_request_grows_with_its_uncached_tokens() {
    let mut config = Config::demo();
    config.engine.jitter = 0.0;
    let server = start(config);
    let long = "abcdefghij".repeat(1500);
    let other = "zyxwvutsrq".repeat(300);
    for text in [&long, &other, &long] {
        post(&server, CHAT, &chat(text, r#","max_tokens":2,"ignore_eos":true"#));
    }
    let log = server.log();
    let ttft_ms: Vec<_> = log
        .iter()
        .map(|seen| (seen.planned_first_token_ns.unwrap() - seen.arrived_ns) / 1_000_000)
        .collect();
    // 15,000 tokens in four steps; 3,000 in one; the first again, all but its last block cached.
    assert!(
        ttft_ms[0] >= 150 + 28 && ttft_ms[1] >= 30 + 7 && ttft_ms[2] >= 7,
        "{ttft_ms:?}"
    );
    assert!(ttft_ms[0] > ttft_ms[2], "{ttft_ms:?}");
    assert_eq!(log[2].cached_tokens, 15_000 / 16 * 16);
}

#[test]
fn keys_methods_and_long_bodies_are_checked() {
    let mut config = Config::instant();
    config.api_key = Some("secret".to_owned());
    config.body_bytes_max = 1000;
    let server = start(config);
    let ask = |headers: &str, method: &str, path: &str, body: &str| {
        let mut connection = Connection::open(&server);
        connection.send(method, path, headers, body);
        connection.head().0
    };
    let key = "Authorization: Bearer secret\r\n";
    let body = chat("a", r#","max_tokens":1"#);
    let cases = [
        (ask("", "POST", CHAT, &body), 401),
        (ask("Authorization: Bearer other\r\n", "POST", CHAT, &body), 401),
        (ask(key, "POST", CHAT, &body), 200),
        (ask("", "GET", "/health", ""), 200),
        (ask("", "GET", "/ping", ""), 200),
        (ask("", "HEAD", "/metrics", ""), 200),
        (ask(key, "GET", CHAT, ""), 405),
        (ask(key, "POST", "/v1/none", ""), 404),
        (ask(key, "POST", CHAT, &chat(&"x".repeat(2000), "")), 413),
    ];
    for (index, (found, expected)) in cases.into_iter().enumerate() {
        assert_eq!(found, expected, "case {index}");
    }
}

#[test]
fn many_streams_at_once_are_all_served_within_the_batch() {
    let mut config = Config::paced(500_000);
    config.engine.max_num_seqs = 16;
    let server = start(config);
    let mut connections: Vec<_> = (0..64).map(|_| Connection::open(&server)).collect();
    for (n, connection) in connections.iter_mut().enumerate() {
        let body = chat(&format!("number {n}"), r#","max_tokens":20,"ignore_eos":true"#);
        connection.send("POST", CHAT, "", &body);
    }
    for connection in &mut connections {
        assert_eq!(connection.answer().tokens().len(), 20);
        assert!(server.load().0 <= 16);
    }
}

#[tokio::test]
async fn shutdown_lets_answers_end_and_frees_the_port() {
    let server = start(Config::paced(10_000_000));
    let addr = server.addr();
    let mut connection = Connection::open(&server);
    connection.send(
        "POST",
        CHAT,
        "",
        &chat("hello", r#","max_tokens":100,"ignore_eos":true"#),
    );
    eventually("it runs", || server.load() == (1, 0));
    let reading = std::thread::spawn(move || connection.answer());
    server.shutdown().await;
    assert_eq!(reading.join().unwrap().tokens().len(), 100);
    assert!(std::net::TcpStream::connect(addr).is_err());
    let mut config = Config::instant();
    config.listen = addr;
    let again = start(config);
    let refused = Server::start(Config {
        listen: addr,
        ..Config::instant()
    });
    assert!(matches!(refused, Err(sim::Error::Listen { .. })));
    drop(again);
    eventually("the port is free", || {
        std::net::TcpStream::connect_timeout(&addr, Duration::from_secs(1)).is_err()
    });
}
