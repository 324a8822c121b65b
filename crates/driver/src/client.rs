//! Sends one request and gives back its record.
//!
//! A record comes back for every request, whatever became of it. Between the first byte of the request and the last of
//! the answer there is no tokenizing, no file, no lock that another lane could hold, and no buffer as large as the prompt.
//!
//! Nothing is retried, with one exception that is no retry of a request as the server sees it: when a kept connection
//! breaks before a byte of the answer came, the server had most likely closed it while it was idle, and the request goes
//! out once more on a new connection. Its stamps are those of the new one; [`Client::replaced_connections`] counts it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request};
use record::request::{FailureKind, RequestRecord};
use rustls::ClientConfig;

use crate::body::{BodySource, Outflow};
use crate::cancel::Cancellation;
use crate::clock::Clock;
use crate::conn::Conn;
use crate::connect::Connector;
use crate::endpoint::Endpoint;
use crate::exchange::{End, Received, drain, exchange};
use crate::key::BearerKey;
use crate::outcome::{Stop, settle};
use crate::pool::Pool;
use crate::secrets::Secrets;

/// Longest time that a request may take, connecting included (aiperf 0.12.0).
pub const REQUEST_DEADLINE: Duration = Duration::from_secs(21_600);
/// Header with the request's id.
pub const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");
/// Usual header with the id of this replay of the conversation.
pub const SESSION_HEADER: HeaderName = HeaderName::from_static("x-correlation-id");
/// What we call ourselves.
pub const USER_AGENT: &str = concat!("turnmill/", env!("CARGO_PKG_VERSION"));

/// How requests are sent.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Where to.
    pub endpoint: Endpoint,
    /// Whom to trust; from [`crate::tls::TlsOptions::client_config`].
    pub tls: Arc<ClientConfig>,
    /// Key for `Authorization`.
    pub key: Option<BearerKey>,
    /// Further headers, in order. One that names a header of ours replaces its value.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Header with the session id; usually [`SESSION_HEADER`].
    pub session_header: HeaderName,
    /// Longest time that a request may take; usually [`REQUEST_DEADLINE`].
    pub deadline: Duration,
}

impl ClientOptions {
    /// The usual options for a server.
    pub fn new(endpoint: Endpoint, tls: Arc<ClientConfig>) -> Self {
        Self {
            endpoint,
            tls,
            key: None,
            headers: Vec::new(),
            session_header: SESSION_HEADER,
            deadline: REQUEST_DEADLINE,
        }
    }
}

/// What one request sends beside what all of a client's requests do.
pub struct Outgoing {
    body: Box<dyn BodySource>,
    headers: Vec<(HeaderName, HeaderValue)>,
    deadline: Option<Duration>,
}

impl Outgoing {
    /// A request with that body and nothing of its own.
    pub fn new(body: impl BodySource) -> Self {
        Self {
            body: Box::new(body),
            headers: Vec::new(),
            deadline: None,
        }
    }

    /// With a header of its own, which replaces one of the client's.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// With a deadline of its own, in the place of the client's.
    #[must_use]
    pub fn deadline(mut self, deadline: Option<Duration>) -> Self {
        self.deadline = deadline;
        self
    }
}

/// Options that no request can be sent with.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The key cannot stand in a header.
    #[error(
        "the key has characters that an HTTP header cannot hold; hint: is it the right file or variable?"
    )]
    Key,
    /// The host cannot stand in a header.
    #[error("`{host}` cannot stand in a `Host` header")]
    Host {
        /// The host.
        host: String,
    },
}

/// Sends requests to one server, over connections that it keeps. One for a run, shared by all lanes.
pub struct Client {
    clock: Clock,
    path: String,
    /// Headers of every request, in their order on the wire; ids and length are filled in.
    headers: HeaderMap,
    secrets: Secrets,
    session_header: HeaderName,
    deadline: Duration,
    connector: Connector,
    pool: Pool,
    opened: AtomicU64,
    replaced: AtomicU64,
}

impl Client {
    /// Prepares everything that does not change between requests. Opens no connection.
    ///
    /// # Errors
    /// When a header cannot be made of the options.
    pub fn new(options: ClientOptions, clock: Clock) -> Result<Self, ClientError> {
        let url = options.endpoint.request_url();
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        let headers = common_headers(&options)?;
        let mut secrets = Secrets::of_head(
            headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_bytes())),
            url.query().unwrap_or_default(),
        );
        if let Some(key) = &options.key {
            secrets = key.added_to(secrets);
        }
        Ok(Self {
            clock,
            path,
            headers,
            secrets,
            connector: Connector::new(&options.endpoint, options.tls, clock),
            session_header: options.session_header,
            deadline: options.deadline,
            pool: Pool::default(),
            opened: AtomicU64::new(0),
            replaced: AtomicU64::new(0),
        })
    }

    /// Connections opened so far.
    pub fn opened_connections(&self) -> u64 {
        self.opened.load(Relaxed)
    }

    /// How often a kept connection turned out to be closed only when a request was on it.
    pub fn replaced_connections(&self) -> u64 {
        self.replaced.load(Relaxed)
    }

    /// Sends `outgoing` and waits for the end of the answer, the deadline, or `cancel`, whichever is first.
    ///
    /// `record` says who the request is and what was planned, with `stamps.due_ns`; all that the server and the
    /// connection have to say is filled in here, whatever it held before. Dropping the future closes the connection.
    ///
    /// # Panics
    /// When `request_id` or `session_id` cannot stand in a header: they are made by us.
    pub async fn send(
        &self,
        mut record: RequestRecord,
        outgoing: Outgoing,
        mut cancel: Cancellation,
    ) -> RequestRecord {
        log_start(&record);
        record.stamps.start_ns = self.clock.now_ns();
        let Outgoing {
            body,
            headers: own,
            deadline,
        } = outgoing;
        let deadline = deadline.unwrap_or(self.deadline);
        record.body_bytes = body.content_length();
        let headers = self.headers_of(&record, own);
        let mut received = Received::default();
        let stop = tokio::select! {
            biased;
            end = self.carry_out(headers, body, &mut received) => Stop::End(end),
            cause = cancel.cancelled() => Stop::Cancelled(cause),
            () = tokio::time::sleep(deadline) => Stop::TimedOut(deadline),
        };
        settle(&mut record, received, stop, self.clock.now_ns(), &self.secrets);
        log_end(&record);
        record
    }

    /// The record of a request that cannot be made, for the reason given.
    pub fn give_up(&self, mut record: RequestRecord, why: String) -> RequestRecord {
        record.stamps.start_ns = self.clock.now_ns();
        let stop = Stop::End(End::Failed(FailureKind::Unsent, why));
        settle(
            &mut record,
            Received::default(),
            stop,
            self.clock.now_ns(),
            &self.secrets,
        );
        log_end(&record);
        record
    }

    /// The request on a kept connection or a new one, and once more on a new one if the kept one was closed.
    async fn carry_out(
        &self,
        headers: HeaderMap,
        mut body: Box<dyn BodySource>,
        received: &mut Received,
    ) -> End {
        let mut kept = self.pool.take(self.clock.now_ns()).await;
        loop {
            let is_kept = kept.is_some();
            let mut conn = match kept.take() {
                Some(conn) => conn,
                None => match self.connector.connect().await {
                    Ok(conn) => {
                        self.opened.fetch_add(1, Relaxed);
                        received.connected_ns = Some(self.clock.now_ns());
                        conn
                    }
                    Err(error) => return End::Failed(FailureKind::Connect, error.to_string()),
                },
            };
            let marks = conn.marks().clone();
            marks.reset();
            received.marks = Some(marks.clone());
            let (outflow, mut returned) = Outflow::new(body, marks.clone());
            let request = self.request(headers.clone(), outflow);
            let (end, rest) = exchange(&mut conn, request, received, self.clock).await;
            if let (End::Whole, Some(rest)) = (&end, rest) {
                // Another task may have the connection, and its marks, before this one's record is made of them.
                received.marks = Some(Arc::new(marks.copy()));
                self.keep(conn, rest).await;
                return end;
            }
            // Dropping the connection gives the body back.
            drop(conn);
            let unanswered = matches!(end, End::Failed(..)) && marks.reads() == 0;
            match returned.try_recv() {
                Ok(source) if is_kept && unanswered => body = source,
                _ => return end,
            }
            tracing::debug!("a kept connection was closed, the request goes out on a new one");
            body.rewind();
            self.replaced.fetch_add(1, Relaxed);
        }
    }

    async fn keep(&self, mut conn: Conn, rest: hyper::body::Incoming) {
        if drain(&mut conn, rest).await {
            self.pool.put(conn, self.clock.now_ns());
        }
    }

    fn request(&self, headers: HeaderMap, body: Outflow) -> Request<Outflow> {
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.path.parse().expect("the path of a URL is a path");
        *request.headers_mut() = headers;
        request
    }

    fn headers_of(&self, record: &RequestRecord, own: Vec<(HeaderName, HeaderValue)>) -> HeaderMap {
        let id = |text: &str| HeaderValue::from_str(text).expect("our ids are letters, digits and dashes");
        let mut headers = self.headers.clone();
        headers.extend(own);
        headers.insert(REQUEST_ID_HEADER, id(&record.request_id));
        headers.insert(self.session_header.clone(), id(&record.session_id));
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(record.body_bytes));
        headers
    }
}

fn log_start(record: &RequestRecord) {
    tracing::debug!(
        id = record.request_id,
        session = record.session_id,
        lane = record.lane,
        conversation = record.conversation_id,
        turn = record.turn_index,
        isl_planned = record.isl_planned,
        osl_planned = record.osl_planned,
        "request begins"
    );
}

/// Says nothing of the server's own words: an error may repeat the key or the prompt.
fn log_end(record: &RequestRecord) {
    tracing::debug!(
        id = record.request_id,
        outcome = ?record.outcome,
        failure_kind = ?record.failure_kind,
        cancel_cause = ?record.cancel_cause,
        status = record.http_status,
        chunks = record.chunks.len(),
        "request ended"
    );
}

/// Headers in aiperf 0.12.0's order (`aiperf-corpus` §6). A map keeps the place of a name whose value is replaced, so ids
/// and length hold their places here.
fn common_headers(options: &ClientOptions) -> Result<HeaderMap, ClientError> {
    let host = options.endpoint.host_header();
    let mut headers = HeaderMap::new();
    let host_value = HeaderValue::from_str(&host).map_err(|_| ClientError::Host { host })?;
    headers.insert(header::HOST, host_value);
    headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
    headers.insert(REQUEST_ID_HEADER, HeaderValue::from_static(""));
    headers.insert(options.session_header.clone(), HeaderValue::from_static(""));
    for (name, value) in &options.headers {
        headers.insert(name.clone(), value.clone());
    }
    if let Some(key) = &options.key {
        let value = key.authorization().map_err(|_| ClientError::Key)?;
        headers.insert(header::AUTHORIZATION, value);
    }
    for (name, value) in [
        (header::ACCEPT, "text/event-stream"),
        (header::CONTENT_TYPE, "application/json"),
        (header::CONTENT_LENGTH, ""),
    ] {
        headers
            .entry(name)
            .or_insert_with(|| HeaderValue::from_static(value));
    }
    Ok(headers)
}
