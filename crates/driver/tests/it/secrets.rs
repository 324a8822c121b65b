//! A server that quotes the key back, in every place from which its words reach a file or a person.

use driver::endpoint::{CHAT_PATH, Endpoint};
use driver::key::BearerKey;
use driver::server::Inquirer;
use driver::tls::TlsOptions;

use crate::script::{
    CHUNKED, DONE, LAST_CHUNK, Server, Step, TOKEN, chunk, client_with, options, send, sized, write,
};

const KEY: &str = "sk-4f1d8e7ab0c2/x";
const OTHER: &str = "tenant-key-9c2e71";

fn check(shown: &str) {
    for secret in ["sk-4f1d", OTHER] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert!(shown.contains("[key]"), "{shown}");
}

/// So long that the key is where the text is cut.
fn long() -> String {
    format!("{}{KEY}", "-".repeat(wire::error::ERROR_TEXT_BYTES_MAX - 12))
}

fn streamed(events: &[&str]) -> Step {
    let chunks: String = events.iter().map(|event| chunk(event)).collect();
    write(&[CHUNKED, &chunks, LAST_CHUNK])
}

fn error_event(text: &str) -> String {
    format!("data: {{\"error\":{{\"message\":{text:?}}}}}\n\n")
}

#[tokio::test]
async fn no_record_holds_it() {
    let finish =
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":{KEY:?}}}]}}\n\n");
    for answer in [
        sized(
            "401 Unauthorized",
            &format!("wrong key {KEY} (sk-4f1d8e7ab0c2\\/x) or {OTHER}"),
        ),
        sized("401 Unauthorized", &long()),
        sized(
            &format!("307 Temporary Redirect\r\nLocation: http://h/?key={KEY}"),
            "",
        ),
        streamed(&[&error_event(&format!("wrong key {KEY}"))]),
        streamed(&[&error_event(&long())]),
        streamed(&[TOKEN, &finish, DONE]),
    ] {
        let server = Server::start(vec![vec![Step::Request, answer]]);
        let mut options = options(&format!("http://{}", server.address()));
        options.key = Some(BearerKey::new(KEY));
        options.headers = vec![("x-api-key".parse().unwrap(), OTHER.parse().unwrap())];
        let record = send(&client_with(options)).await;
        check(&format!("{:?} {:?}", record.error, record.finish_reason));
    }
}

#[tokio::test]
async fn no_message_about_the_server_holds_it() {
    for answer in [
        sized("401 Unauthorized", &format!("wrong key {KEY}")),
        sized("401 Unauthorized", &long()),
        sized("200 OK", &format!("{{\"data\":{KEY:?}}}")),
    ] {
        let server = Server::start(vec![vec![Step::Request, answer]]);
        let base = format!("http://{}/?key={OTHER}", server.address());
        let inquirer = Inquirer::new(
            &TlsOptions::default().client_config().unwrap(),
            Some(BearerKey::new(KEY)),
        )
        .unwrap();
        let endpoint = Endpoint::new(&base, CHAT_PATH).unwrap();
        check(&inquirer.models(&endpoint).await.unwrap_err().to_string());
    }
}
