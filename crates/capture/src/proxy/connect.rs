//! Connecting to the server, with TLS or without.

use std::io;
use std::time::Duration;

use driver::endpoint::{CHAT_PATH, Endpoint, EndpointError};
use driver::tls::{self, TlsError, TlsOptions};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Longest time for name, TCP and TLS together.
pub const CONNECT_DEADLINE: Duration = Duration::from_secs(10);

/// A two-way stream of bytes.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// The server, as it was named.
pub(crate) struct Upstream {
    host: String,
    port: u16,
    tls: Option<TlsConnector>,
    /// Its own name in `Host`.
    pub(crate) host_header: String,
    /// Path below which `/v1/…` hangs, without a slash at its end.
    pub(crate) prefix: String,
}

/// A server that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// Its URL is none.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The certificates to trust cannot be read.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl Upstream {
    /// The server at `url`, which may end with `/v1` or not.
    pub(crate) fn new(url: &str, trust: &TlsOptions) -> Result<Self, UpstreamError> {
        let endpoint = Endpoint::new(url, CHAT_PATH)?;
        let (host, port) = endpoint.host_and_port();
        let path = endpoint.request_url().path();
        let tls = if endpoint.is_tls() {
            Some(TlsConnector::from(trust.client_config()?))
        } else {
            None
        };
        Ok(Self {
            host: host.to_owned(),
            port,
            tls,
            host_header: endpoint.host_header(),
            prefix: path.strip_suffix(CHAT_PATH).unwrap_or_default().to_owned(),
        })
    }

    /// A new connection.
    ///
    /// # Errors
    /// A text for the client that says what was tried and what came of it.
    pub(crate) async fn connect(&self) -> Result<Box<dyn ByteStream>, String> {
        let connected = match tokio::time::timeout(CONNECT_DEADLINE, self.connected()).await {
            Ok(connected) => connected,
            Err(_elapsed) => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("no connection within {} s", CONNECT_DEADLINE.as_secs()),
            )),
        };
        connected.map_err(|error| {
            let hint = tls::hint(&error);
            format!("cannot reach the server at {}: {error}{hint}", self.host_header)
        })
    }

    async fn connected(&self) -> io::Result<Box<dyn ByteStream>> {
        let socket = TcpStream::connect((self.host.as_str(), self.port)).await?;
        socket.set_nodelay(true)?;
        let Some(tls) = &self.tls else {
            return Ok(Box::new(socket));
        };
        let name = ServerName::try_from(self.host.clone())
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let secured = tls.clone().connect(name, socket).await?;
        Ok(Box::new(secured))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_of_the_server_is_put_before_the_clients_path() {
        let cases = [
            ("http://h:8000", "", "h:8000"),
            ("http://h:8000/v1/", "", "h:8000"),
            ("h:8000/member/m/v1", "/member/m", "h:8000"),
            ("http://[::1]:8000/x/", "/x", "[::1]:8000"),
        ];
        for (url, prefix, host) in cases {
            let upstream = Upstream::new(url, &TlsOptions::default()).unwrap();
            assert_eq!(
                (upstream.prefix.as_str(), upstream.host_header.as_str()),
                (prefix, host),
                "{url}"
            );
        }
    }
}
