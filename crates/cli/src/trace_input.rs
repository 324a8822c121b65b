//! What a trace file is, and what a binding says about one.

use crate::args::FormName;
use crate::output;
use anyhow::{Context, bail};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use trace::TimeUnit;
use trace::verify::Reference;

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
    BufReader::new(file.take(LOOK_BYTES)).read_until(b'\n', &mut start)?;
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
    let beside = |name: &str| document.parent().unwrap_or(Path::new("")).join(name);
    Reference {
        data: beside(&trace.data),
        sha256: trace.sha256.clone(),
        rows: trace.rows,
        trace_version: trace.header.trace_version,
        time_unit: TimeUnit::of_microseconds(trace.header.microseconds_per_unit).unwrap_or_default(),
        token_blocks: trace
            .token_blocks
            .as_ref()
            .map(|blocks| (beside(&blocks.path), blocks.sha256.clone())),
    }
}
