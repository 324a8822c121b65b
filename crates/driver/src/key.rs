//! A secret that cannot be printed.

use std::fmt;

use hyper::header::{HeaderValue, InvalidHeaderValue};

use crate::secrets::Secrets;

/// A bearer key. Neither its `Debug` form nor any error shows it.
#[derive(Clone)]
pub struct BearerKey(String);

impl BearerKey {
    /// Takes the key as the user gave it; white space at its ends (a file's last line end) is dropped.
    pub fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    /// `secrets` and the key.
    pub(crate) fn added_to(&self, secrets: Secrets) -> Secrets {
        secrets.with(&self.0)
    }

    /// The `Authorization` header's value, marked as sensitive.
    ///
    /// # Errors
    /// When the key has characters that a header cannot hold.
    pub fn authorization(&self) -> Result<HeaderValue, InvalidHeaderValue> {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.0))?;
        value.set_sensitive(true);
        Ok(value)
    }
}

impl fmt::Debug for BearerKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("BearerKey(…)")
    }
}
