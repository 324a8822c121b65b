//! What a client gets through the proxy is what it gets without, byte by byte; so is what a server gets, but for `Host`.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::json;
use sim::{Outcome, Server};

use crate::rig::{Rig, connect, eventually, exchange, post, scripted, simulated};

fn check(name: &str, request: &str, answer: &'static [&'static [u8]], reset: bool) {
    let (server, seen) = scripted(answer, reset);
    let host = server.to_string();
    let mut rig = Rig::new(&format!("http://{server}"));
    let request = request.replace("HOST", &host);
    let direct = exchange(server, request.as_bytes());
    let direct_seen = seen.recv().unwrap();
    let through = exchange(rig.addr(), request.replace(&host, "127.0.0.1:9").as_bytes());
    let through_seen = seen.recv().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&through), text(&direct), "{name}: the client");
    assert_eq!(text(&through_seen), text(&direct_seen), "{name}: the server");
    assert!(!reset || through.ends_with(b">"), "{name}: {}", text(&through));
    rig.stop();
}

const CHAT: &str = "POST /v1/chat/completions HTTP/1.1\r\nhOsT: HOST\r\nX-b: 1\r\nx-A: 2\r\nX-B:  3\r\nAuthorization: Bearer k\r\n\
Content-Length: 5\r\n\r\n{}END";

#[test]
fn answers_of_every_framing() {
    let cases: &[(&str, &str, &'static [&'static [u8]])] = &[
        ("length", CHAT, &[b"HTTP/1.1 200 OK\r\ncontent-LENGTH: 4\r\nServer: x\r\nset-cookie: a\r\nSet-Cookie: b\r\n\r\nab", b"cd"]),
        ("a stream", CHAT, &[b"HTTP/1.1 200 Fine\r\nTransfer-Encoding: chunked\r\n\r\n", b"3\r\nab\n\r", b"\n1;x=y\r\nc\r\n0\r\nT: u\r\n\r\n"]),
        ("to the end of the connection", CHAT, &[b"HTTP/1.0 200 OK\r\n\r\ndata: {", b"}\n\n"]),
        ("interim answers", CHAT, &[b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early\r\nA: b\r\n\r\nHTTP/1.1 400 Bad\r\nContent-Length: 2\r\n\r\n{}"]),
        ("no content", CHAT, &[b"HTTP/1.1 204 No Content\r\n\r\n"]),
        ("a body cut short", CHAT, &[b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab"]),
        ("no answer", CHAT, &[]),
        ("no HTTP at all", CHAT, &[b"SSH-2.0-x\r\n"]),
        ("broken chunks", CHAT, &[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab"]),
        ("two answers at once", CHAT, &[b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 408 Timeout\r\n\r\n"]),
        ("an upgrade", "GET /ws HTTP/1.1\r\nHost: HOST\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nEND", &[b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x01\x02", b"\x03"]),
        ("chunks from the client", "PUT /any/%7Epath?q=1&q=2 HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\nTE: trailers\r\n\r\n2\r\nab\r\n0\r\nTrailer: END", &[b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]),
        ("an old client", "POST /v1/completions HTTP/1.0\r\nContent-Length: 3\r\n\r\nEND", &[b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nbody"]),
        ("no HTTP from the client", "\x16\x03\x01 garbage END", &[b"\x15\x03\x01"]),
    ];
    for (name, request, answer) in cases {
        check(name, request, answer, false);
    }
}

#[test]
fn a_reset_stays_a_reset() {
    check("reset", CHAT, &[b"HTTP/1.0 200 OK\r\n\r\ndata: "], true);
}

#[test]
fn a_connection_carries_many_requests_and_pipelined_ones() {
    let server = simulated();
    let mut rig = Rig::new(&server.url());
    let mut socket = connect(rig.addr());
    let get = b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n";
    let last = b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    socket.write_all(get).unwrap();
    let mut first = [0; 15];
    socket.read_exact(&mut first).unwrap();
    socket.write_all(&[&get[..], last].concat()).unwrap();
    let mut rest = String::new();
    socket.read_to_string(&mut rest).unwrap();
    assert_eq!(rest.matches("HTTP/1.1 200 OK").count(), 2);
    assert_eq!(
        server.log().iter().filter(|seen| seen.path == "/version").count(),
        3
    );
    rig.stop();
}

/// Bodies of the simulated server carry ids and times of their own; these are what may differ.
fn without_ids(answer: &str) -> String {
    let mut out = String::new();
    let mut rest = answer;
    while let Some(at) = rest.find("\"id\":\"") {
        let (before, after) = rest.split_at(at + 6);
        out += before;
        rest = &after[after.find('"').unwrap()..];
    }
    out += rest;
    let no_date = |line: &&str| !line.to_ascii_lowercase().starts_with("date:");
    out.split_inclusive("\r\n").filter(no_date).collect()
}

fn compare(server: &Server, rig: &Rig, name: &str, request: &[u8]) {
    let [direct, through] = [server.addr(), rig.addr()].map(|addr| {
        let answer = String::from_utf8(exchange(addr, request)).unwrap();
        without_ids(&answer)
    });
    let strip = |text: &str| {
        let mut kept = String::new();
        for part in text.split("\"created\":") {
            kept += part.trim_start_matches(|sign: char| sign.is_ascii_digit());
        }
        kept.replace(char::is_whitespace, "")
    };
    assert_eq!(strip(&direct), strip(&through), "{name}");
}

#[test]
fn a_simulated_server_answers_alike() {
    let server = simulated();
    let mut rig = Rig::new(&format!("{}/v1", server.url()));
    let chat = |rest: &str| {
        let mut body =
            json!({"messages": [{"role": "user", "content": "hello"}], "max_tokens": 5, "ignore_eos": true});
        body.as_object_mut()
            .unwrap()
            .extend(serde_json::from_str::<serde_json::Map<_, _>>(rest).unwrap());
        post("/v1/chat/completions", "", &body)
    };
    for (name, request) in [
        (
            "streamed",
            chat(r#"{"stream":true,"stream_options":{"include_usage":true}}"#),
        ),
        ("whole", chat("{}")),
        ("unknown model", chat(r#"{"model":"none"}"#)),
        ("zero tokens", chat(r#"{"max_tokens":0}"#)),
        (
            "completions",
            post(
                "/v1/completions",
                "",
                &json!({"prompt": [1, 2, 3], "max_tokens": 3, "ignore_eos": true}),
            ),
        ),
        ("bad json", post("/v1/chat/completions", "", &json!("x"))),
        ("not there", post("/v1/none", "", &json!({}))),
    ] {
        compare(&server, &rig, name, &request);
    }
    rig.stop();
}

#[test]
fn a_client_that_hangs_up_is_missed_by_the_server() {
    let server = sim::Server::start(sim::Config::paced(5_000_000)).unwrap();
    let mut rig = Rig::new(&server.url());
    let body = json!({"messages": [{"role": "user", "content": "x"}], "max_tokens": 20_000, "ignore_eos": true, "stream": true});
    let mut socket = connect(rig.addr());
    socket
        .write_all(&post("/v1/chat/completions", "", &body))
        .unwrap();
    let mut some = [0; 400];
    socket.read_exact(&mut some).unwrap();
    drop(socket);
    eventually("the server misses the client", || {
        server
            .log()
            .iter()
            .any(|seen| seen.outcome == Outcome::Disconnected)
    });
    rig.await_rows(1);
    let traces = rig.stop();
    let rows = crate::rig::rows(&traces[0].paths.data());
    let row = &rows[0];
    let cells = ["status", "error_message"].map(|name| crate::rig::cell(row, name));
    assert_eq!(cells, ["error", "the client hung up"]);
}

#[test]
fn without_a_server_the_client_is_told() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut rig = Rig::new(&format!("http://{gone}"));
    let body = json!({"messages": [{"role": "user", "content": "x"}]});
    let answer = String::from_utf8(exchange(rig.addr(), &post("/v1/chat/completions", "", &body))).unwrap();
    assert!(answer.starts_with("HTTP/1.1 502 Bad Gateway\r\n"), "{answer}");
    assert!(
        answer.contains(&format!("cannot reach the server at {gone}")),
        "{answer}"
    );
    let traces = rig.stop();
    let rows = crate::rig::rows(&traces[0].paths.data());
    let message = crate::rig::cell(&rows[0], "error_message");
    assert!(message.contains("cannot reach the server"), "{message}");
}

#[test]
fn many_streams_at_once_come_whole() {
    let server = sim::Server::start(sim::Config::paced(500_000)).unwrap();
    let mut rig = Rig::new(&server.url());
    let addr = rig.addr();
    std::thread::scope(|scope| {
        for index in 0..64 {
            scope.spawn(move || {
                let body = json!({"messages": [{"role": "user", "content": format!("stream {index}")}], "max_tokens": 30,
                    "ignore_eos": true, "stream": true});
                let answer = exchange(addr, &post("/v1/chat/completions", "", &body));
                let answer = String::from_utf8(answer).unwrap();
                assert!(answer.contains("data: [DONE]"), "{answer}");
                assert!(answer.ends_with("0\r\n\r\n"), "{answer}");
            });
        }
    });
    let traces = rig.stop();
    assert_eq!(
        (traces[0].rows, traces[0].sessions, traces[0].trees),
        (64, 64, 64)
    );
}
