//! What the tests share.

use std::path::{Path, PathBuf};

use trace::verify::Reference;
use trace::{Problems, Severity, TimeUnit};

/// A file of `tests/data`.
pub(crate) fn data(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(relative)
}

/// What the binding at `path` refers to, read by `spec` as a run reads it.
pub(crate) fn reference(path: &Path) -> Reference {
    let (document, problems) = spec::read_bytes(&testkit::bytes(path), Some(spec::Kind::Scenario));
    assert!(
        spec::problem::is_ok(&problems),
        "{}: {problems:?}",
        path.display()
    );
    let Some(spec::Document::Scenario(scenario)) = document else {
        panic!("{} is no scenario", path.display());
    };
    let Some(spec::Workload::Trace(trace)) = scenario.workload else {
        panic!("{} has no trace arm", path.display());
    };
    let beside = |name: &str| path.parent().unwrap().join(name);
    Reference {
        data: beside(&trace.data),
        sha256: trace.sha256.clone(),
        rows: trace.rows,
        trace_version: trace.header.trace_version,
        time_unit: TimeUnit::of_microseconds(trace.header.microseconds_per_unit).unwrap(),
        token_blocks: trace
            .token_blocks
            .as_ref()
            .map(|blocks| (beside(&blocks.path), blocks.sha256.clone())),
    }
}

/// Places of the problems of one severity.
pub(crate) fn places(problems: &Problems, severity: Severity) -> Vec<String> {
    let list = problems.list().iter();
    list.filter(|problem| problem.severity == severity)
        .map(|problem| problem.place.to_string())
        .collect()
}
