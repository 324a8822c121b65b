//! What the proxy adds to the first byte, measured beside a direct connection. The figures are printed, not judged: this is a debug
//! build on a shared machine. `docs/performance.md` has those of a release build.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::time::Instant;

use serde_json::json;
use sim::Server;

use crate::rig::{Rig, connect, post};

const REQUESTS: usize = 300;

/// Time to the first byte of each of many requests on one connection, ascending, in microseconds.
fn first_bytes(addr: SocketAddr, request: &[u8], answer_end: &[u8]) -> Vec<f64> {
    let mut socket = connect(addr);
    let mut times = Vec::with_capacity(REQUESTS);
    let mut buffer = vec![0; 64 << 10];
    for _ in 0..REQUESTS {
        #[allow(clippy::disallowed_methods)] // a client's own clock
        let begin = Instant::now();
        socket.write_all(request).unwrap();
        let mut read = socket.read(&mut buffer).unwrap();
        times.push(begin.elapsed().as_secs_f64() * 1e6);
        let mut answer = buffer[..read].to_vec();
        while !answer.ends_with(answer_end) {
            read = socket.read(&mut buffer).unwrap();
            answer.extend_from_slice(&buffer[..read]);
        }
    }
    times.sort_by(f64::total_cmp);
    times
}

#[test]
fn the_cost_of_the_first_byte_is_measured() {
    let server = Server::start(sim::Config::instant()).unwrap();
    let mut rig = Rig::new(&server.url());
    let body = json!({"messages": [{"role": "user", "content": "x".repeat(2_000)}], "max_tokens": 4, "ignore_eos": true, "stream": true});
    let request = post("/v1/chat/completions", "", &body);
    let request = String::from_utf8(request)
        .unwrap()
        .replace("Connection: close\r\n", "")
        .into_bytes();
    let [direct, through] = [server.addr(), rig.addr()].map(|addr| first_bytes(addr, &request, b"0\r\n\r\n"));
    let at = |times: &[f64], p: f64| times[((times.len() - 1) as f64 * p) as usize];
    for p in [0.5, 0.9, 0.99] {
        let (direct, through) = (at(&direct, p), at(&through, p));
        println!(
            "first byte, p{:.0}: direct {direct:.0} µs, through the proxy {through:.0} µs, {:+.0} µs",
            p * 100.0,
            through - direct
        );
    }
    assert_eq!(server.log().len(), 2 * REQUESTS);
    assert_eq!(rig.stop()[0].rows, REQUESTS as u64);
}
