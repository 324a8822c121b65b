//! One client connection: bytes from the client to the server, and back, each as soon as it is read.
//!
//! Each direction waits for its own writes, so a slow reader slows its writer down, as it would without a proxy. An end
//! of one direction is passed on as an end of that direction; a client that hangs up is thereby seen by the server.

use std::net::IpAddr;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::exchanges::Exchanges;
use super::{Shared, Stop};
use crate::tap::Ending;

/// Size of a read buffer.
const READ_BYTES: usize = 64 << 10;
/// A buffer with less room than this is replaced by a new one.
const READ_BYTES_MIN: usize = 8 << 10;
/// How long a client may go on sending after its answer and the end of the connection were written. Closing at once would
/// make its system throw the answer away.
const LINGER_DEADLINE: Duration = Duration::from_secs(2);
/// How long a request that cannot be forwarded is read before it is refused.
const REFUSE_DEADLINE: Duration = Duration::from_secs(10);

/// How a connection ended, as far as the client is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Close {
    /// The server closed it: it was passed on, what the client still sends is read over.
    Properly,
    /// The server, or the way to it, broke.
    Broken,
    /// The client is gone, or the capture ends.
    AtOnce,
}

/// Serves one client until either side ends the connection.
pub(super) async fn connection(
    shared: &Shared,
    mut client: TcpStream,
    peer: IpAddr,
    mut stop: watch::Receiver<Stop>,
) {
    // Without it small events would wait for the acknowledgement of earlier ones.
    let _ = client.set_nodelay(true);
    let exchanges = Exchanges::new(shared, peer);
    let upstream = match shared.upstream.connect().await {
        Ok(upstream) => upstream,
        Err(why) => {
            refuse(shared, &exchanges, &mut client, &why).await;
            return linger(&mut client).await;
        }
    };
    let (mut from_server, mut to_server) = tokio::io::split(upstream);
    let (mut from_client, mut to_client) = client.split();
    let requests = requests(shared, &exchanges, &mut from_client, &mut to_server);
    let answers = answers(shared, &exchanges, &mut from_server, &mut to_client);
    let stopping = async {
        // An error says that nobody is left who could stop us.
        let _ = stop.wait_for(|stop| *stop != Stop::No).await;
        exchanges.drained().await;
    };
    let close = tokio::select! {
        () = requests => {
            exchanges.end(&Ending::ClientGone);
            Close::AtOnce
        }
        close = answers => close,
        () = stopping => Close::AtOnce,
    };
    match close {
        Close::Properly => linger(&mut client).await,
        // Not the end that a body without a length would take for its own.
        Close::Broken => {
            let _ = client.set_zero_linger();
        }
        Close::AtOnce => {}
    }
}

/// Forwards what the client sends. Returns when the client broke the connection; waits for ever once there is nothing more
/// to forward, because the answer may still be on its way.
async fn requests(
    shared: &Shared,
    exchanges: &Exchanges<'_>,
    from_client: &mut (impl AsyncRead + Unpin),
    to_server: &mut (impl AsyncWrite + Unpin),
) {
    let mut buffer = BytesMut::new();
    loop {
        if buffer.capacity() < READ_BYTES_MIN {
            buffer.reserve(READ_BYTES);
        }
        let forward = match from_client.read_buf(&mut buffer).await {
            Err(_) => return,
            Ok(0) => {
                if let Some(held) = exchanges.client_closed() {
                    let _ = to_server.write_all(&held).await;
                }
                let _ = to_server.shutdown().await;
                return std::future::pending().await;
            }
            Ok(_) => exchanges.take_from_client(shared.clock.now_ns(), buffer.split().freeze()),
        };
        let begins_ns = shared.clock.now_ns();
        for bytes in &forward {
            if to_server.write_all(bytes).await.is_err() {
                return std::future::pending().await;
            }
        }
        exchanges.sent(begins_ns);
        if to_server.flush().await.is_err() {
            return std::future::pending().await;
        }
    }
}

/// Forwards what the server sends.
async fn answers(
    shared: &Shared,
    exchanges: &Exchanges<'_>,
    from_server: &mut (impl AsyncRead + Unpin),
    to_client: &mut (impl AsyncWrite + Unpin),
) -> Close {
    let mut buffer = BytesMut::new();
    loop {
        if buffer.capacity() < READ_BYTES_MIN {
            buffer.reserve(READ_BYTES);
        }
        match from_server.read_buf(&mut buffer).await {
            Err(_) => {
                exchanges.server_closed(true);
                return Close::Broken;
            }
            Ok(0) => {
                exchanges.server_closed(false);
                let _ = to_client.shutdown().await;
                return Close::Properly;
            }
            Ok(_) => {}
        }
        let at_ns = shared.clock.now_ns();
        let bytes = buffer.split().freeze();
        let written = to_client.write_all(&bytes).await;
        exchanges.take_from_server(at_ns, bytes);
        if written.is_err() {
            exchanges.end(&Ending::ClientGone);
            return Close::AtOnce;
        }
    }
}

/// Answers the client's request in the server's place: there is no server.
async fn refuse(shared: &Shared, exchanges: &Exchanges<'_>, client: &mut TcpStream, why: &str) {
    let whole = async {
        let mut buffer = BytesMut::new();
        while !exchanges.has_whole_request() && !exchanges.is_tunnel() {
            buffer.reserve(READ_BYTES);
            match client.read_buf(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {
                    exchanges.take_from_client(shared.clock.now_ns(), buffer.split().freeze());
                }
            }
        }
    };
    // A client that has not sent all of it by now gets its answer all the same.
    let _ = tokio::time::timeout(REFUSE_DEADLINE, whole).await;
    exchanges.end(&Ending::NoServer(why.to_owned()));
    tracing::warn!(why, "request refused");
    let message = serde_json::json!({"error": {
        "message": format!("turnmill capture: {why}"), "type": "bad_gateway", "param": null, "code": 502,
    }});
    let body = message.to_string();
    let answer = format!(
        "HTTP/1.1 502 Bad Gateway\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    // A client that is gone needs no answer.
    let _ = client.write_all(answer.as_bytes()).await;
    let _ = client.shutdown().await;
}

/// Reads over what the client still sends, for a while.
async fn linger(client: &mut TcpStream) {
    let mut scrap = vec![0; READ_BYTES];
    let rest = async { while client.read(&mut scrap).await.is_ok_and(|read| read > 0) {} };
    let _ = tokio::time::timeout(LINGER_DEADLINE, rest).await;
}
