//! Where a server's paths are, from whatever form of base URL the user gives.
//!
//! A base may end with a slash or not, with `/v1` or not, or with the endpoint's own path; a missing scheme becomes
//! `http://`; IPv6 literals stand in brackets or bare (aiperf 0.12.0, `metrics-and-exports` §2.1).

use std::net::Ipv6Addr;

use reqwest::Url;

/// Path of the chat endpoint below the base.
pub const CHAT_PATH: &str = "/v1/chat/completions";
/// Path of the completions endpoint below the base.
pub const COMPLETIONS_PATH: &str = "/v1/completions";

/// A base URL that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// It is no URL.
    #[error("`{given}` is no URL ({why}); expected something like http://127.0.0.1:8000")]
    Malformed {
        /// What was given.
        given: String,
        /// What is wrong with it.
        why: String,
    },
    /// Its scheme is neither http nor https.
    #[error("`{given}` has the scheme `{scheme}`; expected http or https")]
    Scheme {
        /// What was given.
        given: String,
        /// Its scheme.
        scheme: String,
    },
    /// It names no host.
    #[error("`{given}` names no host; expected something like http://127.0.0.1:8000")]
    NoHost {
        /// What was given.
        given: String,
    },
    /// It holds a user name or password, which would end up in records.
    #[error("the URL of `{host}` holds a user name or password; hint: give a key as an option instead")]
    Credentials {
        /// Its host.
        host: String,
    },
}

/// A server, and where its paths are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    request: Url,
    /// What `/v1/…` hangs below; its path ends with a slash.
    root: Url,
}

impl Endpoint {
    /// `base` as the user gave it, and the `path` of the endpoint (usually [`CHAT_PATH`]).
    ///
    /// # Errors
    /// When `base` is no URL of an HTTP server.
    pub fn new(base: &str, path: &str) -> Result<Self, EndpointError> {
        let base = parse(base)?;
        let path = path.trim_matches('/');
        let given = base.path().trim_end_matches('/');
        let root = without_tail(given, path)
            .or_else(|| without_tail(given, "v1"))
            .unwrap_or(given);
        let below_root = match without_tail(given, path) {
            Some(_) => given.to_owned(),
            None if path.starts_with("v1/") => format!("{root}/{path}"),
            None => format!("{given}/{path}"),
        };
        Ok(Self {
            request: with_path(&base, &below_root),
            root: with_path(&base, &format!("{root}/")),
        })
    }

    /// Where requests go.
    pub fn request_url(&self) -> &Url {
        &self.request
    }

    /// `/v1/models`.
    pub fn models_url(&self) -> Url {
        self.below("v1/models")
    }

    /// `/version` (vLLM).
    pub fn version_url(&self) -> Url {
        self.below("version")
    }

    /// `/metrics` (vLLM's Prometheus text).
    pub fn metrics_url(&self) -> Url {
        self.below("metrics")
    }

    /// Whether the connection is encrypted.
    pub fn is_tls(&self) -> bool {
        self.request.scheme() == "https"
    }

    /// Host without brackets, and port: what is connected to.
    pub fn host_and_port(&self) -> (&str, u16) {
        let host = self.request.host_str().unwrap_or_default();
        let port = self.request.port_or_known_default().unwrap_or(80);
        (host.trim_matches(['[', ']']), port)
    }

    /// The `Host` header: host, and the port unless it is the scheme's own.
    pub fn host_header(&self) -> String {
        let host = self.request.host_str().unwrap_or_default();
        match self.request.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    fn below(&self, path: &str) -> Url {
        with_path(&self.root, &format!("{}{path}", self.root.path()))
    }
}

/// A URL in whatever form a user gives it.
pub(crate) fn parse(given: &str) -> Result<Url, EndpointError> {
    let given = given.trim();
    let with_scheme = if given.contains("://") {
        given.to_owned()
    } else if given.parse::<Ipv6Addr>().is_ok() {
        format!("http://[{given}]")
    } else {
        format!("http://{given}")
    };
    let mut url = Url::parse(&with_scheme).map_err(|error| EndpointError::Malformed {
        given: given.to_owned(),
        why: error.to_string(),
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(EndpointError::Scheme {
            given: given.to_owned(),
            scheme: url.scheme().to_owned(),
        });
    }
    let host = url.host_str().unwrap_or_default().to_owned();
    if host.is_empty() {
        return Err(EndpointError::NoHost {
            given: given.to_owned(),
        });
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(EndpointError::Credentials { host });
    }
    url.set_fragment(None);
    Ok(url)
}

/// `path` without a last part `tail`, when it has that.
fn without_tail<'a>(path: &'a str, tail: &str) -> Option<&'a str> {
    path.strip_suffix(tail)?.strip_suffix('/')
}

fn with_path(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url
}
