//! `turnmill report` over the folder of a run of a million requests, against reading its rows as JSON.

use crate::load::high_water_kb;
use crate::table::Line;
use crate::{example, files};
use driver::clock::Clock;
use record::folder::Recorder;
use record::marks::{Mark, RunEvent, Stop};
use serde::de::IgnoredAny;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const REQUESTS: u64 = 1_000_000;
/// Content chunks of each request.
const CHUNKS: u64 = 20;
/// By which a run is known to have a trace.
const BINDING: &str = "trace.binding.yaml";
const LOOK_EVERY: Duration = Duration::from_millis(5);

pub(crate) fn measure() -> anyhow::Result<Vec<Line>> {
    let folder = testkit::tempdir()?;
    write(folder.path())?;
    let rows = folder.path().join("requests.jsonl");
    let clock = Clock::start();
    let before = clock.now_ns();
    for row in fs::read(&rows)?
        .split(|byte| *byte == b'\n')
        .filter(|row| !row.is_empty())
    {
        serde_json::from_slice::<IgnoredAny>(row)?;
    }
    let scan_s = (clock.now_ns() - before) as f64 / 1e9;
    let (report_s, peak_kb) = report(folder.path(), clock)?;
    fs::remove_file(folder.path().join(BINDING))?;
    let (killed_s, killed_kb) = report(folder.path(), clock)?;
    Ok(vec![
        Line::new("rows", fs::metadata(&rows)?.len() as f64 / 1e6, "MB"),
        Line::new("report of 1,000,000 requests", report_s, "s").at_most(5.0),
        Line::new("the same ÷ one JSON scan of the rows", report_s / scan_s, "×"),
        Line::new("its peak memory", peak_kb as f64 * 1024.0 / 1e6, "MB").at_most(500.0),
        Line::new("report of a killed run, which makes its trace", killed_s, "s"),
        Line::new("its peak memory", killed_kb as f64 * 1024.0 / 1e6, "MB").at_most(500.0),
    ])
}

/// Seconds and peak memory in KB of a report.
fn report(folder: &Path, clock: Clock) -> anyhow::Result<(f64, u64)> {
    let before = clock.now_ns();
    let mut child = Command::new(files::turnmill()?)
        .arg("report")
        .arg(folder)
        .stdout(Stdio::null())
        .spawn()?;
    let mut peak_kb = 0;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        peak_kb = peak_kb.max(high_water_kb(child.id()).unwrap_or(0));
        std::thread::sleep(LOOK_EVERY);
    };
    anyhow::ensure!(status.success(), "the report failed");
    Ok(((clock.now_ns() - before) as f64 / 1e9, peak_kb))
}

/// A run's folder as a run leaves it that ended; of its trace, which nobody reads here, there is the name.
fn write(folder: &Path) -> anyhow::Result<()> {
    let mut recorder = Recorder::create(folder, &example::header())?;
    for sequence in 0..REQUESTS {
        recorder.append(&example::answered(sequence, CHUNKS))?;
    }
    recorder.mark(&Mark {
        at_ns: REQUESTS * CHUNKS * 1_000_000,
        event: RunEvent::RunEnd {
            stop: Stop::Done,
            reason: String::new(),
        },
    })?;
    fs::write(folder.join(BINDING), "")?;
    Ok(())
}
