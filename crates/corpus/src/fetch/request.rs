//! One request to the hub: redirects followed by hand, what the hub says about the file collected on the way.
//!
//! By hand, because the commit and the content's name stand in the redirect itself, and because the token must not travel
//! to the storage host that it points to.

use std::error::Error;
use std::time::Duration;

use reqwest::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, LOCATION,
    RANGE, RETRY_AFTER,
};
use reqwest::{Response, StatusCode, Url};

use super::digest::is_sha256;
use super::hub::{Hub, shown};
use super::limits::REDIRECTS_MAX;
use super::{FetchError, Progress};

const COMMIT: HeaderName = HeaderName::from_static("x-repo-commit");
const LINKED_ETAG: HeaderName = HeaderName::from_static("x-linked-etag");
const LINKED_SIZE: HeaderName = HeaderName::from_static("x-linked-size");
const ERROR_MESSAGE: HeaderName = HeaderName::from_static("x-error-message");

/// What the hub says about the file, wherever its bytes come from. None of it is trusted for what the bytes are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stated {
    /// The commit that the revision stands for.
    pub(super) commit: Option<String>,
    /// The content's name in the cache: the SHA-256 of a large file, a git object id of a small one.
    pub(super) etag: Option<String>,
    /// SHA-256 of a large file.
    pub(super) sha256: Option<String>,
    /// Size of a large file.
    pub(super) size: Option<u64>,
}

/// Where an answer's body stands in the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// From the beginning.
    Whole,
    /// From the byte that was asked for.
    Rest,
    /// There is nothing from that byte on.
    Nothing,
}

/// The head of an answer whose body has yet to come.
pub(super) struct Answer {
    pub(super) response: Response,
    pub(super) stated: Stated,
    pub(super) part: Part,
    /// Size of the whole content, as far as any header says so.
    pub(super) total: Option<u64>,
    /// Where the body comes from, fit to be shown.
    pub(super) url: String,
}

/// Asks for the file at `first`, from byte `offset` on, and follows redirects until the content begins.
///
/// A 404 comes back as [`FetchError::Status`]; who knows the revision makes it a `NotFound`.
pub(super) async fn ask(
    hub: &Hub,
    first: &Url,
    offset: u64,
    progress: &mut dyn FnMut(Progress),
) -> Result<Answer, FetchError> {
    let mut url = first.clone();
    let mut stated = Stated::default();
    for _ in 0..=REDIRECTS_MAX {
        progress(Progress::Asking { url: shown(&url) });
        let response = send(hub, &url, offset).await?;
        stated.add(response.headers());
        if !response.status().is_redirection() || response.status() == StatusCode::NOT_MODIFIED {
            return answer(hub, response, stated, &url, offset);
        }
        url = next(hub, &response, &url)?;
    }
    Err(FetchError::Redirects {
        url: shown(first),
        limit: REDIRECTS_MAX,
    })
}

async fn send(hub: &Hub, url: &Url, offset: u64) -> Result<Response, FetchError> {
    let mut request = hub.client().get(url.clone());
    if let Some(token) = hub.token_for(url) {
        request = request.header(AUTHORIZATION, token.header()?);
    }
    if offset > 0 {
        request = request.header(RANGE, format!("bytes={offset}-"));
    }
    let after = hub.limits().first_byte;
    match tokio::time::timeout(after, request.send()).await {
        Err(_) => Err(FetchError::NoAnswer {
            url: shown(url),
            after,
        }),
        Ok(sent) => sent.map_err(|error| connection_error(hub, &error, url)),
    }
}

/// Where `response` to a request for `url` points.
fn next(hub: &Hub, response: &Response, url: &Url) -> Result<Url, FetchError> {
    let location = text(response.headers(), &LOCATION).unwrap_or_default();
    let refuse = |reason| FetchError::Redirect {
        url: shown(url),
        to: hub.repeatable(location.split('?').next().unwrap_or_default()),
        reason,
    };
    let to = url.join(&location).map_err(|_| refuse("it is no URL"))?;
    match (url.scheme(), to.scheme()) {
        _ if location.is_empty() => Err(refuse("it names no place")),
        ("https", "http") => Err(refuse("it leaves https")),
        (_, "http" | "https") => Ok(to),
        _ => Err(refuse("it leaves http")),
    }
}

/// The head of `response`, if it begins the content at byte 0 or at `offset`.
fn answer(
    hub: &Hub,
    response: Response,
    stated: Stated,
    url: &Url,
    offset: u64,
) -> Result<Answer, FetchError> {
    let headers = response.headers();
    let range = text(headers, &CONTENT_RANGE);
    let length = response.content_length();
    let (part, total) = match response.status() {
        StatusCode::OK => (Part::Whole, length),
        StatusCode::PARTIAL_CONTENT => match range.as_deref().and_then(parse_range) {
            Some((start, total)) if offset > 0 && start == offset => {
                (Part::Rest, total.or(length.map(|rest| offset + rest)))
            }
            _ => {
                return Err(FetchError::WrongRange {
                    url: shown(url),
                    asked: offset,
                    found: hub.repeatable(range.as_deref().unwrap_or("206 without Content-Range")),
                });
            }
        },
        StatusCode::RANGE_NOT_SATISFIABLE if offset > 0 => {
            let total = range
                .as_deref()
                .and_then(|text| text.strip_prefix("bytes */")?.parse().ok());
            (Part::Nothing, total)
        }
        _ => return Err(refusal(hub, &response, url)),
    };
    if let Some(encoding) = text(headers, &CONTENT_ENCODING).filter(|encoding| encoding != "identity") {
        return Err(FetchError::Encoded {
            url: shown(url),
            encoding: hub.repeatable(&encoding),
        });
    }
    if text(headers, &CONTENT_TYPE).is_some_and(|kind| kind.to_ascii_lowercase().starts_with("text/html")) {
        return Err(FetchError::WebPage { url: shown(url) });
    }
    Ok(Answer {
        total: total.or(stated.size),
        url: shown(url),
        response,
        stated,
        part,
    })
}

fn refusal(hub: &Hub, response: &Response, url: &Url) -> FetchError {
    let seconds = text(response.headers(), &RETRY_AFTER).and_then(|value| value.parse().ok());
    FetchError::Status {
        url: shown(url),
        status: response.status().as_u16(),
        reason: text(response.headers(), &ERROR_MESSAGE).map(|words| hub.repeatable(&words)),
        with_token: hub.token_for(url).is_some(),
        retry_after: seconds.map(Duration::from_secs),
    }
}

/// `bytes START-END/TOTAL`: the start, and the total unless it is `*`.
fn parse_range(text: &str) -> Option<(u64, Option<u64>)> {
    let (span, total) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (start, end) = span.split_once('-')?;
    let (start, end): (u64, u64) = (start.trim().parse().ok()?, end.trim().parse().ok()?);
    let total = match total.trim() {
        "*" => None,
        digits => Some(digits.parse::<u64>().ok()?),
    };
    (start <= end && total.is_none_or(|total| end < total)).then_some((start, total))
}

impl Stated {
    /// Takes from the headers of one more answer what no earlier one said; the linked name outranks a plain one.
    fn add(&mut self, headers: &HeaderMap) {
        let linked = text(headers, &LINKED_ETAG).and_then(|etag| blob_name(&etag));
        if self.sha256.is_none() {
            self.sha256 = linked.clone().filter(|name| is_sha256(name));
        }
        if self.commit.is_none() {
            self.commit = text(headers, &COMMIT).filter(|commit| is_commit(commit));
            // Only the hub itself names the content; the storage host behind it has entity tags of its own.
            if self.commit.is_some() {
                self.etag = text(headers, &ETAG).and_then(|etag| blob_name(&etag));
            }
        }
        self.etag = linked.or(self.etag.take());
        self.size = self
            .size
            .or_else(|| text(headers, &LINKED_SIZE).and_then(|size| size.parse().ok()));
    }
}

/// An entity tag as the name of a file: without quotes or `W/`, and nothing but letters and digits in it.
fn blob_name(etag: &str) -> Option<String> {
    let name = etag.strip_prefix("W/").unwrap_or(etag).trim_matches('"');
    let fits = (1..=128).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    fits.then(|| name.to_owned())
}

/// Whether `text` is a commit: 40 hex digits.
pub(super) fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.trim().to_owned())
}

/// What kind of failure it was that no answer came.
fn connection_error(hub: &Hub, error: &reqwest::Error, url: &Url) -> FetchError {
    let url = shown(url);
    let reason = reason(error);
    if error.is_timeout() {
        let after = hub.limits().connect;
        FetchError::NoAnswer { url, after }
    } else if is_tls(error) {
        FetchError::Tls { url, reason }
    } else if error.is_connect() {
        FetchError::Connect { url, reason }
    } else {
        FetchError::Truncated {
            url,
            bytes: 0,
            expected: None,
            reason,
        }
    }
}

/// The innermost cause in words. The outer ones repeat the URL, with whatever is signed in it.
pub(super) fn reason(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    if std::ptr::addr_eq(cause, error) {
        return "the HTTP client gave up".to_owned();
    }
    cause.to_string()
}

/// Whether a TLS error lies anywhere inside. I/O errors hide what they wrap: their `source` is that of the wrapped one.
fn is_tls(cause: &(dyn Error + 'static)) -> bool {
    let wrapped = cause
        .downcast_ref::<std::io::Error>()
        .and_then(std::io::Error::get_ref);
    cause.is::<rustls::Error>()
        || wrapped.is_some_and(|inner| is_tls(inner))
        || cause.source().is_some_and(is_tls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_ranges() {
        let cases = [
            ("bytes 5-9/10", Some((5, Some(10)))),
            ("bytes 5-9/*", Some((5, None))),
            ("bytes 5-10/10", None),
            ("bytes 9-5/10", None),
            ("bytes */10", None),
            ("items 5-9/10", None),
            ("bytes -9/10", None),
            ("", None),
        ];
        for (text, range) in cases {
            assert_eq!(parse_range(text), range, "{text}");
        }
    }

    #[test]
    fn an_entity_tag_names_a_file_only_when_it_is_a_plain_word() {
        let cases = [
            ("\"abc\"", Some("abc")),
            ("W/\"a1\"", Some("a1")),
            ("\"../../x\"", None),
            ("\"\"", None),
            ("\"5f-600\"", None),
        ];
        for (etag, name) in cases {
            assert_eq!(blob_name(etag).as_deref(), name, "{etag}");
        }
        assert_eq!(blob_name(&"a".repeat(129)), None);
    }
}
