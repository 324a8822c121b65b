//! What is recorded: rows, sessions, structure; and what never is.

use std::net::SocketAddr;
use std::path::Path;

use capture::Finished;
use serde_json::{Value, json};
use testkit::TempDir;
use trace::TimeUnit;
use trace::verify::{Reference, verify};

use crate::rig::{Rig, cell, chat, exchange, lines, rows, scripted, simulated};

/// Whether a trace is what its binding says, sidecar included.
pub(crate) fn assert_valid(trace: &Finished) {
    let binding = std::fs::read_to_string(trace.paths.binding()).unwrap();
    let digest = |key: &str| {
        let found = binding
            .lines()
            .filter_map(|line| line.trim().strip_prefix("sha256: "))
            .map(|hex| hex.trim_matches('"').to_owned());
        found
            .clone()
            .nth(usize::from(key == "blocks"))
            .unwrap_or_else(|| panic!("no digest of {key}"))
    };
    let verified = verify(&Reference {
        data: trace.paths.data(),
        sha256: Some(digest("data")),
        rows: Some(trace.rows),
        trace_version: 3,
        time_unit: TimeUnit::Microsecond,
        token_blocks: Some((trace.paths.token_blocks(), digest("blocks"))),
    })
    .unwrap();
    assert!(verified.problems.is_ok(), "{:?}", verified.problems);
    assert_eq!(verified.rows, trace.rows);
    let (_, problems) = spec::read(&binding, None);
    assert!(problems.is_empty(), "{problems:?}");
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn turn(addr: SocketAddr, messages: &[Value], headers: &str) -> String {
    let body = json!({"model": "sim", "messages": messages, "max_tokens": 7, "ignore_eos": true, "stream": true,
        "stream_options": {"include_usage": true}});
    chat(addr, headers, &body)
}

#[test]
fn conversations_become_sessions_and_share_their_blocks() {
    let server = simulated();
    let mut rig = Rig::new(&server.url());
    let system = json!({"role": "system", "content": "s".repeat(1_000)});
    let mut conversations = [vec![system.clone(), user("one")], vec![system, user("two")]];
    for round in 0..3 {
        for (index, messages) in conversations.iter_mut().enumerate() {
            turn(rig.addr(), messages, "");
            messages.push(json!({"role": "assistant", "content": format!("answer {index} {round}")}));
            messages.push(user(&format!("question {round} {}", "x".repeat(300))));
        }
    }
    let traces = rig.stop();
    assert_valid(&traces[0]);
    assert_eq!((traces[0].rows, traces[0].sessions), (6, 2));
    let rows = rows(&traces[0].paths.data());
    for (index, row) in rows.iter().enumerate() {
        let seen = server.log()[index].clone();
        assert_eq!(cell(row, "round_index"), (index / 2).to_string());
        assert_eq!(cell(row, "session_id"), cell(&rows[index % 2], "session_id"));
        assert_eq!(cell(row, "input_tokens"), seen.prompt_tokens.to_string());
        assert_eq!(cell(row, "server_input_tokens"), seen.prompt_tokens.to_string());
        assert_eq!(
            (
                cell(row, "output_tokens"),
                cell(row, "status"),
                cell(row, "finish_reason")
            ),
            ("7", "ok", "length")
        );
        assert_eq!(cell(row, "streaming"), "true");
    }
    let blocks = lines(&traces[0].paths.token_blocks());
    let ids = |request: usize| blocks[request + 1]["ids"].as_array().unwrap().clone();
    let shared = |one: usize, other: usize| {
        ids(one)
            .iter()
            .zip(&ids(other))
            .take_while(|(a, b)| a == b)
            .count()
    };
    let full = |request: usize| blocks[request + 1]["tokens"].as_u64().unwrap() as usize / 64;
    assert_eq!((shared(0, 2), shared(2, 4)), (full(0), full(2)));
    assert_eq!(shared(0, 1), 1_005 / 64, "the system message");
}

#[test]
fn headers_name_sessions_and_parents() {
    let server = simulated();
    let mut rig = Rig::with(&server.url(), |options| {
        options.session_header = Some("X-Session".to_owned());
        options.parent_header = Some("X-Parent".to_owned());
    });
    turn(
        rig.addr(),
        &[user("a")],
        "X-Session: root, one\r\nX-Request-ID: id-1\r\n",
    );
    turn(
        rig.addr(),
        &[user("b")],
        "X-SESSION: child\r\nX-Parent: root, one\r\n",
    );
    turn(rig.addr(), &[user("c")], "X-Session: root, one\r\n");
    let traces = rig.stop();
    assert_valid(&traces[0]);
    let rows = rows(&traces[0].paths.data());
    let sessions: Vec<_> = rows
        .iter()
        .map(|row| (cell(row, "session_id"), cell(row, "round_index")))
        .collect();
    assert_eq!(sessions, [("root, one", "0"), ("child", "0"), ("root, one", "1")]);
    assert_eq!(cell(&rows[0], "x_request_id"), "id-1");
    let trees = lines(&traces[0].paths.weka());
    let kinds: Vec<_> = trees[0]["requests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["type"].clone())
        .collect();
    assert_eq!(
        (trees.len(), kinds),
        (1, vec![json!("s"), json!("subagent"), json!("s")])
    );
}

const SECRET: &str = "sk-verysecret-0123456789";

fn every_byte(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.display().to_string(), std::fs::read(&path).unwrap()))
        .collect()
}

fn assert_nowhere(folder: &Path, what: &str) {
    for (name, bytes) in every_byte(folder) {
        let found = bytes.windows(what.len()).any(|window| window == what.as_bytes());
        assert!(!found, "{what} is in {name}");
    }
}

#[test]
fn keys_are_never_written_nor_is_text_unless_asked_for() {
    // An answer that quotes key and prompt, as servers do when they complain.
    let (server, _seen) = scripted(
        &[b"HTTP/1.1 401 No\r\nContent-Length: 114\r\n\r\n{\"error\":{\"message\":\"wrong key sk-verysecret-0123456789 for: the prompt text\",\"type\":\"auth\",\"code\":\"invalid_key\"}}      "],
        false,
    );
    let request = |key_header: &str| {
        let body = json!({"messages": [user(&format!("the prompt text {SECRET} END"))], "model": format!("m-{SECRET}")}).to_string();
        let body = body.replace(" END\"", "\"");
        let body = format!("{},\"x\":\"END\"}}", &body[..body.len() - 1]);
        format!(
            "POST /v1/chat/completions?key={SECRET} HTTP/1.1\r\nHost: x\r\n{key_header}: Bearer {SECRET}\r\nX-Request-ID: {SECRET}\r\n\
             X-Session: {SECRET}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    for keep_text in [false, true] {
        for header in ["Authorization", "x-api-key"] {
            let mut rig = Rig::with(&format!("http://{server}"), |options| {
                options.keep_text = keep_text;
                options.session_header = Some("x-session".to_owned());
            });
            let answer = exchange(rig.addr(), request(header).as_bytes());
            assert!(
                answer
                    .windows(SECRET.len())
                    .any(|window| window == SECRET.as_bytes()),
                "forwarded unchanged"
            );
            let out = rig.out();
            let traces = rig.stop();
            assert_valid(&traces[0]);
            assert_nowhere(&out, SECRET);
            let message = cell(&rows(&traces[0].paths.data())[0], "error_message").to_owned();
            assert!(message.starts_with("HTTP 401: auth"), "{message}");
            assert_eq!(traces[0].paths.text().exists(), keep_text);
            if !keep_text {
                assert_nowhere(&out, "the prompt text");
            }
        }
    }
}

#[test]
fn a_header_with_keys_names_no_sessions() {
    let folder: TempDir = testkit::tempdir().unwrap();
    let options = capture::Options {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        upstream: "http://127.0.0.1:1".to_owned(),
        out: folder.path().to_path_buf(),
        session_header: Some("X-API-Key".to_owned()),
        parent_header: None,
        keep_text: false,
        chunk_times: false,
        rotation: capture::Rotation {
            bytes: 1,
            after_ns: None,
        },
        trust: driver::tls::TlsOptions::default(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let refused = runtime
        .block_on(capture::Capture::start(&options, driver::clock::Clock::start()))
        .err()
        .unwrap();
    assert!(refused.to_string().contains("x-api-key"), "{refused}");
}

/// One answer of a protocol, and what its row should say: status, tokens in and out, chunks, finish reason.
fn check_answer(path: &str, request: &Value, answer: &'static [&'static [u8]], expected: [&str; 6]) {
    let (server, _seen) = scripted(answer, false);
    let mut rig = Rig::new(&format!("http://{server}"));
    let mut request = request.to_string();
    request.truncate(request.len() - 1);
    let body = format!("{request},\"x\":\"END\"}}");
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    exchange(rig.addr(), format!("{head}{body}").as_bytes());
    let traces = rig.stop();
    assert_valid(&traces[0]);
    let rows = rows(&traces[0].paths.data());
    let names = [
        "status",
        "server_input_tokens",
        "output_tokens",
        "num_chunks",
        "finish_reason",
        "error_message",
    ];
    assert_eq!(names.map(|name| cell(&rows[0], name)), expected, "{path}");
}

#[test]
fn answers_of_four_protocols() {
    let ask = json!({"model": "m", "stream": true, "messages": [user("hi")]});
    check_answer(
        "/v1/chat/completions",
        &ask,
        &[
            b"HTTP/1.1 200 OK\r\n\r\ndata: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
            b"data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"a\"}}]}\n\n: ping\n\n",
            b"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}]}}]}\n\n",
            b"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
            b"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":31,\"completion_tokens\":5}}\n\ndata: [DONE]\n\n",
        ],
        ["ok", "31", "5", "2", "tool_calls", ""],
    );
    check_answer(
        "/v1/chat/completions",
        &ask,
        &[b"HTTP/1.1 200 OK\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"error\":{\"message\":\"the prompt is too long: hi\",\"code\":400}}\n\n"],
        ["error", "0", "1", "1", "", "400 (context overflow)"],
    );
    check_answer(
        "/v1/chat/completions",
        &ask,
        &[b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"],
        ["error", "0", "1", "1", "", "the answer was cut off"],
    );
    check_answer(
        "/v1/messages",
        &json!({"model": "m", "stream": true, "system": "s", "messages": [user("hi")]}),
        &[
            b"HTTP/1.1 200 OK\r\n\r\nevent: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":90,\"output_tokens\":0}}}\n\n",
            b"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n",
            b"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":4}}\n\n",
            b"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        ],
        ["ok", "100", "4", "1", "end_turn", ""],
    );
    check_answer(
        "/v1/responses",
        &json!({"model": "m", "input": "hi"}),
        &[b"HTTP/1.1 200 OK\r\n\r\n{\"id\":\"r\",\"status\":\"completed\",\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"a\"}]}],\"usage\":{\"input_tokens\":9,\"output_tokens\":3}}"],
        ["ok", "9", "3", "1", "stop", ""],
    );
    check_answer(
        "/v1/completions",
        &json!({"model": "m", "prompt": [5, 6, 7]}),
        &[b"HTTP/1.1 200 OK\r\n\r\n{\"choices\":[{\"text\":\"a\",\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}"],
        ["ok", "3", "1", "1", "length", ""],
    );
}

#[test]
fn recorded_vllm_answers_are_read() {
    let cases = [
        ("responses-stream", "/v1/responses", 3, "length", (10, 4)),
        ("messages-stream", "/v1/messages", 4, "max_tokens", (10, 4)),
        ("messages-nonstream", "/v1/messages", 1, "max_tokens", (10, 4)),
        ("chat-nonstream", "/v1/chat/completions", 1, "length", (40, 6)),
        (
            "chat-stream-usage",
            "/v1/chat/completions",
            12,
            "length",
            (40, 12),
        ),
        ("completions-token-ids", "/v1/completions", 5, "length", (17, 5)),
    ];
    for (name, path, chunks, finish, (prompt, output)) in cases {
        let Some(answer) = testkit::shared(&format!("oracle/vllm-0.32/{name}.response.txt")) else {
            return;
        };
        let text = String::from_utf8(testkit::bytes(&answer)).unwrap();
        let (_, body) = text
            .split_once("\r\n\r\n")
            .or_else(|| text.split_once("\n\n"))
            .unwrap();
        let answer: &'static [u8] = Box::leak(
            format!("HTTP/1.1 200 OK\r\n\r\n{body}")
                .into_bytes()
                .into_boxed_slice(),
        );
        let pieces: &'static [&'static [u8]] = Box::leak(vec![answer].into_boxed_slice());
        let request =
            testkit::bytes(&testkit::shared(&format!("oracle/vllm-0.32/{name}.request.json")).unwrap());
        let request: Value = serde_json::from_slice(&request).unwrap();
        let (chunks, prompt, output) = (format!("{chunks}"), format!("{prompt}"), format!("{output}"));
        check_answer(
            path,
            &request,
            pieces,
            ["ok", &prompt, &output, &chunks, finish, ""],
        );
    }
}
