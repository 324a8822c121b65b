//! Reading the head of a request or an answer, and the two places of a request's head that a proxy must change.
//!
//! The server is to get what it would get without the proxy between: its own name in `Host`, and the path below its own
//! base. Every other byte of a head stays as it is: order, case and spacing of headers included.

use std::ops::Range;

use super::framing::Framing;

/// Longest head that is read; with a longer one the connection becomes a tunnel.
pub(crate) const HEAD_BYTES_MAX: usize = 256 << 10;
/// Most headers of a head that is read.
const HEADERS_MAX: usize = 256;

/// Bytes that are no HTTP/1 head, or one beyond the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoHead;

/// The head of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestHead {
    /// Its length, the empty line included.
    pub(crate) length: usize,
    pub(crate) method: String,
    /// Path with query, as sent.
    pub(crate) target: String,
    pub(crate) framing: Framing,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    target_at: usize,
    host_at: Option<Range<usize>>,
}

/// The head of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnswerHead {
    /// Its length, the empty line included.
    pub(crate) length: usize,
    pub(crate) status: u16,
    /// As the headers say; whether there can be a body at all depends on the request, too.
    framing: Framing,
    pub(crate) content_encoding: Option<String>,
}

impl RequestHead {
    /// The head at the start of `input`; `None` while it is incomplete.
    pub(crate) fn read(input: &[u8]) -> Result<Option<Self>, NoHead> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut parsed = httparse::Request::new(&mut headers);
        let Some(length) = complete(parsed.parse(input), input)? else {
            return Ok(None);
        };
        let (Some(method), Some(target)) = (parsed.method, parsed.path) else {
            return Err(NoHead);
        };
        let hosts = || {
            parsed
                .headers
                .iter()
                .filter(|header| header.name.eq_ignore_ascii_case("host"))
        };
        let host_at = match (hosts().next(), hosts().count()) {
            (Some(host), 1) => Some(place(input, host.value)),
            _ => None,
        };
        let framing = match framing(parsed.headers)? {
            Framing::UntilClose => Framing::None, // a request without a length has no body
            framing => framing,
        };
        Ok(Some(Self {
            length,
            method: method.to_owned(),
            target: target.to_owned(),
            framing,
            headers: parsed
                .headers
                .iter()
                .map(|header| (header.name.to_ascii_lowercase(), header.value.to_vec()))
                .collect(),
            target_at: place(input, target.as_bytes()).start,
            host_at,
        }))
    }

    /// The value of the first header called `name` (lower case), if it is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name)?;
        std::str::from_utf8(&found.1).ok()
    }

    /// The path without its query.
    pub(crate) fn path(&self) -> &str {
        self.target.split(['?', '#']).next().unwrap_or_default()
    }

    /// The head as the server shall have it: `input` holds it as the client sent it, `host` is the server's own name,
    /// `prefix` the path of its base.
    pub(crate) fn rewritten(&self, input: &[u8], host: &str, prefix: &str) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.length + host.len() + prefix.len());
        // A target that is no path (`*`, an absolute URL, an authority) says itself where it belongs.
        let prefix = if self.target.starts_with('/') { prefix } else { "" };
        out.extend_from_slice(&input[..self.target_at]);
        out.extend_from_slice(prefix.as_bytes());
        let host_at = self.host_at.clone().unwrap_or(self.length..self.length);
        out.extend_from_slice(&input[self.target_at..host_at.start]);
        if self.host_at.is_some() {
            out.extend_from_slice(host.as_bytes());
        }
        out.extend_from_slice(&input[host_at.end..self.length]);
        out
    }
}

impl AnswerHead {
    /// The head at the start of `input`; `None` while it is incomplete.
    pub(crate) fn read(input: &[u8]) -> Result<Option<Self>, NoHead> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut parsed = httparse::Response::new(&mut headers);
        let Some(length) = complete(parsed.parse(input), input)? else {
            return Ok(None);
        };
        let status = parsed.code.ok_or(NoHead)?;
        let content_encoding = parsed
            .headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case("content-encoding"))
            .map(|header| String::from_utf8_lossy(header.value).trim().to_ascii_lowercase());
        Ok(Some(Self {
            length,
            status,
            framing: framing(parsed.headers)?,
            content_encoding,
        }))
    }

    /// What delimits the body of this answer to a request of `method` (RFC 9112 §6.3).
    pub(crate) fn framing(&self, method: &str) -> Framing {
        match self.status {
            100..200 | 204 | 304 => Framing::None,
            _ if method == "HEAD" => Framing::None,
            _ => self.framing,
        }
    }

    /// Whether another head follows for the same request.
    pub(crate) fn is_interim(&self) -> bool {
        (100..200).contains(&self.status) && self.status != 101
    }
}

fn complete(
    parsed: Result<httparse::Status<usize>, httparse::Error>,
    input: &[u8],
) -> Result<Option<usize>, NoHead> {
    match parsed {
        Ok(httparse::Status::Complete(length)) => Ok(Some(length)),
        Ok(httparse::Status::Partial) if input.len() < HEAD_BYTES_MAX => Ok(None),
        _ => Err(NoHead),
    }
}

/// Where `part`, which lies in `whole`, lies in it.
fn place(whole: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.as_ptr() as usize - whole.as_ptr() as usize;
    start..start + part.len()
}

fn framing(headers: &[httparse::Header<'_>]) -> Result<Framing, NoHead> {
    let values = |name: &'static str| {
        headers
            .iter()
            .filter(move |header| header.name.eq_ignore_ascii_case(name))
            .map(|header| String::from_utf8_lossy(header.value))
    };
    if let Some(coding) = values("transfer-encoding").next_back() {
        let last = coding.rsplit(',').next().unwrap_or_default().trim();
        return Ok(if last.eq_ignore_ascii_case("chunked") {
            Framing::Chunked
        } else {
            Framing::UntilClose
        });
    }
    let mut lengths = values("content-length").flat_map(|value| {
        value
            .split(',')
            .map(|one| one.trim().parse::<u64>().map_err(|_| NoHead))
            .collect::<Vec<_>>()
    });
    let Some(first) = lengths.next() else {
        return Ok(Framing::UntilClose);
    };
    // Two different lengths mean that two readers see two different ends.
    let first = first?;
    if lengths.any(|other| other != Ok(first)) {
        return Err(NoHead);
    }
    Ok(Framing::Length(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_host_and_path_of_a_request_change() {
        let cases = [
            (
                "POST /v1/x?q=1 HTTP/1.1\r\nHOST:  a:1 \r\nx-B: c\r\nX-b: d\r\ncontent-length: 2\r\n\r\n",
                "POST /m/v1/x?q=1 HTTP/1.1\r\nHOST:  up:9 \r\nx-B: c\r\nX-b: d\r\ncontent-length: 2\r\n\r\n",
            ),
            ("GET * HTTP/1.0\r\nA: b\r\n\r\n", "GET * HTTP/1.0\r\nA: b\r\n\r\n"),
            ("GET / HTTP/1.0\n\n", "GET /m/ HTTP/1.0\n\n"),
            (
                "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
                "GET /m/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            ),
        ];
        for (sent, expected) in cases {
            let with_body = format!("{sent}{{}}");
            let head = RequestHead::read(with_body.as_bytes())
                .unwrap()
                .expect("a whole head");
            assert_eq!(head.length, sent.len());
            let found = String::from_utf8(head.rewritten(with_body.as_bytes(), "up:9", "/m")).unwrap();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn the_body_of_an_answer_ends_as_its_head_and_request_say() {
        let cases = [
            (
                "GET",
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
                Framing::Length(5),
            ),
            (
                "HEAD",
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
                Framing::None,
            ),
            (
                "GET",
                "HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\n",
                Framing::None,
            ),
            (
                "GET",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\nContent-Length: 5\r\n\r\n",
                Framing::Chunked,
            ),
            ("GET", "HTTP/1.0 200 OK\r\n\r\n", Framing::UntilClose),
            (
                "GET",
                "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n",
                Framing::Length(5),
            ),
        ];
        for (method, head, expected) in cases {
            let read = AnswerHead::read(head.as_bytes()).unwrap().expect("a whole head");
            assert_eq!(read.framing(method), expected, "{method} {head}");
        }
    }

    #[test]
    fn half_a_head_waits_and_no_head_is_refused() {
        assert_eq!(RequestHead::read(b"POST /v1 HTT"), Ok(None));
        assert_eq!(
            RequestHead::read(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
            Err(NoHead)
        );
        assert_eq!(RequestHead::read(b"\x16\x03\x01\x02"), Err(NoHead));
        let twice = b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n";
        assert_eq!(RequestHead::read(twice), Err(NoHead));
        let long = vec![b'a'; HEAD_BYTES_MAX];
        assert_eq!(RequestHead::read(&long), Err(NoHead));
    }
}
