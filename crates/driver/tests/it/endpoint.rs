//! Base URLs in every form that people write (cases 37, 38).

use driver::endpoint::{CHAT_PATH, Endpoint, EndpointError};

fn check(base: &str, path: &str, request: &str, models: &str) {
    let endpoint = Endpoint::new(base, path).unwrap_or_else(|error| panic!("{base}: {error}"));
    assert_eq!(endpoint.request_url().as_str(), request, "{base}");
    assert_eq!(endpoint.models_url().as_str(), models, "{base}");
}

#[test]
fn bases() {
    for base in [
        "http://h:1/member1/m",
        "http://h:1/member1/m/",
        "http://h:1/member1/m/v1",
        "http://h:1/member1/m/v1/",
        "http://h:1/member1/m/v1/chat/completions",
        "h:1/member1/m",
        " h:1/member1/m/v1/ ",
    ] {
        let below = "http://h:1/member1/m/v1";
        check(
            base,
            CHAT_PATH,
            &format!("{below}/chat/completions"),
            &format!("{below}/models"),
        );
    }
    for base in [
        "http://h",
        "h",
        "http://h/",
        "h/v1",
        "http://h/v1/",
        "http://h:80",
    ] {
        check(
            base,
            CHAT_PATH,
            "http://h/v1/chat/completions",
            "http://h/v1/models",
        );
    }
    check(
        "localhost:8000",
        CHAT_PATH,
        "http://localhost:8000/v1/chat/completions",
        "http://localhost:8000/v1/models",
    );
    check(
        "https://h/a?key=b#c",
        CHAT_PATH,
        "https://h/a/v1/chat/completions?key=b",
        "https://h/a/v1/models?key=b",
    );
    // Other endpoints.
    check(
        "h/v1",
        "/v1/completions",
        "http://h/v1/completions",
        "http://h/v1/models",
    );
    check(
        "h/api",
        "chat/completions",
        "http://h/api/chat/completions",
        "http://h/api/v1/models",
    );
    check(
        "h/api/v1",
        "chat/completions",
        "http://h/api/v1/chat/completions",
        "http://h/api/v1/models",
    );
    check(
        "h/v10",
        CHAT_PATH,
        "http://h/v10/v1/chat/completions",
        "http://h/v10/v1/models",
    );
}

#[test]
fn what_is_connected_to() {
    for (base, host, port, header) in [
        ("http://h", "h", 80, "h"),
        ("https://h", "h", 443, "h"),
        ("https://h:8443/v1", "h", 8443, "h:8443"),
        ("http://[::1]:8000", "::1", 8000, "[::1]:8000"),
        ("[::1]:8000", "::1", 8000, "[::1]:8000"),
        ("::1", "::1", 80, "[::1]"),
        ("http://127.0.0.1:1", "127.0.0.1", 1, "127.0.0.1:1"),
    ] {
        let endpoint = Endpoint::new(base, CHAT_PATH).unwrap();
        assert_eq!(endpoint.host_and_port(), (host, port), "{base}");
        assert_eq!(endpoint.host_header(), header, "{base}");
        assert_eq!(endpoint.is_tls(), base.starts_with("https"), "{base}");
    }
    let endpoint = Endpoint::new("http://h/a/v1", CHAT_PATH).unwrap();
    assert_eq!(endpoint.version_url().as_str(), "http://h/a/version");
    assert_eq!(endpoint.metrics_url().as_str(), "http://h/a/metrics");
}

#[test]
fn refused() {
    let error = |base| Endpoint::new(base, CHAT_PATH).unwrap_err();
    assert!(matches!(error("ftp://h"), EndpointError::Scheme { .. }));
    assert!(matches!(error(""), EndpointError::Malformed { .. }));
    assert!(matches!(error("http://"), EndpointError::Malformed { .. }));
    assert!(matches!(error("h:port"), EndpointError::Malformed { .. }));
    let credentials = error("http://me:secret@h");
    assert!(matches!(credentials, EndpointError::Credentials { .. }));
    assert!(!format!("{credentials} {credentials:?}").contains("secret"));
}

#[tokio::test]
async fn ipv6() {
    let Ok(listener) = std::net::TcpListener::bind("[::1]:0") else {
        eprintln!("not tested: no IPv6 here");
        return;
    };
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut socket, _) = listener.accept().unwrap();
        let _ = socket.read(&mut [0; 4096]).unwrap();
        socket
            .write_all(b"HTTP/1.1 418 Teapot\r\nContent-Length: 2\r\n\r\nhi")
            .unwrap();
    });
    let client = crate::script::client_with(crate::script::options(&address.to_string()));
    let record = crate::script::send(&client).await;
    assert_eq!(record.http_status, Some(418), "{record:?}");
}
