//! Certificates (case 39): the same setting for timed requests and for model listing.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use driver::client::ClientOptions;
use driver::endpoint::{CHAT_PATH, Endpoint};
use driver::server::Inquirer;
use driver::tls::{TlsError, TlsOptions};
use record::request::{FailureKind, Outcome, RequestRecord};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::script::{Step, client_with, good, send};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// Answers every request on every connection: a list of models to GET, a good stream to POST.
async fn serve() -> SocketAddr {
    let certificates = CertificateDer::pem_file_iter(data("self-signed.pem"))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let key = PrivateKeyDer::from_pem_file(data("self-signed.key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            // A client that does not trust us goes away in the handshake.
            let Ok(mut stream) = acceptor.accept(socket).await else {
                continue;
            };
            tokio::spawn(async move {
                let mut seen = Vec::new();
                let mut bytes = [0; 4096];
                while let Ok(count) = stream.read(&mut bytes).await
                    && count > 0
                {
                    seen.extend_from_slice(&bytes[..count]);
                    let text = String::from_utf8_lossy(&seen).into_owned();
                    let list = "HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\n{\"data\":[{\"id\":\"tls\"}]}";
                    let answer = match good() {
                        _ if text.starts_with("GET ") && text.ends_with("\r\n\r\n") => {
                            list.as_bytes().to_vec()
                        }
                        Step::Write(stream) if text.ends_with(crate::script::BODY) => stream,
                        _ => continue,
                    };
                    stream.write_all(&answer).await.unwrap();
                    seen.clear();
                }
            });
        }
    });
    address
}

struct Tried {
    first: RequestRecord,
    second: RequestRecord,
    models: Result<usize, String>,
    opened: u64,
}

async fn try_with(options: TlsOptions, host: &str) -> Tried {
    let address = serve().await;
    let tls = options.client_config().unwrap();
    let endpoint = Endpoint::new(&format!("https://{host}:{}", address.port()), CHAT_PATH).unwrap();
    let client = client_with(ClientOptions::new(endpoint.clone(), tls.clone()));
    let models = Inquirer::new(&tls, None).unwrap().models(&endpoint).await;
    Tried {
        first: send(&client).await,
        second: send(&client).await,
        models: models
            .map(|models| models.len())
            .map_err(|error| error.to_string()),
        opened: client.opened_connections(),
    }
}

#[tokio::test]
async fn a_self_signed_certificate_is_refused_in_plain_words() {
    let tried = try_with(TlsOptions::default(), "127.0.0.1").await;
    assert_eq!(tried.first.outcome, Outcome::Failed);
    assert_eq!(tried.first.failure_kind, Some(FailureKind::Connect));
    let text = tried.first.error.unwrap();
    assert!(
        text.contains("certificate") && text.contains("--insecure"),
        "{text}"
    );
    let text = tried.models.unwrap_err();
    assert!(text.contains("certificate"), "{text}");
}

#[tokio::test]
async fn it_is_accepted_when_told_so() {
    let insecure = TlsOptions {
        insecure: true,
        ca: None,
    };
    let given = TlsOptions {
        insecure: false,
        ca: Some(data("self-signed.pem")),
    };
    for (options, host) in [
        (insecure, "127.0.0.1"),
        (given.clone(), "127.0.0.1"),
        (given, "localhost"),
    ] {
        let tried = try_with(options, host).await;
        assert_eq!(tried.models, Ok(1));
        assert_eq!(tried.opened, 1, "the second request takes the same connection");
        for record in [tried.first, tried.second] {
            assert_eq!(record.outcome, Outcome::Ok, "{record:#?}");
            assert_eq!(record.chunks.len(), 2);
            let stamps = record.stamps;
            let times = [
                stamps.headers_written_ns,
                stamps.body_written_ns,
                stamps.first_byte_ns,
                stamps.first_content_ns,
                stamps.stream_end_ns,
            ];
            assert!(
                times.iter().all(Option::is_some) && times.is_sorted(),
                "{stamps:?}"
            );
        }
    }
}

#[test]
fn files_without_certificates() {
    let options = |name: &str| TlsOptions {
        insecure: false,
        ca: Some(data(name)),
    };
    assert!(matches!(
        options("absent.pem").client_config(),
        Err(TlsError::CaFile { .. })
    ));
    assert!(matches!(
        options("self-signed.key.pem").client_config(),
        Err(TlsError::NoCertificate { .. })
    ));
}
