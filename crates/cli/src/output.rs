//! The two places where text leaves the program: data on standard output, everything else on standard error.

#![allow(clippy::print_stderr, reason = "nothing else in the program prints")]

use std::io::{self, IsTerminal, Write};

/// An error with its causes; a cause that the text before it ends with already is not said twice.
pub(crate) fn told(error: &anyhow::Error) -> String {
    let causes = error.chain().map(ToString::to_string);
    causes.fold(String::new(), |told, cause| {
        if told.is_empty() {
            cause
        } else if told.ends_with(&cause) {
            told
        } else {
            format!("{told}: {cause}")
        }
    })
}

/// Writes data to standard output. A reader that has gone away has had enough: that is no error.
pub(crate) fn data(text: &str) -> io::Result<()> {
    with_stdout(|out| out.write_all(text.as_bytes()))
}

/// As [`data`], for what is made while it is written.
pub(crate) fn with_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes one JSON value and a line end to standard output.
pub(crate) fn json(value: &serde_json::Value) -> io::Result<()> {
    data(&format!("{value}\n"))
}

/// Says something to the person at the terminal.
pub(crate) fn say(text: &str) {
    eprintln!("{}", text.trim_end());
}

/// Colours are for terminals, and for those who do not forbid them (`NO_COLOR`).
pub(crate) fn colours_on_stderr() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
