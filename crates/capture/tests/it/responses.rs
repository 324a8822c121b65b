//! Responses that go on from an earlier one: whose they are, and what they share with it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};

use serde_json::{Value, json};

use crate::recorded::assert_valid;
use crate::rig::{Rig, cell, exchange, lines, post, rows};

/// Answers the `n`th request, from 1, with the id `r<n>` and these counts of prompt tokens, streamed when that is asked for.
fn server(counts: &'static [u64]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (index, count) in counts.iter().enumerate() {
            let (mut socket, _) = listener.accept().unwrap();
            let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
            while !request.ends_with(b"\"END\"}") {
                let read = socket.read(&mut buffer).unwrap();
                assert!(read > 0);
                request.extend_from_slice(&buffer[..read]);
            }
            let output = json!([{"type": "message", "content": [{"type": "output_text", "text": "said"}]}]);
            let whole = json!({"id": format!("r{}", index + 1), "status": "completed", "output": output,
                "usage": {"input_tokens": count, "output_tokens": 3}});
            let body = if String::from_utf8(request).unwrap().contains("\"stream\":true") {
                let delta = json!({"type": "response.output_text.delta", "delta": "said"});
                let completed = json!({"type": "response.completed", "response": whole});
                format!("data: {delta}\n\ndata: {completed}\n\n")
            } else {
                whole.to_string()
            };
            write!(socket, "HTTP/1.1 200 OK\r\n\r\n{body}").unwrap();
        }
    });
    addr
}

fn ask(rig: &Rig, text: &str, previous: Option<&str>, stream: bool) {
    let mut body =
        json!({"instructions": "be brief", "input": text.repeat(200), "stream": stream, "x_end": "END"});
    if let Some(previous) = previous {
        body["previous_response_id"] = Value::from(previous);
    }
    exchange(rig.addr(), &post("/v1/responses", "", &body));
}

#[test]
fn a_response_that_was_seen_is_gone_on_from() {
    let server = server(&[300, 620, 950, 640, 200]);
    let mut rig = Rig::new(&format!("http://{server}"));
    ask(&rig, "first ", None, false);
    ask(&rig, "second ", Some("r1"), true);
    ask(&rig, "third ", Some("r2"), false);
    ask(&rig, "another second ", Some("r1"), false);
    ask(&rig, "first ", Some("r0"), false);
    let traces = rig.stop();
    assert_valid(&traces[0]);
    let rows = rows(&traces[0].paths.data());
    let found = rows.iter().map(|row| {
        let names = ["session_id", "round_index", "input_tokens", "status"];
        names.map(|name| cell(row, name))
    });
    let expected = [
        ["s000000", "0", "300", "ok"],
        ["s000000", "1", "620", "ok"],
        ["s000000", "2", "950", "ok"],
        // What goes on from an earlier turn is no later turn of the same session.
        ["s000001", "0", "640", "ok"],
        // A response that was never seen.
        ["s000002", "0", "200", "ok"],
    ];
    assert!(found.clone().eq(expected), "{:?}", found.collect::<Vec<_>>());
    let lines = lines(&traces[0].paths.token_blocks());
    let ids = |request: usize| lines[request + 1]["ids"].as_array().unwrap();
    let shared = |one: usize, other: usize| {
        let pairs = ids(one).iter().zip(ids(other));
        pairs.take_while(|(one, other)| one == other).count()
    };
    let blocks = |tokens: usize| tokens / 64;
    assert_eq!(
        [(0, 1), (1, 2), (0, 3), (0, 4)].map(|(one, other)| shared(one, other)),
        [blocks(300), blocks(620), blocks(300), 0]
    );
}
