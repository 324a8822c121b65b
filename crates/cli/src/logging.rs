//! Events of the program's own crates on standard error: warnings, and more for those who ask with `TURNMILL_LOG`.
//!
//! Other libraries' events are never shown: they may hold headers, and with them the key. Ours hold ids, counts and
//! outcomes, never prompt text, and none is made for a single chunk.

use anyhow::bail;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::{layer, time};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// The environment variable that states a level; without it [`USUAL`] holds.
const VARIABLE: &str = "TURNMILL_LOG";
/// What is shown unless told otherwise: things that go on without a part of what was asked for, which must not pass unseen.
const USUAL: LevelFilter = LevelFilter::WARN;
/// What a level can be.
const LEVELS: &str = "off, error, warn, info, debug, trace";
/// The crates whose events are shown: those that have any, by the first part of an event's target.
const CRATES: [&str; 5] = ["turnmill", "capture", "corpus", "driver", "sim"];

/// Takes the level from the environment. To be called once.
///
/// # Errors
/// When the variable holds no level.
pub(crate) fn start() -> anyhow::Result<()> {
    let level = stated(std::env::var_os(VARIABLE))?;
    let shown = Targets::new().with_targets(CRATES.map(|name| (name, level)));
    let events = layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_timer(time::uptime())
        .with_filter(shown);
    tracing_subscriber::registry().with(events).try_init()?;
    Ok(())
}

fn stated(value: Option<std::ffi::OsString>) -> anyhow::Result<LevelFilter> {
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Ok(USUAL);
    };
    let name = value.to_string_lossy();
    match name.as_ref() {
        "off" | "error" | "warn" | "info" | "debug" | "trace" => Ok(name.parse().unwrap_or(USUAL)),
        other => bail!("{VARIABLE} is `{other}`, which is no level; hint: one of {LEVELS}"),
    }
}
