//! `turnmill report` over the folder of a run of a million requests, against reading its rows as JSON.

use crate::load::high_water_kb;
use crate::table::Line;
use crate::{example, files};
use driver::clock::Clock;
use record::folder::Recorder;
use serde::de::IgnoredAny;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const REQUESTS: u64 = 1_000_000;
/// Content chunks of each request.
const CHUNKS: u64 = 20;
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
    let before = clock.now_ns();
    let mut child = Command::new(files::turnmill()?)
        .arg("report")
        .arg(folder.path())
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
    let report_s = (clock.now_ns() - before) as f64 / 1e9;
    Ok(vec![
        Line::new("rows", fs::metadata(&rows)?.len() as f64 / 1e6, "MB"),
        Line::new("report of 1,000,000 requests", report_s, "s").at_most(5.0),
        Line::new("the same ÷ one JSON scan of the rows", report_s / scan_s, "×"),
        Line::new("its peak memory", peak_kb as f64 * 1024.0 / 1e6, "MB").at_most(500.0),
    ])
}

/// A run's folder as a run leaves it that was killed at the end.
fn write(folder: &Path) -> anyhow::Result<()> {
    let mut recorder = Recorder::create(folder, &example::header())?;
    for sequence in 0..REQUESTS {
        recorder.append(&example::answered(sequence, CHUNKS))?;
    }
    Ok(())
}
