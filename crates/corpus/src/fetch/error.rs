//! Everything that can go wrong with a fetch, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why there is no corpus. No variant holds a token or the signed part of a URL.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// A name that no repository, revision, file or digest can have.
    #[error("{what} `{found}` is not {expected}")]
    Name {
        /// Which name.
        what: &'static str,
        /// What was stated.
        found: String,
        /// What would be right.
        expected: &'static str,
    },
    /// `HF_ENDPOINT` is no place to ask.
    #[error("hub endpoint `{found}` is not an http or https URL: {reason}")]
    Endpoint {
        /// What was stated, without a password.
        found: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Neither a cache folder nor a home folder is known.
    #[error("no folder for the hub cache is known")]
    NoCacheFolder,
    /// The token holds characters that no header can carry.
    #[error("the hub token holds characters that cannot be sent")]
    TokenUnusable,
    /// The HTTP client could not be set up.
    #[error("no HTTP client: {reason}")]
    Client {
        /// What the client library said.
        reason: String,
    },
    /// The hub must not be asked and the cache does not have the file.
    #[error("{file} of {repository} is not in the cache and the hub is not to be asked")]
    Offline {
        /// `owner/name`.
        repository: String,
        /// The file's path in it.
        file: String,
    },
    /// A connection could not be made.
    #[error("cannot connect to {url}: {reason}")]
    Connect {
        /// What was asked for.
        url: String,
        /// What the operating system or the resolver said.
        reason: String,
    },
    /// The other side could not be trusted or does not speak TLS.
    #[error("no TLS connection to {url}: {reason}")]
    Tls {
        /// What was asked for.
        url: String,
        /// What the TLS library said.
        reason: String,
    },
    /// Connected, or trying to, and nothing came.
    #[error("no answer from {url} within {} s", after.as_secs_f64())]
    NoAnswer {
        /// What was asked for.
        url: String,
        /// The deadline that passed.
        after: Duration,
    },
    /// The content stopped coming.
    #[error("nothing more from {url} for {} s, after {bytes} bytes", after.as_secs_f64())]
    Stalled {
        /// What was asked for.
        url: String,
        /// The deadline that passed.
        after: Duration,
        /// How much of the content had come.
        bytes: u64,
    },
    /// The content comes too slowly ever to end.
    #[error("only {bytes} bytes from {url} in {} s, at least {at_least} are expected", window.as_secs_f64())]
    TooSlow {
        /// What was asked for.
        url: String,
        /// How much came in the window.
        bytes: u64,
        /// How much should have.
        at_least: u64,
        /// The window.
        window: Duration,
    },
    /// The connection ended before the content did.
    #[error("{url} broke off after {bytes}{} bytes: {reason}", of(*expected))]
    Truncated {
        /// What was asked for.
        url: String,
        /// How much of the content had come.
        bytes: u64,
        /// How much there should be, if the hub said so.
        expected: Option<u64>,
        /// How it ended.
        reason: String,
    },
    /// The hub refused.
    #[error("{url} answered {status}{}", reason.as_ref().map(|text| format!(": {text}")).unwrap_or_default())]
    Status {
        /// What was asked for.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The hub's own words.
        reason: Option<String>,
        /// Whether a token was sent.
        with_token: bool,
        /// How long the hub asks to wait.
        retry_after: Option<Duration>,
    },
    /// The hub has no such file, whatever was asked for.
    #[error("{repository} has no {file} at {}", revisions.join(" nor at "))]
    NotFound {
        /// `owner/name`.
        repository: String,
        /// The file's path in it.
        file: String,
        /// Every revision that was tried.
        revisions: Vec<String>,
    },
    /// More redirects than anybody needs.
    #[error("more than {limit} redirects from {url}")]
    Redirects {
        /// What was asked for at first.
        url: String,
        /// How many are followed.
        limit: usize,
    },
    /// A redirect that leads nowhere, or from https to http.
    #[error("{url} redirects to `{to}`, which is not followed: {reason}")]
    Redirect {
        /// What was asked for.
        url: String,
        /// Where it points.
        to: String,
        /// Why not.
        reason: &'static str,
    },
    /// An answer that is not the part that was asked for.
    #[error("{url} was asked for bytes from {asked} on and sent `{found}`")]
    WrongRange {
        /// What was asked for.
        url: String,
        /// Where the content should have gone on.
        asked: u64,
        /// The answer's `Content-Range`.
        found: String,
    },
    /// The content is packed, though nobody asked for that.
    #[error("{url} sent content encoded as `{encoding}`, which was not asked for")]
    Encoded {
        /// What was asked for.
        url: String,
        /// The answer's `Content-Encoding`.
        encoding: String,
    },
    /// A page for people in place of the file: a login, a portal, a hub's front.
    #[error("{url} sent a web page, not a file")]
    WebPage {
        /// What was asked for.
        url: String,
    },
    /// The content does not end.
    #[error("{url} has more than {limit} bytes")]
    TooLong {
        /// What was asked for.
        url: String,
        /// The limit.
        limit: u64,
    },
    /// The content is not the corpus. Nothing of it is kept.
    #[error("{url} has SHA-256 {found} over {bytes} bytes, {stated_by} states {expected}")]
    Digest {
        /// Where it came from.
        url: String,
        /// Who says what it should be.
        stated_by: &'static str,
        /// The digest that was stated.
        expected: String,
        /// The digest of the bytes that came.
        found: String,
        /// How many they are.
        bytes: u64,
    },
    /// Too many attempts failed in a row.
    #[error("gave up after {failures} failed attempts, the last one: {last}")]
    GivenUp {
        /// How many.
        failures: u32,
        /// Why the last one failed.
        #[source]
        last: Box<FetchError>,
    },
    /// Another process fetches the same file.
    #[error("another process is fetching this file: {} is locked", lock.display())]
    Busy {
        /// The lock it holds.
        lock: PathBuf,
    },
    /// The disk is full.
    #[error("no space left for {}", path.display())]
    NoSpace {
        /// What was being written.
        path: PathBuf,
    },
    /// The cache may not be written or read.
    #[error("not permitted: {}", path.display())]
    NotPermitted {
        /// What was being opened.
        path: PathBuf,
    },
    /// Anything else that the file system refused.
    #[error("{}: {source}", path.display())]
    Disk {
        /// What was being read or written.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

impl FetchError {
    /// The kind of a file system's refusal at `path`.
    pub(super) fn disk(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace { path },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::NotPermitted { path }
            }
            _ => Self::Disk { path, source },
        }
    }

    /// What to do next, where that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Status {
                status: 401,
                with_token: false,
                ..
            } => Some(
                "the repository is private, gated or not there: put a token in HF_TOKEN, or log in with Hugging Face's tools",
            ),
            Self::Status {
                status: 401,
                with_token: true,
                ..
            } => Some("the hub did not take the token: it may be expired or of another hub than HF_ENDPOINT"),
            Self::Status {
                status: 403,
                with_token,
                ..
            } => Some(if *with_token {
                "accept the repository's terms on its page, with the account that the token belongs to"
            } else {
                "the repository is gated: accept its terms on its page, then put a token in HF_TOKEN"
            }),
            Self::Status { status: 429, .. } => {
                Some("the hub limits requests; with a token the limit is higher")
            }
            Self::Endpoint { .. } => Some("HF_ENDPOINT is a URL such as https://huggingface.co"),
            Self::NoCacheFolder => Some("state a folder in HF_HUB_CACHE or HF_HOME"),
            Self::TokenUnusable => Some("HF_TOKEN or the token file holds more than the token"),
            Self::Offline { .. } => Some("unset HF_HUB_OFFLINE, or give a local copy with --corpus"),
            Self::Connect { .. } | Self::NoAnswer { .. } | Self::WebPage { .. } => {
                Some("name a mirror in HF_ENDPOINT, or give a local copy with --corpus")
            }
            Self::Tls { .. } | Self::Client { .. } => {
                Some("SSL_CERT_FILE names the certificates to trust, if they are not the system's")
            }
            Self::Digest { .. } => Some(
                "the repository's content has changed or was altered on the way; only the stated digest is the corpus",
            ),
            Self::NoSpace { .. } | Self::NotPermitted { .. } => Some("HF_HUB_CACHE can name another folder"),
            Self::GivenUp { last, .. } => last.hint(),
            _ => None,
        }
    }

    /// Whether another attempt may bring what this one did not, some of the content having come before (`begun`).
    pub(super) fn may_pass(&self, begun: bool) -> bool {
        match self {
            Self::Status { status, .. } => matches!(status, 408 | 425 | 429 | 500..=599),
            Self::Truncated { .. } | Self::Stalled { .. } | Self::TooSlow { .. } => true,
            Self::WrongRange { asked, .. } => *asked > 0,
            // A hub that never answered is not asked five times over; one that did may have had a bad moment.
            Self::Connect { .. } | Self::NoAnswer { .. } => begun,
            _ => false,
        }
    }

    /// How long the hub asked to wait.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

fn of(expected: Option<u64>) -> String {
    expected.map(|total| format!(" of {total}")).unwrap_or_default()
}
