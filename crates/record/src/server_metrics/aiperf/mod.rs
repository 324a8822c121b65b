//! `server_metrics_export.json` as aiperf 0.12.0 writes it (schema 1.1, `metrics-and-exports` §5.2), from a run's folder.
//!
//! One thing is not as there: `metrics` holds the measurement and `warmup_metrics` the warm-up, each between its own
//! scrapes. aiperf 0.12.0 begins `metrics` with the warm-up in runs of this kind (§5.4).

mod estimate;
mod histogram;
mod json;
mod series;
mod stats;

use std::path::Path;

use jiff::Timestamp;

use self::json::{EndpointInfo, Export, PhaseRange, Summary};
use self::series::Collected;
use super::statistics::Pages;
use super::window::Window;
use crate::RecordError;
use crate::append::write_whole;
use crate::folder::RunReader;
use crate::header::RunHeader;
use crate::request::Phase;

/// The file's name where no other is asked for.
pub const FILE: &str = "server_metrics_export.json";
/// Version of the file's schema.
pub const SCHEMA_VERSION: &str = "1.1";
/// The program whose file this is.
pub const AIPERF_VERSION: &str = "0.12.0";

/// Writes `file` from the folder of a run, without time slices. Says whether there was anything to write: a run whose
/// metrics were not read, or never there, leaves no file, as with aiperf.
///
/// # Errors
/// When the run's files cannot be read, or `file` cannot be written.
pub fn write(run_folder: &Path, file: &Path) -> Result<bool, RecordError> {
    export(run_folder, file, None)
}

/// [`write`] with a slice of every series each `slice_ns` (aiperf's `--slice-duration`).
///
/// # Errors
/// As [`write`].
pub fn write_sliced(run_folder: &Path, file: &Path, slice_ns: u64) -> Result<bool, RecordError> {
    export(run_folder, file, Some(slice_ns).filter(|slice| *slice > 0))
}

fn export(run_folder: &Path, file: &Path, slice_ns: Option<u64>) -> Result<bool, RecordError> {
    let reader = RunReader::open(run_folder)?;
    let Some(pages) = Pages::of_folder(run_folder)? else {
        return Ok(false);
    };
    if pages.stamps.iter().all(Vec::is_empty) {
        return Ok(false);
    }
    let wall = Wall::of(reader.header());
    let phase = |phase| Window::of(phase, reader.marks());
    let (measured, warmup) = (phase(Phase::Profiling), phase(Phase::Warmup));
    let metrics_of = |window: Option<Window>| -> Result<_, RecordError> {
        let collected = Collected::of_folder(run_folder, &pages.spans(window), window)?;
        Ok(stats::metrics(&collected, slice_ns, wall))
    };
    let last_ns = pages.stamps.iter().flatten().max().copied().unwrap_or(0);
    let range = |window: Window| PhaseRange {
        start_ns: wall.ns(window.start_ns),
        end_ns: wall.ns(if window.end_ns == u64::MAX {
            last_ns
        } else {
            window.end_ns
        }),
    };
    let infos = endpoint_infos(run_folder, wall)?;
    let urls = |all: bool| -> Vec<String> {
        let used = pages.endpoints.iter().filter(|page| all || page.scrapes > 0);
        used.map(|page| page.url.clone()).collect()
    };
    let profiling = measured.map(range);
    let export = Export {
        schema_version: SCHEMA_VERSION,
        aiperf_version: AIPERF_VERSION,
        benchmark_id: reader
            .header()
            .map(|run| run.benchmark_id.clone())
            .unwrap_or_default(),
        summary: Summary {
            endpoints_configured: urls(true),
            endpoints_successful: urls(false),
            start_time: profiling.and_then(|range| time(range.start_ns)),
            end_time: profiling.and_then(|range| time(range.end_ns)),
            endpoint_info: infos,
            phase_time_ranges: [("profiling", profiling), ("warmup", warmup.map(range))]
                .into_iter()
                .filter_map(|(name, range)| Some((name, range?)))
                .collect(),
        },
        metrics_phase: "profiling",
        metrics: metrics_of(measured)?,
        warmup_metrics: Some(metrics_of(warmup)?).filter(|metrics| !metrics.is_empty()),
        input_config: reader.header().map(json::input_config).unwrap_or_default(),
    };
    let mut text = serde_json::to_vec_pretty(&export).expect("an export has text keys and goes to memory");
    text.push(b'\n');
    write_whole(file, &text)?;
    Ok(true)
}

/// From the run's clock to wall time.
#[derive(Clone, Copy, Debug)]
struct Wall(i128);

impl Wall {
    /// Without a header, stamps count from 1970.
    fn of(header: Option<&RunHeader>) -> Self {
        Self(header.map_or(0, |run| run.wall_start.as_nanosecond()))
    }

    fn ns(self, stamp_ns: u64) -> u64 {
        u64::try_from(self.0 + i128::from(stamp_ns)).unwrap_or(stamp_ns)
    }
}

/// To the microsecond, with its zone: aiperf leaves that out, and readers take either.
fn time(wall_ns: u64) -> Option<String> {
    let at = Timestamp::from_nanosecond(i128::from(wall_ns)).ok()?;
    Some(at.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string())
}

fn endpoint_infos(
    run_folder: &Path,
    wall: Wall,
) -> Result<std::collections::BTreeMap<String, EndpointInfo>, RecordError> {
    let fetches = series::Fetches::of_folder(run_folder)?;
    Ok(fetches
        .into_iter()
        .filter_map(|fetches| Some((fetches.url.clone(), fetches.info(wall)?)))
        .collect())
}
