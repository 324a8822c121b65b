//! What a trace file is, and what a binding or a Sweeper document says about one.

use crate::args::FormName;
use crate::output;
use anyhow::{Context, bail};
use record::header::Slo;
use serde_json::Value;
use spec::Document;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use trace::TimeUnit;
use trace::verify::Reference;

/// A document that names a trace file to replay.
pub(crate) struct TraceDocument {
    /// The file.
    pub(crate) source: Source,
    /// SHA-256 of the document.
    pub(crate) sha256: String,
    /// The document with every default, as a run records it.
    pub(crate) effective: Value,
    /// Seed of the workload that the trace was recorded under, where it is known and can be a seed.
    pub(crate) seed: Option<u64>,
    /// Latency targets by class.
    pub(crate) targets: BTreeMap<String, Slo>,
    /// How it is to be replayed, where the document says so; else the command line does.
    pub(crate) load: Option<StatedLoad>,
}

/// The file of a [`TraceDocument`].
pub(crate) enum Source {
    /// A data CSV with what a binding says of it.
    Csv(Reference),
    /// Mooncake lines.
    Mooncake(PathBuf),
}

impl Source {
    /// The data file.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Csv(reference) => &reference.data,
            Self::Mooncake(path) => path,
        }
    }
}

/// The load of a Sweeper document (`sweeper-traffic` §7.1): sessions at their recorded starts, or so many at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StatedLoad {
    /// Divides starts and delays of the open loop.
    pub(crate) speedup: f64,
    /// Sessions in flight; `None` is the open loop.
    pub(crate) sessions_max: Option<u64>,
}

impl TraceDocument {
    /// What a right document says of a trace file; `None` when it names none.
    pub(crate) fn of(
        path: &Path,
        document: Option<Document>,
        sha256: String,
    ) -> anyhow::Result<Option<Self>> {
        match document {
            Some(Document::Scenario(scenario)) => {
                let Some(spec::Workload::Trace(trace)) = &scenario.workload else {
                    return Ok(None);
                };
                let targets = trace.header.goodput_slo_targets.iter();
                Ok(Some(Self {
                    source: Source::Csv(referred(path, trace)),
                    sha256,
                    seed: trace
                        .header
                        .workload_seed
                        .and_then(|seed| u64::try_from(seed).ok()),
                    targets: targets
                        .map(|(class, targets)| (class.clone(), slo(targets)))
                        .collect(),
                    load: None,
                    effective: effective(&Document::Scenario(scenario)),
                }))
            }
            Some(Document::Sweeper(sweeper)) => {
                let spec::sweeper::Load::Trace(trace) = &sweeper.load else {
                    bail!(
                        "{}: synthetic traffic cannot be run yet; a `trace_path` can",
                        path.display()
                    );
                };
                Ok(Some(Self {
                    source: Source::Mooncake(beside(path, &trace.path)),
                    sha256,
                    seed: None,
                    targets: BTreeMap::new(),
                    load: Some(StatedLoad {
                        speedup: trace.arrival_speedup_ratio,
                        sessions_max: trace.replay_concurrency,
                    }),
                    effective: effective(&Document::Sweeper(sweeper)),
                }))
            }
            Some(Document::Catalog(_)) => bail!(
                "{} is an entry of a catalog; hint: a scenario binds it, as `workload: {{replay: {{workload: NAME, …}}}}`",
                path.display()
            ),
            None => Ok(None),
        }
    }
}

/// A right document with every default. References of other arms are not followed, and a trace has none.
fn effective(document: &Document) -> Value {
    let (effective, _) = spec::resolve(document, None);
    effective.map_or(Value::Null, |effective| effective.to_json())
}

fn slo(targets: &spec::trace::SloTargets) -> Slo {
    Slo {
        ttft_ms: targets.ttft_ms.unwrap_or(0.0),
        itl_ms: targets.itl_ms.unwrap_or(0.0),
        e2e_ms: targets.e2e_ms.unwrap_or(0.0),
    }
}

/// Bytes looked at to tell what a file is.
const LOOK_BYTES: u64 = 4096;

/// Tells a file's form by its name, else by its first line.
pub(crate) fn form_of(path: &Path, stated: Option<FormName>) -> anyhow::Result<FormName> {
    if let Some(form) = stated {
        return Ok(form);
    }
    let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
    match extension.to_str() {
        Some("csv" | "yaml" | "yml") => return Ok(FormName::Csv),
        Some("gz") => return Ok(FormName::Mooncake), // the only JSON form that is read packed
        _ => {}
    }
    let file = File::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let mut start = Vec::new();
    let read = BufReader::new(file.take(LOOK_BYTES)).read_until(b'\n', &mut start);
    read.with_context(|| format!("{} cannot be read", path.display()))?;
    let start = String::from_utf8_lossy(&start);
    let start = start.trim_start();
    if !start.starts_with('{') {
        bail!(
            "{} is neither a CSV, a YAML binding nor JSON lines; state what it is with --from",
            path.display()
        );
    }
    let mooncake = ["\"output_length\"", "\"output_tokens\"", "\"input_length\""];
    let weka = ["\"hash_id_scope\"", "\"requests\"", "\"block_size\"", "\"id\""];
    let is_weka = weka.iter().any(|key| start.contains(key)) || start.trim_end() == "{";
    Ok(if is_weka || !mooncake.iter().any(|key| start.contains(key)) {
        FormName::Weka
    } else {
        FormName::Mooncake
    })
}

/// What `path`, a data CSV or a document with a trace arm, refers to. `None` when the document is wrong: its problems
/// have been shown.
pub(crate) fn reference(path: &Path) -> anyhow::Result<Option<Reference>> {
    if path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("csv"))
    {
        return Ok(Some(Reference::of_data(path)));
    }
    let bytes = std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let (document, problems) = spec::read_bytes(&bytes, Some(spec::Kind::Scenario));
    let source = spec::render::Source {
        file: &path.display().to_string(),
        text: &String::from_utf8_lossy(&bytes),
    };
    if !problems.is_empty() {
        output::say(&spec::render::text(
            &problems,
            source,
            output::colours_on_stderr(),
        ));
    }
    if !spec::problem::is_ok(&problems) {
        return Ok(None);
    }
    match document {
        Some(spec::Document::Scenario(spec::Scenario {
            workload: Some(spec::Workload::Trace(trace)),
            ..
        })) => Ok(Some(referred(path, &trace))),
        _ => bail!(
            "{} has no workload.trace, so it names no data file",
            path.display()
        ),
    }
}

/// The files that a checked trace arm names, relative to its document (`bindings` §11.6).
pub(crate) fn referred(document: &Path, trace: &spec::trace::Trace) -> Reference {
    Reference {
        data: beside(document, &trace.data),
        sha256: trace.sha256.clone(),
        rows: trace.rows,
        trace_version: trace.header.trace_version,
        time_unit: TimeUnit::of_microseconds(trace.header.microseconds_per_unit).unwrap_or_default(),
        token_blocks: trace
            .token_blocks
            .as_ref()
            .map(|blocks| (beside(document, &blocks.path), blocks.sha256.clone())),
    }
}

/// A path that a document states, relative to it.
fn beside(document: &Path, name: &str) -> PathBuf {
    document.parent().unwrap_or(Path::new("")).join(name)
}
