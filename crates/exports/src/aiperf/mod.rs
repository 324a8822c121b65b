//! aiperf 0.12.0's artifact files: `profile_export.jsonl`, `profile_export_aiperf.json`, `profile_export_aiperf.csv`.
//!
//! Definitions, names, units and presence rules are aiperf's (`metrics-and-exports` §1, §3), and so are its omissions: a request that
//! was cut off at the end has no row, a context overflow of a scenario run has none either, a failed request has no latencies. Which keys
//! of aiperf's files are not here, and why, stands in `docs/reference/aiperf-artifacts.md`.
//!
//! `server_metrics_export.json` is not written here: whoever has the scrapes takes [`provenance`] for its head.

mod bounds;
pub mod catalogue;
mod csv;
mod document;
mod failure;
mod input_config;
mod observed;
mod phase;
mod row;
mod spans;

use std::fs;
use std::io::Write as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use record::header::RunHeader;
use record::request::Phase;
use record::summary::Tally;
use serde_json::Value;

pub use bounds::Bound;
pub use failure::{ErrorCount, ErrorDetails, FAILURES_MAX};
pub use observed::Observed;

use crate::ExportError;
use crate::folder::{self, Run};
use phase::PhaseTally;

/// Version of `profile_export_aiperf.json` that is written.
pub const SCHEMA_VERSION: &str = "1.4";
/// The aiperf whose files these are shaped as.
pub const AIPERF_VERSION: &str = "0.12.0";

/// One line a request.
pub const RECORDS_FILE: &str = "profile_export.jsonl";
/// The run's metrics.
pub const JSON_FILE: &str = "profile_export_aiperf.json";
/// The run's metrics with two decimals.
pub const CSV_FILE: &str = "profile_export_aiperf.csv";

/// What the run's folder does not know.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Folder of the files as `input_config` names it; left out without one.
    pub dir: Option<String>,
    /// The tokenizer's name for `input_config`; left out without one.
    pub tokenizer: Option<String>,
    /// What the files' names begin with: `foo.jsonl`, `foo.json`, `foo.csv`; `None` for aiperf's own names.
    pub prefix: Option<String>,
    /// What makes a request good; those of the run's only SLO class when empty.
    pub bounds: Vec<Bound>,
}

impl Options {
    fn names(&self) -> [String; 3] {
        match &self.prefix {
            None => [RECORDS_FILE, JSON_FILE, CSV_FILE].map(str::to_owned),
            Some(prefix) => ["jsonl", "json", "csv"].map(|ending| format!("{prefix}.{ending}")),
        }
    }

    fn bounds_of(&self, header: &RunHeader) -> Vec<Bound> {
        if self.bounds.is_empty() {
            bounds::of_classes(header)
        } else {
            self.bounds.clone()
        }
    }
}

/// The keys that `profile_export_aiperf.json` and `server_metrics_export.json` both begin or end with.
#[derive(Clone, Debug, PartialEq)]
pub struct Provenance {
    /// [`AIPERF_VERSION`].
    pub aiperf_version: &'static str,
    /// Names the run.
    pub benchmark_id: String,
    /// The run's choices under aiperf's keys.
    pub input_config: Value,
}

/// The keys that files of one run share.
pub fn provenance(header: &RunHeader, options: &Options) -> Provenance {
    Provenance {
        aiperf_version: AIPERF_VERSION,
        benchmark_id: header.benchmark_id.clone(),
        input_config: input_config::of(header, options),
    }
}

/// Writes the three files of the run in `run_folder` into `out`, which is made when it is absent, and gives their paths. Files of an
/// earlier export are replaced.
///
/// # Errors
/// When the folder holds no run or no header, or a file cannot be written.
pub fn write(run_folder: &Path, out: &Path, options: &Options) -> Result<Vec<PathBuf>, ExportError> {
    let mut run = Run::open(run_folder)?;
    fs::create_dir_all(out).map_err(ExportError::writing(out))?;
    let paths = options.names().map(|name| out.join(name));
    let bounds = options.bounds_of(&run.header);
    let found = read(&mut run, &bounds, &paths[0])?;
    folder::write(&paths[1], |file| {
        let document = document::of(&run, &found, options);
        serde_json::to_writer_pretty(&mut *file, &document).map_err(ExportError::writing(&paths[1]))?;
        writeln!(file).map_err(ExportError::writing(&paths[1]))
    })?;
    folder::write(&paths[2], |file| {
        csv::write(file, &found.profiling.metrics).map_err(ExportError::writing(&paths[2]))
    })?;
    Ok(paths.into())
}

/// What the run's records came to.
struct Found {
    profiling: phase::PhaseFigures,
    /// `None` when nothing was sent in the warm-up.
    warmup: Option<phase::PhaseFigures>,
    /// The measurement's window.
    window: (u64, u64),
    validity: Option<record::validity::Validity>,
}

/// Reads the records once: each leaves its line at `records_path`, and its values in its phase.
fn read(run: &mut Run, bounds: &[Bound], records_path: &Path) -> Result<Found, ExportError> {
    let header = run.header.clone();
    let no_lookup = is_address(header.server.url.as_str());
    let skip_overflow = header.validity.scenario.is_some();
    let mut summary = Tally::new(Some(header.clone()), &run.marks);
    let (mut warmup, mut profiling) = (PhaseTally::new(skip_overflow), PhaseTally::new(skip_overflow));
    folder::write(records_path, |file| {
        run.for_each(|entry| {
            summary.push(entry);
            let seen = Observed::of(entry, bounds, no_lookup);
            match entry.record.phase {
                Phase::Warmup => warmup.push(&seen),
                Phase::Profiling => profiling.push(&seen),
            }
            if let Some(line) = row::line(&header, entry, seen, skip_overflow) {
                serde_json::to_writer(&mut *file, &line).map_err(ExportError::writing(records_path))?;
                writeln!(file).map_err(ExportError::writing(records_path))?;
            }
            Ok(())
        })
    })?;
    let last_ns = warmup.last_stamp_ns().max(profiling.last_stamp_ns());
    let window = |phase| {
        let (start, end) = run.bounds(phase);
        (start.unwrap_or(0), end.unwrap_or(last_ns))
    };
    Ok(Found {
        window: window(Phase::Profiling),
        profiling: profiling.finish(window(Phase::Profiling)),
        warmup: (!warmup.is_empty()).then(|| warmup.finish(window(Phase::Warmup))),
        validity: summary.finish(record::folder::Losses::default()).validity,
    })
}

/// The server is named by an address.
fn is_address(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or_default();
    let bare = host.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let host = bare.map_or_else(
        || host.split(':').next().unwrap_or_default(),
        |(inside, _)| inside,
    );
    host.parse::<IpAddr>().is_ok()
}
