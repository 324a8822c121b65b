//! An error's text together with the texts of what caused it, for libraries that leave the cause out of their own.

use std::error::Error;

/// `error: cause: cause of the cause`.
pub(crate) fn in_full(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
