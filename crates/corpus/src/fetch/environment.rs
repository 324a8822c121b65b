//! What the environment says about the hub, read once.
//!
//! The variables and their precedence are those of Hugging Face's Python tools.

use std::fmt;
use std::path::{Path, PathBuf};

use reqwest::header::HeaderValue;

use super::FetchError;

/// Where the hub is when `HF_ENDPOINT` does not say so.
const ENDPOINT: &str = "https://huggingface.co";

/// The variables that decide about the hub, as they were found.
#[derive(Clone, Debug, Default)]
pub struct HubEnvironment {
    endpoint: Option<String>,
    cache: Option<PathBuf>,
    token: Option<Token>,
    token_file: Option<PathBuf>,
    offline: bool,
}

impl HubEnvironment {
    /// Asks `variable` for each name; one that is set but empty counts as not set.
    ///
    /// `HF_ENDPOINT`; the cache in `HF_HUB_CACHE`, else `HUGGINGFACE_HUB_CACHE`, else `hub` in `HF_HOME`, else in
    /// `XDG_CACHE_HOME/huggingface`, else in `~/.cache/huggingface`; the token in `HF_TOKEN`, else
    /// `HUGGING_FACE_HUB_TOKEN`, else in the file that `HF_TOKEN_PATH` names, else in `token` beside `hub`, unless
    /// `HF_HUB_DISABLE_IMPLICIT_TOKEN` is true; no network when `HF_HUB_OFFLINE` is true.
    pub fn from_fn(variable: impl Fn(&str) -> Option<String>) -> Self {
        let text = |name| {
            variable(name)
                .map(|value| value.trim().to_owned())
                .filter(|value| !value.is_empty())
        };
        let user = text("HOME").map(PathBuf::from);
        let path = |name| text(name).map(|value| expand(&value, user.as_deref()));
        let home = path("HF_HOME")
            .or_else(|| path("XDG_CACHE_HOME").map(|cache| cache.join("huggingface")))
            .or_else(|| user.as_ref().map(|user| user.join(".cache/huggingface")));
        let silent = text("HF_HUB_DISABLE_IMPLICIT_TOKEN").is_some_and(|value| is_true(&value));
        Self {
            endpoint: text("HF_ENDPOINT"),
            cache: path("HF_HUB_CACHE")
                .or_else(|| path("HUGGINGFACE_HUB_CACHE"))
                .or_else(|| home.as_ref().map(|home| home.join("hub"))),
            token: text("HF_TOKEN")
                .or_else(|| text("HUGGING_FACE_HUB_TOKEN"))
                .filter(|_| !silent)
                .map(Token),
            token_file: path("HF_TOKEN_PATH")
                .or_else(|| home.as_ref().map(|home| home.join("token")))
                .filter(|_| !silent),
            offline: text("HF_HUB_OFFLINE").is_some_and(|value| is_true(&value)),
        }
    }

    /// The process's own environment.
    pub fn from_process() -> Self {
        Self::from_fn(|name| std::env::var(name).ok())
    }

    /// Where the hub is, as text.
    pub fn endpoint(&self) -> &str {
        self.endpoint.as_deref().unwrap_or(ENDPOINT)
    }

    /// The folder that holds one folder for each repository; `None` when not even a home folder is known.
    pub fn cache(&self) -> Option<&Path> {
        self.cache.as_deref()
    }

    /// Whether the hub must not be asked.
    pub fn is_offline(&self) -> bool {
        self.offline
    }

    /// The token of the environment, else of the token file. A file that is not there or cannot be read is no token.
    pub fn token(&self) -> Option<Token> {
        if let Some(token) = &self.token {
            return Some(token.clone());
        }
        let path = self.token_file.as_deref()?;
        match std::fs::read_to_string(path) {
            Ok(text) => Some(text.trim().to_owned())
                .filter(|text| !text.is_empty())
                .map(Token),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "the hub token cannot be read, asking without one");
                None
            }
        }
    }
}

/// An access token of the hub. Cannot be printed: neither by `{}` (it has none) nor by `{:?}`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// The value of the `Authorization` header, marked so that nothing below prints it either.
    pub(super) fn header(&self) -> Result<HeaderValue, FetchError> {
        let mut value =
            HeaderValue::from_str(&format!("Bearer {}", self.0)).map_err(|_| FetchError::TokenUnusable)?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// `text` without the token, should somebody have put it there.
    pub(super) fn redact(&self, text: &str) -> String {
        text.replace(&self.0, "[token]")
    }
}

impl From<String> for Token {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token([token])")
    }
}

/// The spellings that Hugging Face's tools take for true.
fn is_true(value: &str) -> bool {
    ["1", "ON", "YES", "TRUE"].contains(&value.to_ascii_uppercase().as_str())
}

/// `~/…` inside the user's home folder.
fn expand(path: &str, user: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~/"), user) {
        (Some(rest), Some(user)) => user.join(rest),
        _ => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Variables<'a> = &'a [(&'a str, &'a str)];

    fn environment(variables: &[(&str, &str)]) -> HubEnvironment {
        HubEnvironment::from_fn(|name| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_cache_is_where_hugging_face_looks_for_it() {
        let cases: &[(Variables, Option<&str>)] = &[
            (&[], None),
            (&[("HOME", "/h")], Some("/h/.cache/huggingface/hub")),
            (
                &[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")],
                Some("/x/huggingface/hub"),
            ),
            (
                &[("HOME", "/h"), ("XDG_CACHE_HOME", "/x"), ("HF_HOME", "/f")],
                Some("/f/hub"),
            ),
            (&[("HOME", "/h"), ("HF_HOME", "~/f")], Some("/h/f/hub")),
            (
                &[("HF_HOME", "/f"), ("HUGGINGFACE_HUB_CACHE", "/old")],
                Some("/old"),
            ),
            (
                &[("HUGGINGFACE_HUB_CACHE", "/old"), ("HF_HUB_CACHE", "/c")],
                Some("/c"),
            ),
            (&[("HF_HOME", "/f"), ("HF_HUB_CACHE", "")], Some("/f/hub")),
        ];
        for (variables, cache) in cases {
            assert_eq!(
                environment(variables).cache(),
                cache.map(Path::new),
                "{variables:?}"
            );
        }
    }

    #[test]
    fn the_token_comes_from_the_usual_places_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_str().unwrap();
        let other = folder.path().join("other");
        std::fs::write(folder.path().join("token"), "hf_home\n").unwrap();
        std::fs::write(&other, " hf_other ").unwrap();
        let other = other.to_str().unwrap();
        let cases: &[(Variables, Option<&str>)] = &[
            (&[], None),
            (&[("HF_HOME", "/nowhere/at/all")], None),
            (&[("HF_HOME", home)], Some("hf_home")),
            (&[("HF_HOME", home), ("HF_TOKEN_PATH", other)], Some("hf_other")),
            (
                &[("HF_HOME", home), ("HUGGING_FACE_HUB_TOKEN", "hf_old")],
                Some("hf_old"),
            ),
            (
                &[("HUGGING_FACE_HUB_TOKEN", "hf_old"), ("HF_TOKEN", "hf_new\n")],
                Some("hf_new"),
            ),
            (
                &[
                    ("HF_HOME", home),
                    ("HF_TOKEN", "a"),
                    ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "yes"),
                ],
                None,
            ),
        ];
        for (variables, token) in cases {
            let expected = token.map(|text| Token(text.to_owned()));
            assert!(environment(variables).token() == expected, "{token:?}");
        }
    }

    #[test]
    fn endpoint_and_offline_switch() {
        assert_eq!(environment(&[]).endpoint(), "https://huggingface.co");
        assert_eq!(
            environment(&[("HF_ENDPOINT", " http://m ")]).endpoint(),
            "http://m"
        );
        for (value, offline) in [
            ("1", true),
            ("True", true),
            ("0", false),
            ("", false),
            ("off", false),
        ] {
            assert_eq!(
                environment(&[("HF_HUB_OFFLINE", value)]).is_offline(),
                offline,
                "{value}"
            );
        }
    }

    #[test]
    fn a_token_is_never_printed() {
        let found = environment(&[("HF_TOKEN", "hf_secret")]);
        let token = found.token().unwrap();
        let header = token.header().unwrap();
        for printed in [format!("{found:?}"), format!("{token:?}"), format!("{header:?}")] {
            assert!(!printed.contains("hf_secret"), "{printed}");
        }
        assert_eq!(token.redact("bad hf_secret!"), "bad [token]!");
        let broken = Token::from("hf_secret\nX-Evil: 1".to_owned())
            .header()
            .unwrap_err();
        assert!(matches!(broken, FetchError::TokenUnusable));
        assert!(!format!("{broken} {broken:?}").contains("hf_secret"));
    }
}
