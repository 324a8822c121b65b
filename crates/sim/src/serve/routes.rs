//! From an HTTP request to its answer: the routes, the log's first lines on it, and faults that need no stream.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Either, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use sha2::{Digest, Sha256};

use super::floor::Shared;
use super::generate;
use super::stream::{BrokenOff, StreamBody};
use crate::answer;
use crate::log::{Observation, Outcome, Witness};
use crate::refusal::Refusal;
use crate::request::{Ask, Endpoint};

/// What `/version` states: the vLLM whose shapes these are, marked as not being it.
const VERSION: &str = "0.32.0+turnmill.sim";
/// Bodies above this are digested and parsed on another thread, lest tokens of other answers be late.
pub(super) const INLINE_BODY_BYTES: usize = 16 << 10;

pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PROMETHEUS: HeaderValue = HeaderValue::from_static("text/plain; version=1.0.0; charset=utf-8");
const SERVER: HeaderValue = HeaderValue::from_static("turnmill-sim");

pub(super) type Reply = Response<Either<Full<Bytes>, StreamBody>>;

/// Answers one request of connection number `connection`. An error closes the connection without an answer.
pub(super) async fn answer(
    shared: Arc<Shared>,
    connection: u64,
    request: Request<Incoming>,
) -> Result<Reply, BrokenOff> {
    let arrived_ns = shared.clock.now_ns();
    let (head, body) = request.into_parts();
    let route = route(&head.method, head.uri.path());
    let endpoint = match &route {
        Ok(Route::Generate(endpoint)) => Some(*endpoint),
        _ => None,
    };
    let limit = shared.config.body_bytes_max;
    let body = match Limited::new(body, limit).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Refusal::BodyTooLong(limit)),
        Err(_) => return Err(BrokenOff),
    };
    let body_read_ns = shared.clock.now_ns();
    let bytes = body.as_ref().map_or_else(|_| Bytes::new(), Bytes::clone);
    let (body_sha256, ask) = digest_and_parse(&shared, endpoint, bytes.clone()).await;
    let seen = Observation {
        connection,
        nth: if endpoint.is_some() { shared.next_nth() } else { 0 },
        method: head.method.to_string(),
        path: head
            .uri
            .path_and_query()
            .map_or("", |path| path.as_str())
            .to_owned(),
        headers: listed(&head.headers),
        x_request_id: text(&head.headers, "x-request-id"),
        x_correlation_id: text(&head.headers, "x-correlation-id"),
        arrived_ns,
        body_read_ns,
        body_bytes: bytes.len(),
        body_sha256,
        body: shared.log.config().keep_bodies.then_some(bytes),
        prompt_tokens: ask.as_ref().map_or(0, |ask| ask.prompt.n_tokens()),
        cached_tokens: 0,
        max_tokens: ask.as_ref().map_or(0, |ask| ask.max_tokens),
        output_tokens: 0,
        first_token_ns: None,
        last_token_ns: None,
        planned_first_token_ns: None,
        chunks: Vec::new(),
        ended_ns: None,
        outcome: Outcome::Open,
    };
    let nth = seen.nth;
    let id = seen.x_request_id.clone();
    let call = Call {
        witness: shared.log.open(shared.clock, seen),
        shared,
    };
    let authorized = call.authorize(head.uri.path(), &head.headers);
    let route = authorized.and(body).and(route);
    match route {
        Err(refusal) => Ok(call.refuse(&refusal, None)),
        Ok(Route::Generate(_)) => {
            let id = id.unwrap_or_else(|| call.shared.next_id());
            generate::answer(call, nth, &id, ask).await
        }
        Ok(Route::Tokenize) => Ok(call.tokenize(ask)),
        Ok(page) => Ok(call.page(&page)),
    }
}

enum Route {
    Generate(Endpoint),
    Tokenize,
    Models,
    Metrics,
    Version,
    Empty,
}

fn route(method: &Method, path: &str) -> Result<Route, Refusal> {
    let (route, wanted) = match path {
        "/v1/chat/completions" => (Route::Generate(Endpoint::Chat), Method::POST),
        "/v1/completions" => (Route::Generate(Endpoint::Completions), Method::POST),
        "/tokenize" => (Route::Tokenize, Method::POST),
        "/v1/models" => (Route::Models, Method::GET),
        "/metrics" => (Route::Metrics, Method::GET),
        "/version" => (Route::Version, Method::GET),
        "/health" | "/ping" => (Route::Empty, Method::GET),
        _ => return Err(Refusal::NoSuchPath),
    };
    // hyper leaves the body out of an answer to HEAD.
    let fits = *method == wanted || (*method == Method::HEAD && wanted == Method::GET);
    if fits {
        Ok(route)
    } else {
        Err(Refusal::WrongMethod)
    }
}

pub(super) type Parsed = Result<Ask, Refusal>;

async fn digest_and_parse(
    shared: &Arc<Shared>,
    endpoint: Option<Endpoint>,
    body: Bytes,
) -> ([u8; 32], Parsed) {
    let shared = Arc::clone(shared);
    let is_long = body.len() > INLINE_BODY_BYTES;
    let both = move || {
        let digest = Sha256::digest(&body).into();
        // A body for /tokenize may be either; a chat request is one with messages.
        let parsed = match endpoint {
            Some(endpoint) => Ask::parse(endpoint, &body, &shared.config),
            None if body.is_empty() => Err(Refusal::NoSuchPath),
            None => Ask::parse(Endpoint::Chat, &body, &shared.config)
                .or_else(|_| Ask::parse(Endpoint::Completions, &body, &shared.config)),
        };
        (digest, parsed)
    };
    if is_long {
        let joined = tokio::task::spawn_blocking(both).await;
        joined.expect("reading a body does not panic")
    } else {
        both()
    }
}

/// One request whose head and body are known.
pub(super) struct Call {
    pub(super) shared: Arc<Shared>,
    pub(super) witness: Witness,
}

impl Call {
    fn authorize(&self, path: &str, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some(key) = &self.shared.config.api_key else {
            return Ok(());
        };
        let given = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        let given = given.and_then(|value| value.strip_prefix("Bearer "));
        if path.starts_with("/v1") && given != Some(key.as_str()) {
            return Err(Refusal::Unauthorized);
        }
        Ok(())
    }

    fn tokenize(&self, ask: Parsed) -> Reply {
        let ask = match ask {
            Ok(ask) => ask,
            Err(refusal) => return self.refuse(&refusal, None),
        };
        let ids: Vec<String> = ask.prompt.ids().map(|id| id.to_string()).collect();
        let body = format!(
            r#"{{"count":{},"max_model_len":{},"tokens":[{}],"token_strs":null}}"#,
            ids.len(),
            self.shared.config.max_model_len,
            ids.join(",")
        );
        self.witness.end(Outcome::Answered);
        reply(StatusCode::OK, JSON, Either::Left(Full::from(body)))
    }

    fn page(&self, route: &Route) -> Reply {
        let config = &self.shared.config;
        let (kind, body) = match route {
            Route::Models => {
                let now_s = self.shared.clock.wall_s() as u64;
                (JSON, answer::models(&config.model, config.max_model_len, now_s))
            }
            Route::Metrics => (PROMETHEUS, self.shared.metrics()),
            Route::Version => (JSON, format!(r#"{{"version":"{VERSION}"}}"#)),
            Route::Generate(_) | Route::Tokenize | Route::Empty => (JSON, String::new()),
        };
        self.witness.end(Outcome::Answered);
        reply(StatusCode::OK, kind, Either::Left(Full::from(body)))
    }

    pub(super) fn refuse(&self, refusal: &Refusal, retry_after_s: Option<u32>) -> Reply {
        let status = refusal.status();
        self.witness.end(Outcome::Refused(status));
        let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut reply = reply(code, JSON, Either::Left(Full::from(refusal.body())));
        if let Some(seconds) = retry_after_s {
            reply.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        reply
    }
}

pub(super) fn reply(status: StatusCode, kind: HeaderValue, body: Either<Full<Bytes>, StreamBody>) -> Reply {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(header::SERVER, SERVER);
    headers.insert(header::CONTENT_TYPE, kind);
    reply
}

fn listed(headers: &HeaderMap) -> Vec<(String, String)> {
    let pair = |(name, value): (&HeaderName, &HeaderValue)| {
        let value = String::from_utf8_lossy(value.as_bytes());
        (name.as_str().to_owned(), value.into_owned())
    };
    headers.iter().map(pair).collect()
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?;
    value.to_str().ok().map(str::to_owned)
}
