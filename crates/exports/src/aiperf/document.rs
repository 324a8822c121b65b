//! `profile_export_aiperf.json` as a document (`metrics-and-exports` §3.2).

use record::marks::Stop;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Value, json};

use super::failure::ErrorCount;
use super::phase::PhaseFigures;
use super::{Found, Options, SCHEMA_VERSION, provenance};
use crate::folder::{self, Run};

/// The file. Metrics stand among the other keys.
#[derive(Serialize)]
pub(crate) struct Document<'a> {
    schema_version: &'static str,
    aiperf_version: &'static str,
    benchmark_id: String,
    #[serde(flatten)]
    metrics: Metrics<'a>,
    input_config: Value,
    run_info: Value,
    was_cancelled: bool,
    error_summary: &'a [ErrorCount],
    start_time: String,
    end_time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    warmup_metrics: Option<Metrics<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Metadata>,
}

#[derive(Serialize)]
struct Metadata {
    scenario: String,
    submission_valid: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    submission_invalid_reasons: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dataset: Option<Value>,
}

struct Metrics<'a>(&'a PhaseFigures);

impl Serialize for Metrics<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.metrics.len()))?;
        for (tag, _, figures) in &self.0.metrics {
            map.serialize_entry(tag, figures)?;
        }
        map.end()
    }
}

pub(crate) fn of<'a>(run: &Run, found: &'a Found, options: &Options) -> Document<'a> {
    let header = &run.header;
    let shared = provenance(header, options);
    let time = |at_ns: u64| {
        let wall = folder::wall(header, at_ns);
        // aiperf writes local time without a zone; the offset is what makes it mean something.
        wall.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string()
    };
    Document {
        schema_version: SCHEMA_VERSION,
        aiperf_version: shared.aiperf_version,
        run_info: json!({"benchmark_id": shared.benchmark_id, "random_seed": header.seed, "trial": 0}),
        benchmark_id: shared.benchmark_id,
        metrics: Metrics(&found.profiling),
        input_config: shared.input_config,
        was_cancelled: run.stop() != Some(Stop::Done),
        error_summary: &found.profiling.errors,
        start_time: time(found.window.0),
        end_time: time(found.window.1),
        warmup_metrics: found.warmup.as_ref().map(Metrics),
        metadata: found.validity.as_ref().map(|validity| Metadata {
            scenario: validity.scenario.clone(),
            submission_valid: validity.submission_valid,
            submission_invalid_reasons: validity.reason_names(),
            dataset: dataset(&header.scenario).filter(|_| header.validity.corpus_pinned),
        }),
    }
}

/// Where the corpus came from. Only a public data set has it, which one is whose bytes are those of the pin.
fn dataset(scenario: &Value) -> Option<Value> {
    let corpus = scenario.pointer("/document/workload/replay/corpus")?;
    let name = corpus.pointer("/source/huggingface")?.as_str()?;
    Some(json!({
        "source_type": "public_dataset",
        "loader": corpus.get("loader")?,
        "hf_dataset_name": name,
        "hf_split": corpus.pointer("/source/split").and_then(Value::as_str).unwrap_or("train"),
    }))
}
