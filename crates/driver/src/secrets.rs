//! What must stand in no file and no message although a server may say it: keys, wherever a request has them.
//!
//! Knows nothing of who asks; never shows what it holds, not even in its `Debug` form.

use std::fmt;

/// Headers whose values are secrets.
pub const SECRET_HEADERS: [&str; 6] = [
    "authorization",
    "proxy-authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "cookie",
];
/// Shorter values are not taken for secrets: removing them would garble what is no secret. A key that is stated as one is
/// taken at any length.
pub const SECRET_BYTES_MIN: usize = 6;
/// What stands in a secret's place.
const HIDDEN: &str = "[key]";

/// The secrets of one request, or of all requests of a run.
#[derive(Clone, Default)]
pub struct Secrets(Vec<String>);

impl Secrets {
    /// Everything in a head that a key may stand in: the values of [`SECRET_HEADERS`] and their parts, and the values of
    /// `query` whose names speak of a key. Names are in lower case.
    pub fn of_head<'a>(headers: impl IntoIterator<Item = (&'a str, &'a [u8])>, query: &str) -> Self {
        let mut found = Vec::new();
        let mut add = |value: &str| {
            let value = value.trim();
            if value.len() >= SECRET_BYTES_MIN && !value.eq_ignore_ascii_case("bearer") {
                found.push(value.to_owned());
            }
        };
        for (name, value) in headers {
            if SECRET_HEADERS.contains(&name) {
                let value = String::from_utf8_lossy(value);
                value.split([' ', ';', ',']).for_each(&mut add);
                value.split([';', '=']).skip(1).for_each(&mut add);
            }
        }
        for pair in query.split('&') {
            if let Some((name, value)) = pair.split_once('=')
                && name.to_ascii_lowercase().contains("key")
            {
                add(value);
            }
        }
        Self(found).in_order()
    }

    /// The same and `key`, whatever its length.
    #[must_use]
    pub fn with(mut self, key: &str) -> Self {
        if !key.is_empty() {
            self.0.push(key.to_owned());
        }
        self.in_order()
    }

    /// The longest first, so that no part of one is left when another is hidden.
    fn in_order(mut self) -> Self {
        // Some JSON encoders write a slash so.
        let escaped: Vec<String> = self
            .0
            .iter()
            .filter(|one| one.contains('/'))
            .map(|one| one.replace('/', "\\/"))
            .collect();
        self.0.extend(escaped);
        self.0.sort_by(|a, b| (b.len(), a).cmp(&(a.len(), b)));
        self.0.dedup();
        self
    }

    /// `text` with [`HIDDEN`] for every secret, and for the first part of one where `text` was cut (`wire::error::bounded`).
    pub fn hide(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), HIDDEN);
            }
        }
        if let Some(kept) = text.strip_suffix('…') {
            let part = self
                .0
                .iter()
                .filter_map(|secret| longest_part_at_end(kept, secret))
                .max();
            if let Some(part) = part {
                text = format!("{}{HIDDEN}…", &kept[..kept.len() - part]);
            }
        }
        text
    }
}

/// Bytes of the longest beginning of `secret`, from [`SECRET_BYTES_MIN`] on, that `text` ends with.
fn longest_part_at_end(text: &str, secret: &str) -> Option<usize> {
    (SECRET_BYTES_MIN..secret.len())
        .rev()
        .find(|length| secret.is_char_boundary(*length) && text.ends_with(&secret[..*length]))
}

impl fmt::Debug for Secrets {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Secrets({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_known_wherever_a_head_has_them() {
        let headers: [(&str, &[u8]); 4] = [
            ("authorization", b"Bearer sk-abcdef"),
            ("x-api-key", b"other-key-1"),
            ("cookie", b"a=cookie-1; b=cookie-22"),
            ("x-other", b"plain-value"),
        ];
        let secrets = Secrets::of_head(headers, "api_key=query-secret&top=10000000");
        for secret in [
            "query-secret",
            "sk-abcdef",
            "other-key-1",
            "cookie-1",
            "cookie-22",
        ] {
            assert_eq!(secrets.hide(&format!("no {secret}!")), "no [key]!", "{secret}");
        }
        for kept in ["plain-value", "Bearer", "10000000", "[key] x-api-key"] {
            assert_eq!(secrets.hide(kept), kept);
        }
        assert_eq!(format!("{secrets:?}"), "Secrets(7)");
    }

    #[test]
    fn a_stated_key_is_hidden_at_any_length_and_in_any_spelling() {
        assert_eq!(Secrets::default().with("ab").hide("cab, ab"), "c[key], [key]");
        assert_eq!(Secrets::default().with("").hide("text"), "text");
        let slashed = Secrets::default().with("sk/abc/def");
        assert_eq!(
            slashed.hide(r#"{"a":"sk\/abc\/def","b":"sk/abc/def"}"#),
            r#"{"a":"[key]","b":"[key]"}"#
        );
        // One key within another: nothing of the longer one is left.
        assert_eq!(
            Secrets::default()
                .with("secret")
                .with("secret-tail")
                .hide("secret-tail secret"),
            "[key] [key]"
        );
    }

    #[test]
    fn a_key_that_was_cut_is_hidden_too() {
        let secrets = Secrets::default().with("sk-0123456789");
        assert_eq!(secrets.hide("wrong key sk-01234…"), "wrong key [key]…");
        assert_eq!(secrets.hide("wrong key sk-0…"), "wrong key sk-0…");
        assert_eq!(secrets.hide("wrong key sk-01234"), "wrong key sk-01234");
    }
}
