//! A server behind TLS: certificates are checked unless told otherwise, and what passes is the same.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use driver::tls::TlsOptions;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::recorded::assert_valid;
use crate::rig::{PATIENCE, Rig, cell, exchange, rows, scripted};

/// A stream in pieces, its last chunk without end, as servers send it.
const ANSWER: &[&[u8]] = &[
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Odd:  kept \r\n\r\n",
    b"2e\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\r\n1\r\n\n\r\n",
    b"41\r\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [D\r\n",
    b"7\r\nONE]\n\n \r\n0\r\n\r\n",
];

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// Like [`scripted`], behind a self-signed certificate. A client that does not trust it sends `None`.
fn secured(pieces: &'static [&'static [u8]]) -> (SocketAddr, Receiver<Option<Vec<u8>>>) {
    let certificates = CertificateDer::pem_file_iter(data("self-signed.pem")).unwrap();
    let certificates = certificates.map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(data("self-signed.key.pem")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let (seen, received) = channel();
    std::thread::spawn(move || {
        while let Ok((socket, _)) = listener.accept() {
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, socket);
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            while !request.ends_with(b"END\"}") {
                match stream.read(&mut buffer) {
                    Ok(0) | Err(_) => break,
                    Ok(read) => request.extend_from_slice(&buffer[..read]),
                }
            }
            let is_trusted = !request.is_empty();
            for piece in pieces.iter().filter(|_| is_trusted) {
                stream.write_all(piece).unwrap();
                stream.flush().unwrap();
            }
            stream.conn.send_close_notify();
            let _ = stream.flush();
            if seen.send(is_trusted.then_some(request)).is_err() {
                return;
            }
        }
    });
    (addr, received)
}

fn request(host: &str) -> String {
    let body = r#"{"messages":[{"role":"user","content":"hi"}],"stream":true,"x":"END"}"#;
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nX-Odd:  a\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// What a client gets through a capture that trusts as told, with the capture still running.
fn through(upstream: &str, trust: TlsOptions) -> (Rig, String) {
    let rig = Rig::with(upstream, |options| options.trust = trust);
    let answer = exchange(rig.addr(), request("proxy:1").as_bytes());
    (rig, String::from_utf8(answer).unwrap())
}

#[test]
fn bytes_are_the_same_where_the_certificate_is_trusted() {
    let given = TlsOptions {
        ca: Some(data("self-signed.pem")),
        insecure: false,
    };
    let anyone = TlsOptions {
        ca: None,
        insecure: true,
    };
    let (plain, _) = scripted(ANSWER, false);
    let expected = exchange(plain, request("x").as_bytes());
    for (trust, host) in [
        (given.clone(), "127.0.0.1"),
        (given, "localhost"),
        (anyone, "127.0.0.1"),
    ] {
        let (server, seen) = secured(ANSWER);
        let host = format!("{host}:{}", server.port());
        let (mut rig, answer) = through(&format!("https://{host}"), trust);
        assert_eq!(answer.as_bytes(), expected);
        let seen = seen.recv_timeout(PATIENCE).unwrap().unwrap();
        assert_eq!(String::from_utf8(seen).unwrap(), request(&host));
        let traces = rig.stop();
        assert_valid(&traces[0]);
        let rows = rows(&traces[0].paths.data());
        let names = ["status", "num_chunks", "finish_reason", "error_message"];
        assert_eq!(names.map(|name| cell(&rows[0], name)), ["ok", "1", "stop", ""]);
    }
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_refused_in_plain_words() {
    let (server, seen) = secured(ANSWER);
    let (mut rig, answer) = through(&format!("https://{server}"), TlsOptions::default());
    assert!(answer.starts_with("HTTP/1.1 502 Bad Gateway\r\n"), "{answer}");
    let traces = rig.stop();
    assert_valid(&traces[0]);
    let rows = rows(&traces[0].paths.data());
    let message = cell(&rows[0], "error_message");
    for said in [answer.as_str(), message] {
        for word in [&server.to_string(), "certificate", "--ca", "--insecure"] {
            assert!(said.contains(word), "{word} in {said}");
        }
    }
    assert_eq!(
        (cell(&rows[0], "status"), cell(&rows[0], "num_chunks")),
        ("error", "0")
    );
    assert_eq!(seen.recv_timeout(PATIENCE).unwrap(), None, "nothing was sent");
}
