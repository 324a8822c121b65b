//! Where to ask and where files are kept.

use std::path::{Path, PathBuf};

use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};
use reqwest::{Client, Url, redirect};

use super::{FetchError, HubEnvironment, Limits, Token};

/// Whether requests go through the proxies that `HTTPS_PROXY` and its like name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Proxies {
    /// No proxy, whatever the environment says.
    #[default]
    None,
    /// Those of the environment.
    Environment,
}

/// A hub, ready to be asked. Opening one connects to nothing.
#[derive(Clone, Debug)]
pub struct Hub {
    endpoint: Url,
    cache: PathBuf,
    token: Option<Token>,
    offline: bool,
    limits: Limits,
    client: Client,
}

impl Hub {
    /// The hub that `environment` describes.
    pub fn open(environment: &HubEnvironment, limits: Limits, proxies: Proxies) -> Result<Self, FetchError> {
        let cache = environment.cache().ok_or(FetchError::NoCacheFolder)?.to_owned();
        let token = environment.token();
        if let Some(token) = &token {
            token.header()?;
        }
        let endpoint = parse_endpoint(environment.endpoint())?;
        Ok(Self {
            client: client(&endpoint, &limits, proxies)?,
            endpoint,
            cache,
            token,
            offline: environment.is_offline(),
            limits,
        })
    }

    /// The folder that holds one folder for each repository.
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// Whether only the cache may be read.
    pub fn is_offline(&self) -> bool {
        self.offline
    }

    /// The deadlines and counts of a fetch.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// The token, for a request to `url`: it goes to the endpoint's own scheme, host and port and nowhere else.
    pub(super) fn token_for(&self, url: &Url) -> Option<&Token> {
        self.token
            .as_ref()
            .filter(|_| url.origin() == self.endpoint.origin())
    }

    /// `ENDPOINT/datasets/OWNER/NAME/resolve/REVISION/FILE`, each part escaped.
    pub(super) fn file_url(&self, repository: &str, revision: &str, file: &str) -> Url {
        let mut url = self.endpoint.clone();
        url.path_segments_mut()
            .expect("http and https URLs have a path")
            .pop_if_empty()
            .push("datasets")
            .extend(repository.split('/'))
            .push("resolve")
            .push(revision)
            .extend(file.split('/'));
        url
    }

    /// Text of a stranger, fit to be repeated: one line, not long, without the token.
    pub(super) fn repeatable(&self, text: &str) -> String {
        let line: String = text
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let line = match &self.token {
            Some(token) => token.redact(&line),
            None => line,
        };
        line.chars().take(super::limits::REASON_MAX).collect()
    }
}

/// `url` as errors show it: no user, no password, no query (which holds the signature of a storage link).
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    // Both fail only for URLs that cannot have a user.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

fn parse_endpoint(text: &str) -> Result<Url, FetchError> {
    let refuse = |found: String, reason: &str| FetchError::Endpoint {
        found,
        reason: reason.to_owned(),
    };
    // A password may stand before an `@`.
    let public = text.rsplit('@').next().unwrap_or_default().to_owned();
    let url = Url::parse(text).map_err(|error| refuse(public.clone(), &error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refuse(public, "its scheme is another one"));
    }
    Ok(url)
}

fn client(endpoint: &Url, limits: &Limits, proxies: Proxies) -> Result<Client, FetchError> {
    // Another part of the program may have installed it already, and it is the only one that is compiled in.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = || {
        let builder = Client::builder()
            .user_agent(concat!("turnmill/", env!("CARGO_PKG_VERSION")))
            .default_headers(HeaderMap::from_iter([(
                ACCEPT_ENCODING,
                HeaderValue::from_static("identity"),
            )]))
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .connect_timeout(limits.connect);
        match proxies {
            Proxies::None => builder.no_proxy(),
            Proxies::Environment => builder,
        }
    };
    let built = builder().build();
    // A machine without any certificate can still ask a mirror that speaks plain HTTP.
    let built = match built {
        Err(_) if endpoint.scheme() == "http" => builder().tls_certs_only([]).build(),
        other => other,
    };
    built.map_err(|error| FetchError::Client {
        reason: super::request::reason(&error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hub(endpoint: &str) -> Result<Hub, FetchError> {
        let environment = HubEnvironment::from_fn(|name| match name {
            "HF_ENDPOINT" => Some(endpoint.to_owned()),
            "HF_HUB_CACHE" => Some("/cache".to_owned()),
            "HF_TOKEN" => Some("hf_secret".to_owned()),
            _ => None,
        });
        Hub::open(&environment, Limits::DEFAULT, Proxies::None)
    }

    #[test]
    fn every_part_of_a_file_url_is_escaped() {
        let cases = [
            (
                "https://h",
                "main",
                "traces.jsonl",
                "https://h/datasets/o/n/resolve/main/traces.jsonl",
            ),
            (
                "https://h/",
                "a/b",
                "x y.jsonl",
                "https://h/datasets/o/n/resolve/a%2Fb/x%20y.jsonl",
            ),
            (
                "http://h:1/hf/",
                "v1",
                "d/t?.jsonl",
                "http://h:1/hf/datasets/o/n/resolve/v1/d/t%3F.jsonl",
            ),
        ];
        for (endpoint, revision, file, url) in cases {
            assert_eq!(
                hub(endpoint).unwrap().file_url("o/n", revision, file).as_str(),
                url
            );
        }
    }

    #[test]
    fn the_token_is_for_the_endpoint_alone() {
        let hub = hub("https://h.example").unwrap();
        let cases = [
            ("https://h.example/datasets/x", true),
            ("https://h.example:443/y", true),
            ("https://h.example:444/y", false),
            ("http://h.example/y", false),
            ("https://cdn.h.example/y", false),
        ];
        for (url, sent) in cases {
            assert_eq!(hub.token_for(&Url::parse(url).unwrap()).is_some(), sent, "{url}");
        }
        assert!(!format!("{hub:?}").contains("hf_secret"));
        assert_eq!(hub.repeatable("no\nhf_secret"), "no [token]");
    }

    #[test]
    fn what_is_no_endpoint_is_refused_without_showing_a_password() {
        for endpoint in ["huggingface.co", "ftp://u:pw@h", "http://", "u:pw@:x"] {
            let error = hub(endpoint).unwrap_err();
            assert!(matches!(error, FetchError::Endpoint { .. }), "{endpoint}");
            assert!(!error.to_string().contains("pw"), "{error}");
        }
        let url = Url::parse("https://u:pw@h/p?X-Signature=1#f").unwrap();
        assert_eq!(shown(&url), "https://h/p");
    }
}
