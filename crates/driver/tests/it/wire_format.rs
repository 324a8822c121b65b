//! What goes over the wire: headers in aiperf's order, the body byte for byte.

use driver::body::GATHER_BYTES;
use driver::cancel::Cancellation;
use driver::client::Outgoing;
use driver::key::BearerKey;
use hyper::header::{HeaderName, HeaderValue};

use crate::script::{BODY, Server, Slices, Step, client, client_with, good, options, planned, send};

fn one_answer() -> Server {
    Server::start(vec![vec![Step::Request, good()]])
}

#[tokio::test]
async fn plain_request() {
    let server = one_answer();
    send(&client(&server)).await;
    let [got] = &server.requests()[..] else {
        panic!("one request")
    };
    let expected = format!(
        "POST /v1/chat/completions HTTP/1.1\r\n\
         Host: {}\r\n\
         User-Agent: turnmill/{}\r\n\
         X-Request-Id: 6e8bc430-9c3a-4f0e-8a53-0123456789ab\r\n\
         X-Correlation-Id: 11111111-2222-3333-4444-555555555555\r\n\
         Accept: text/event-stream\r\n\
         Content-Type: application/json\r\n\
         Content-Length: 15\r\n\r\n",
        server.address(),
        env!("CARGO_PKG_VERSION"),
    );
    assert_eq!(got.head, expected);
    assert_eq!(got.body, BODY.as_bytes());
}

#[tokio::test]
async fn further_headers_and_a_key() {
    let server = one_answer();
    let mut options = options(&format!("http://{}/member1/m/?pool=a", server.address()));
    options.key = Some(BearerKey::new("secret\n"));
    options.session_header = HeaderName::from_static("x-session");
    let header = |name, value| (HeaderName::from_static(name), HeaderValue::from_static(value));
    options.headers = vec![
        header("x-b", "2"),
        header("x-a", "1"),
        header("user-agent", "other"),
        header("accept", "*/*"),
    ];
    send(&client_with(options)).await;
    let requests = server.requests();
    let mut lines = requests[0].head.lines();
    assert_eq!(
        lines.next(),
        Some("POST /member1/m/v1/chat/completions?pool=a HTTP/1.1")
    );
    let names: Vec<&str> = lines.filter_map(|line| Some(line.split_once(": ")?.0)).collect();
    let expected =
        "Host User-Agent X-Request-Id X-Session X-B X-A Accept Authorization Content-Type Content-Length";
    assert_eq!(names, expected.split(' ').collect::<Vec<_>>());
    let head = &requests[0].head;
    assert!(head.contains("\r\nAuthorization: Bearer secret\r\n"));
    assert!(head.contains("\r\nUser-Agent: other\r\n"));
    assert!(head.contains("\r\nAccept: */*\r\n"));
}

#[test]
fn a_key_cannot_be_printed() {
    let key = BearerKey::new("hush");
    assert!(!format!("{key:?}").contains("hush"));
    assert!(!format!("{:?}", key.authorization()).contains("hush"));
    let mut options = options("http://h");
    options.key = Some(BearerKey::new("two\nlines"));
    let error = driver::client::Client::new(options, driver::clock::Clock::start())
        .err()
        .unwrap();
    assert!(!error.to_string().contains("two"));
}

#[tokio::test]
async fn bodies_of_many_slices() {
    for length in [
        0,
        1,
        600,
        GATHER_BYTES - 1,
        GATHER_BYTES,
        GATHER_BYTES + 1,
        1 << 20,
    ] {
        let body = Slices::new(length);
        let whole = body.whole();
        let server = one_answer();
        client(&server)
            .send(planned(), Outgoing::new(body), Cancellation::never())
            .await;
        let requests = server.requests();
        assert!(
            requests[0]
                .head
                .contains(&format!("\r\nContent-Length: {length}\r\n")),
            "{length}"
        );
        assert!(requests[0].body == whole, "{length}");
    }
}
