//! The program as a user runs it, over a corpus as big as the largest public one: time from its start to the first request,
//! peak memory, and how late it starts requests.
//!
//! The server is `sim` in this process, which on two cores takes its share of them: lateness is an upper bound.

use crate::control::{Control, quantile};
use crate::files::{self, CorpusFile};
use crate::program::Program;
use crate::table::Line;
use anyhow::Context;
use corpus::verify;
use driver::clock::Clock;
use serde::Deserialize;
use serde::de::IgnoredAny;
use sim::{Config, Server};
use std::fs;
use std::path::{Path, PathBuf};

/// Times that the start is measured; the least counts.
const STARTS: usize = 3;
/// Length of a measurement.
const DURATION_S: u32 = 20;
/// Peak memory allowed at 64 lanes over the big corpus.
const PEAK_MB_MAX: f64 = 500.0;
/// Context length of the server: nothing is left out.
const MODEL_LEN: usize = 1 << 20;

pub(crate) fn measure() -> anyhow::Result<Vec<Line>> {
    let folder = testkit::tempdir()?;
    let big = files::write_big(folder.path().join("big.jsonl"), files::rows())?;
    let demo = files::write(folder.path().join("demo.jsonl"), &demo_rows())?;
    let clock = Clock::start();
    let mut lines = vec![
        Line::new("traces", big.traces as f64, ""),
        Line::new("size", big.bytes as f64 / 1e6, "MB"),
    ];
    lines.extend(starts(folder.path(), &big, clock)?);
    // The longest real traces would be primed over many minutes; all lanes at once is the worst for memory, too.
    let run = Run::start(
        folder.path(),
        &big,
        (64, DURATION_S),
        Pace::Burst,
        10_000_000,
        clock,
    )?;
    let control = Control::start(clock)?;
    let (peak_mb, rows) = run.finish()?;
    let mut sizes = size("big corpus, 64 lanes at once", peak_mb, &rows);
    sizes[0].at_most = Some(PEAK_MB_MAX);
    lines.extend(sizes);
    lines.extend(lateness("big corpus, 64 lanes at once", &rows, &control.end()));
    for (what, lanes, step_ns) in [("64 lanes", 64, 10_000_000), ("1,000 lanes", 1000, 100_000_000)] {
        let what = format!("demo corpus, {what}");
        let run = Run::start(
            folder.path(),
            &demo,
            (lanes, DURATION_S),
            Pace::Recorded,
            step_ns,
            clock,
        )?;
        let control = Control::start(clock)?;
        let (peak_mb, rows) = run.finish()?;
        lines.extend(size(&what, peak_mb, &rows));
        lines.extend(lateness(&what, &rows, &control.end()));
    }
    Ok(lines)
}

fn demo_rows() -> Vec<Vec<u8>> {
    let lines = testkit::bytes(&testkit::checkout().join("corpora/demo.jsonl"));
    lines
        .split(|byte| *byte == b'\n')
        .filter(|row| !row.is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}

/// Process start to the first request, against hashing the file and scanning its JSON once, one after the other.
fn starts(folder: &Path, big: &CorpusFile, clock: Clock) -> anyhow::Result<Vec<Line>> {
    let (mut least_start, mut least_scan) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..STARTS {
        let before = clock.now_ns();
        verify::scan_file(&big.path)?;
        for row in fs::read(&big.path)?
            .split(|byte| *byte == b'\n')
            .filter(|row| !row.is_empty())
        {
            serde_json::from_slice::<IgnoredAny>(row)?;
        }
        least_scan = least_scan.min((clock.now_ns() - before) as f64 / 1e9);
        let run = Run::start(folder, big, (64, DURATION_S), Pace::Recorded, 10_000_000, clock)?;
        least_start = least_start.min(run.first_request_s()?);
    }
    Ok(vec![
        Line::new("hash and one JSON scan, one thread", least_scan, "s"),
        Line::new("process start to first request", least_start, "s").at_most(2.0),
        Line::new("the same ÷ hash and JSON scan", least_start / least_scan, "×").at_most(1.5),
    ])
}

/// When lanes begin.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// As recorded.
    Recorded,
    /// All at once.
    Burst,
}

/// A `turnmill run` under way, and its server.
pub(crate) struct Run {
    server: Server,
    spawned_ns: u64,
    program: Program,
    out: PathBuf,
}

impl Run {
    pub(crate) fn start(
        folder: &Path,
        corpus: &CorpusFile,
        (lanes, duration_s): (u32, u32),
        pace: Pace,
        step_ns: u64,
        clock: Clock,
    ) -> anyhow::Result<Self> {
        let mut config = Config::paced(step_ns);
        config.max_model_len = MODEL_LEN;
        let server = Server::start(config)?;
        let scenario = folder.join("scenario.yaml");
        fs::write(&scenario, files::scenario(corpus, lanes, duration_s))?;
        let out = tempfile_name(folder);
        let spawned_ns = server.clock().now_ns();
        let program = Program::start(clock, |command| {
            command
                .arg("run")
                .arg(&scenario)
                .args(["--override-locks", "--url", &server.url()])
                .args((pace == Pace::Burst).then_some("--burst-phase-starts"))
                .arg("--corpus")
                .arg(&corpus.path)
                .arg("--out")
                .arg(&out);
        })?;
        Ok(Self {
            server,
            spawned_ns,
            program,
            out,
        })
    }

    /// Seconds from the start of the process to the arrival of its first request.
    fn first_request_s(mut self) -> anyhow::Result<f64> {
        let first_ns = self.program.first_request_ns(&self.server)?;
        Ok((first_ns - self.spawned_ns) as f64 / 1e9)
    }

    /// Peak memory in MB, and the rows of the run's requests.
    pub(crate) fn finish(self) -> anyhow::Result<(f64, Vec<Row>)> {
        let ended = self.program.end()?;
        let rows = fs::read_to_string(self.out.join("requests.jsonl")).context("the run left no requests")?;
        let rows = rows.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        Ok((ended.peak_mb, rows))
    }
}

fn tempfile_name(folder: &Path) -> PathBuf {
    (0..u32::MAX)
        .map(|n| folder.join(format!("run-{n}")))
        .find(|path| !path.exists())
        .expect("numbers do not end")
}

/// What is looked at of a row of `requests.jsonl`.
#[derive(Deserialize)]
pub(crate) struct Row {
    due_ns: u64,
    start_ns: u64,
    body_bytes: u64,
    content_chunks: u64,
}

pub(crate) fn size(what: &str, peak_mb: f64, rows: &[Row]) -> Vec<Line> {
    let line = |name: &str, value, unit| Line::new(format!("{name}; {what}"), value, unit);
    let body_bytes: u64 = rows.iter().map(|row| row.body_bytes).sum();
    let chunks: u64 = rows.iter().map(|row| row.content_chunks).sum();
    vec![
        line("peak memory", peak_mb, "MB"),
        line("requests", rows.len() as f64, ""),
        line(
            "mean body",
            body_bytes as f64 / rows.len().max(1) as f64 / 1e3,
            "KB",
        ),
        line("content chunks", chunks as f64, ""),
    ]
}

fn lateness(what: &str, rows: &[Row], control: &[u64]) -> Vec<Line> {
    let late: Vec<u64> = rows
        .iter()
        .map(|row| row.start_ns.saturating_sub(row.due_ns))
        .collect();
    let line = |name: &str, value| Line::new(format!("{name}; {what}"), value, "ms");
    let late_ms = |share| quantile(&late, share) / 1e6;
    let control_ms = |share| quantile(control, share) / 1e6;
    vec![
        line("lateness p50", late_ms(0.5)),
        line("lateness p99", late_ms(0.99)).at_most(1.0),
        line("a sleeping thread's lateness p50", control_ms(0.5)),
        line("a sleeping thread's lateness p99", control_ms(0.99)),
    ]
}
