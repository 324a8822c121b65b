//! Making a connection: name, TCP, TLS.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use rustix::net::sockopt;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;

use crate::clock::Clock;
use crate::conn::{Conn, Transport};
use crate::endpoint::Endpoint;
use crate::stamped::{Marks, Stamped};
use crate::tls;

/// Quiet time after which the kernel asks whether the server still is there (aiperf 0.12.0).
pub const KEEPALIVE_IDLE: Duration = Duration::from_secs(60);
/// Time between two such questions (aiperf 0.12.0).
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
/// Unanswered questions after which the connection is given up. More than aiperf's one: a lost packet is no dead server.
pub const KEEPALIVE_PROBES: u32 = 3;

/// Most bytes that the HTTP library holds of a request or an answer, so that many long prompts on their way at once do
/// not add up.
pub const HTTP_BUFFER_BYTES_MAX: usize = 128 << 10;

/// No connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The host's name has no address.
    #[error("cannot find the address of {host}: {source}")]
    Resolve {
        /// The host.
        host: String,
        /// What the resolver said.
        source: io::Error,
    },
    /// No address of it could be connected to; the last one's error.
    #[error("cannot connect to {address}: {source}{}", connect_hint(source))]
    Tcp {
        /// The address.
        address: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
    /// The TLS handshake failed.
    #[error("no TLS connection to {host}: {source}{}", tls::hint(source))]
    Tls {
        /// The host.
        host: String,
        /// What the TLS library said.
        source: io::Error,
    },
    /// The HTTP library refused the connection.
    #[error("cannot speak HTTP with {host}: {source}")]
    Http {
        /// The host.
        host: String,
        /// What it said.
        source: hyper::Error,
    },
}

fn connect_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrNotAvailable => {
            "; hint: all local ports are in use, does the server close every connection?"
        }
        _ if error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => {
            "; hint: raise the limit of open files (`ulimit -n`)"
        }
        _ => "",
    }
}

/// Makes connections to one server. Its addresses are looked up once and kept for the run.
pub(crate) struct Connector {
    host: String,
    port: u16,
    tls: Option<TlsConnector>,
    clock: Clock,
    addresses: OnceCell<Vec<SocketAddr>>,
}

impl Connector {
    pub(crate) fn new(endpoint: &Endpoint, tls: Arc<ClientConfig>, clock: Clock) -> Self {
        let (host, port) = endpoint.host_and_port();
        Self {
            host: host.to_owned(),
            port,
            tls: endpoint.is_tls().then(|| TlsConnector::from(tls)),
            clock,
            addresses: OnceCell::new(),
        }
    }

    /// A new connection, with marks that have seen nothing yet.
    pub(crate) async fn connect(&self) -> Result<Conn, ConnectError> {
        let marks = Arc::new(Marks::default());
        let socket = Stamped::new(self.tcp().await?, self.clock, marks.clone());
        let transport: Transport = match &self.tls {
            None => Box::new(socket),
            Some(tls) => Box::new(self.handshake(tls, socket).await?),
        };
        marks.reset();
        let (sender, driver) = hyper::client::conn::http1::Builder::new()
            .title_case_headers(true)
            .max_buf_size(HTTP_BUFFER_BYTES_MAX)
            .handshake(TokioIo::new(transport))
            .await
            .map_err(|source| ConnectError::Http {
                host: self.host.clone(),
                source,
            })?;
        tracing::debug!(
            host = self.host,
            port = self.port,
            tls = self.tls.is_some(),
            "connection opened"
        );
        Ok(Conn::new(sender, driver, marks))
    }

    async fn tcp(&self) -> Result<TcpStream, ConnectError> {
        let mut failed = None;
        for address in self.addresses().await? {
            match TcpStream::connect(address).await.and_then(configured) {
                Ok(socket) => return Ok(socket),
                Err(source) => {
                    let address = *address;
                    failed = Some(ConnectError::Tcp { address, source });
                }
            }
        }
        Err(failed.unwrap_or_else(|| self.unresolved(io::Error::other("it has no address"))))
    }

    async fn addresses(&self) -> Result<&[SocketAddr], ConnectError> {
        let found = self.addresses.get_or_try_init(|| async {
            let mut found: Vec<_> = tokio::net::lookup_host((self.host.as_str(), self.port))
                .await?
                .collect();
            // As aiperf, which knows no other; and servers that listen on one family alone mostly choose this one.
            found.sort_by_key(SocketAddr::is_ipv6);
            Ok(found)
        });
        match found.await {
            Ok(found) => Ok(found),
            Err(source) => Err(self.unresolved(source)),
        }
    }

    fn unresolved(&self, source: io::Error) -> ConnectError {
        ConnectError::Resolve {
            host: self.host.clone(),
            source,
        }
    }

    async fn handshake(
        &self,
        tls: &TlsConnector,
        socket: Stamped,
    ) -> Result<tokio_rustls::client::TlsStream<Stamped>, ConnectError> {
        let failed = |source| ConnectError::Tls {
            host: self.host.clone(),
            source,
        };
        let name = ServerName::try_from(self.host.clone())
            .map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidInput, error)))?;
        tls.connect(name, socket).await.map_err(failed)
    }
}

fn configured(socket: TcpStream) -> io::Result<TcpStream> {
    socket.set_nodelay(true)?;
    sockopt::set_socket_keepalive(&socket, true)?;
    sockopt::set_tcp_keepidle(&socket, KEEPALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(&socket, KEEPALIVE_INTERVAL)?;
    sockopt::set_tcp_keepcnt(&socket, KEEPALIVE_PROBES)?;
    Ok(socket)
}
