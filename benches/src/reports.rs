//! `turnmill report` over the folder of a run of a million requests, against reading its rows as JSON.

use crate::example;
use crate::program::Program;
use crate::table::Line;
use driver::clock::Clock;
use record::folder::Recorder;
use record::marks::{Mark, RunEvent, Stop};
use serde::de::IgnoredAny;
use std::fs;
use std::path::Path;

const REQUESTS: u64 = 1_000_000;
/// Content chunks of each request.
const CHUNKS: u64 = 20;
/// By which a run is known to have a trace.
const BINDING: &str = "trace.binding.yaml";

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
    let (report_s, peak_mb) = report(folder.path(), clock)?;
    fs::remove_file(folder.path().join(BINDING))?;
    let (killed_s, killed_mb) = report(folder.path(), clock)?;
    Ok(vec![
        Line::new("rows", fs::metadata(&rows)?.len() as f64 / 1e6, "MB"),
        Line::new("report of 1,000,000 requests", report_s, "s").at_most(5.0),
        Line::new("the same ÷ one JSON scan of the rows", report_s / scan_s, "×"),
        Line::new("its peak memory", peak_mb, "MB").at_most(500.0),
        Line::new("report of a killed run, which makes its trace", killed_s, "s"),
        Line::new("its peak memory", killed_mb, "MB").at_most(500.0),
    ])
}

/// Seconds and peak memory in MB of a report.
fn report(folder: &Path, clock: Clock) -> anyhow::Result<(f64, f64)> {
    let ended = Program::start(clock, |command| {
        command.arg("report").arg(folder);
    })?
    .end()?;
    anyhow::ensure!(ended.status.success(), "the report failed");
    Ok((ended.seconds, ended.peak_mb))
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
