//! What a run's header says of the machine, the clock and of limits.

use driver::clock::Clock;
use record::header::Host;
use serde_json::Value;

pub(super) fn wall_start(clock: &Clock) -> anyhow::Result<jiff::Timestamp> {
    Ok(jiff::Timestamp::from_nanosecond(i128::from(
        clock.wall_anchor_ns(),
    ))?)
}

/// The machine, as far as it tells.
pub(super) fn host() -> Host {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = cpu.lines().find_map(|line| {
        line.strip_prefix("model name")?
            .split_once(':')
            .map(|(_, name)| name.trim())
    });
    Host {
        os: std::env::consts::OS.to_owned(),
        cpu: name.unwrap_or("unknown").to_owned(),
        cores: std::thread::available_parallelism().map_or(0, |cores| cores.get() as u32),
    }
}

/// A number of seconds; `"inf"` where there is no limit.
pub(super) fn seconds(value: f64) -> Value {
    if value.is_finite() {
        value.into()
    } else {
        "inf".into()
    }
}
