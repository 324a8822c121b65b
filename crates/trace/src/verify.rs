//! A data file against the binding that names it (`trace-csv` §8), before the first request.
//!
//! In stages: digest and row count; the rows; the sidecar's digest; the sidecar. All problems of a stage are reported
//! together, and a stage with errors is the last, since what follows would rest on it. The data file is read twice, so
//! that nothing is parsed before its digest has matched. Costs what [`crate::csv::FileChecks`] costs, and with a sidecar
//! sixteen bytes a row more.

use std::fs::{File, Metadata};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use crate::blocks::{self, BlocksHeader, Expected};
use crate::csv::{FileChecks, Row, Rows, Step, count_rows};
use crate::digest::Hashing;
use crate::error::TraceError;
use crate::problem::{Place, Problems};
use crate::unit::TimeUnit;

/// Newest format version that is read (`trace-csv` §1).
pub const VERSION_MAX: u64 = 3;

/// Bytes hashed at once.
const READ_BYTES: usize = 256 << 10;

/// What a binding says about a trace, its paths made relative to the working directory.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The data CSV.
    pub data: PathBuf,
    /// Its stated digest, in hex of either case.
    pub sha256: Option<String>,
    /// Its stated number of rows; 0 is not compared.
    pub rows: Option<u64>,
    /// `header.trace_version`.
    pub trace_version: u64,
    /// Unit of its timestamp columns.
    pub time_unit: TimeUnit,
    /// The sidecar and its digest.
    pub token_blocks: Option<(PathBuf, String)>,
}

impl Reference {
    /// A data file alone: microseconds, nothing stated.
    pub fn of_data(data: &Path) -> Self {
        Self {
            data: data.to_owned(),
            sha256: None,
            rows: None,
            trace_version: VERSION_MAX,
            time_unit: TimeUnit::Microsecond,
            token_blocks: None,
        }
    }
}

/// What a verification found.
#[derive(Clone, Debug, PartialEq)]
pub struct Verified {
    /// Digest of the data file.
    pub sha256: String,
    /// Its data rows.
    pub rows: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Different sessions; single requests are none.
    pub sessions: usize,
    /// First line of the sidecar, when it is right.
    pub blocks: Option<BlocksHeader>,
    /// Everything that is wrong or odd.
    pub problems: Problems,
}

/// Checks a trace. What `Ok` holds may still have problems: see [`Problems::is_ok`].
pub fn verify(reference: &Reference) -> Result<Verified, TraceError> {
    verify_with(reference, |_| Ok(()))
}

/// As [`verify`], and hands over every right row as it goes by, before it is known whether later ones are right.
pub fn verify_with(
    reference: &Reference,
    mut each: impl FnMut(&Row<'_>) -> Result<(), TraceError>,
) -> Result<Verified, TraceError> {
    let path = &reference.data;
    let failed = |source| TraceError::file("read", path, source);
    let file = File::open(path).map_err(|source| TraceError::file("open", path, source))?;
    let before = file.metadata().map_err(failed)?;
    let mut verified = hash(path, file)?;
    versions(reference, &mut verified.problems);
    digests(reference, &mut verified);
    if !verified.problems.is_ok() {
        return Ok(verified);
    }
    let mut expected = Vec::new();
    let with_blocks = reference.token_blocks.is_some();
    verified.sessions = rows(reference, &mut verified.problems, |row| {
        if with_blocks {
            expected.push(Expected {
                request_id: row.request_id,
                tokens: row.prompt_tokens(),
            });
        }
        each(row)
    })?;
    if !same(&before, &std::fs::metadata(path).map_err(failed)?) {
        return Err(TraceError::Changed { file: path.clone() });
    }
    if let Some((sidecar, sha256)) = reference
        .token_blocks
        .as_ref()
        .filter(|_| verified.problems.is_ok())
    {
        expected.sort_unstable();
        verified.blocks = token_blocks(
            sidecar,
            sha256,
            &expected,
            &verified.sha256,
            &mut verified.problems,
        )?;
    }
    Ok(verified)
}

/// Hashes the file and counts its rows.
fn hash(path: &Path, file: File) -> Result<Verified, TraceError> {
    let mut input = Hashing::new(file);
    let rows = count_rows(path, &mut input)?;
    let (_, sha256, bytes) = input.finish();
    Ok(Verified {
        sha256,
        rows,
        bytes,
        sessions: 0,
        blocks: None,
        problems: Problems::new(path),
    })
}

fn versions(reference: &Reference, problems: &mut Problems) {
    let place = Place::Binding("workload.trace.header.trace_version");
    let found = reference.trace_version.to_string();
    match reference.trace_version {
        2..=VERSION_MAX => {}
        0 | 1 => problems.warning(None, place, found, "2 or 3; read as 2, whose columns are known"),
        _ => problems.error(None, place, found, "1 to 3, the versions that are known"),
    }
}

fn digests(reference: &Reference, verified: &mut Verified) {
    if let Some(stated) = reference.sha256.as_deref().filter(|stated| !stated.is_empty())
        && !stated.eq_ignore_ascii_case(&verified.sha256)
    {
        let place = Place::Binding("workload.trace.sha256");
        let found = verified.sha256.clone();
        verified
            .problems
            .error(None, place, found, format!("{stated}, as stated"));
    }
    if let Some(stated) = reference.rows.filter(|rows| *rows > 0 && *rows != verified.rows) {
        let place = Place::Binding("workload.trace.rows");
        let found = format!("{} rows", verified.rows);
        verified
            .problems
            .error(None, place, found, format!("{stated}, as stated"));
    }
}

/// Reads and checks all rows; gives the number of sessions.
fn rows(
    reference: &Reference,
    problems: &mut Problems,
    mut each: impl FnMut(&Row<'_>) -> Result<(), TraceError>,
) -> Result<usize, TraceError> {
    let path = &reference.data;
    let file = File::open(path).map_err(|source| TraceError::file("open", path, source))?;
    let Some(mut rows) = Rows::new(path, file, reference.time_unit, problems)? else {
        return Ok(0);
    };
    let mut checks = FileChecks::default();
    let mut wrong = false;
    while !problems.is_full() {
        match rows.next(problems)? {
            Step::End => {
                if !wrong {
                    checks.finish(problems);
                }
                break;
            }
            Step::Wrong => wrong = true,
            Step::Row { row, number, line } => {
                checks.row(&row, number, line, problems);
                each(&row)?;
            }
        }
    }
    Ok(checks.sessions())
}

fn token_blocks(
    sidecar: &Path,
    sha256: &str,
    rows: &[Expected],
    data_sha256: &str,
    problems: &mut Problems,
) -> Result<Option<BlocksHeader>, TraceError> {
    let file = File::open(sidecar).map_err(|source| TraceError::file("open", sidecar, source))?;
    let before = file
        .metadata()
        .map_err(|source| TraceError::file("read", sidecar, source))?;
    let mut input = Hashing::new(BufReader::with_capacity(READ_BYTES, file));
    io::copy(&mut input, &mut io::sink()).map_err(|source| TraceError::file("read", sidecar, source))?;
    let (_, found, _) = input.finish();
    let mut own = Problems::new(sidecar);
    let header = if found.eq_ignore_ascii_case(sha256) {
        blocks::check(sidecar, rows, data_sha256, &mut own)?
    } else {
        let place = Place::Binding("workload.trace.token_blocks.sha256");
        own.error(None, place, found, format!("{sha256}, as stated"));
        None
    };
    let after = std::fs::metadata(sidecar).map_err(|source| TraceError::file("read", sidecar, source))?;
    if !same(&before, &after) {
        return Err(TraceError::Changed {
            file: sidecar.to_owned(),
        });
    }
    problems.append(own);
    Ok(header)
}

/// What was parsed must be what was hashed.
fn same(before: &Metadata, after: &Metadata) -> bool {
    before.len() == after.len() && before.modified().ok() == after.modified().ok()
}
