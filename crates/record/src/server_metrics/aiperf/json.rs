//! The file's own types: keys in aiperf's order, what has no value left out.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::header::RunHeader;

#[derive(Serialize)]
pub(super) struct Export {
    pub(super) schema_version: &'static str,
    pub(super) aiperf_version: &'static str,
    pub(super) benchmark_id: String,
    pub(super) summary: Summary,
    pub(super) metrics_phase: &'static str,
    pub(super) metrics: Metrics,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) warmup_metrics: Option<Metrics>,
    pub(super) input_config: Map<String, Value>,
}

pub(super) type Metrics = BTreeMap<String, Metric>;

#[derive(Serialize)]
pub(super) struct Summary {
    pub(super) endpoints_configured: Vec<String>,
    pub(super) endpoints_successful: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) start_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) end_time: Option<String>,
    pub(super) endpoint_info: BTreeMap<String, EndpointInfo>,
    pub(super) phase_time_ranges: BTreeMap<&'static str, PhaseRange>,
}

#[derive(Serialize)]
pub(super) struct EndpointInfo {
    pub(super) total_fetches: u64,
    pub(super) first_fetch_ns: u64,
    pub(super) last_fetch_ns: u64,
    pub(super) avg_fetch_latency_ms: f64,
    pub(super) unique_updates: u64,
    pub(super) first_update_ns: u64,
    pub(super) last_update_ns: u64,
    pub(super) duration_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) avg_update_interval_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) median_update_interval_ms: Option<f64>,
}

#[derive(Clone, Copy, Serialize)]
pub(super) struct PhaseRange {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
}

#[derive(Serialize)]
pub(super) struct Metric {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unit: Option<&'static str>,
    pub(super) series: Vec<Series>,
}

#[derive(Serialize)]
pub(super) struct Series {
    pub(super) endpoint_url: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) labels: BTreeMap<String, String>,
    pub(super) stats: Stats,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) buckets: Option<Buckets>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) timeslices: Vec<Slice>,
}

/// Counts up to each bound, as the page spells the bounds, the lowest first.
#[derive(Default)]
pub(super) struct Buckets(pub(super) Vec<(String, u64)>);

impl Serialize for Buckets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(bound, count)| (bound, count)))
    }
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Stats {
    Counter {
        total: f64,
        #[serde(skip_serializing_if = "Option::is_none")]
        rate: Option<f64>,
        #[serde(flatten)]
        sliced: Option<SliceRates>,
    },
    Gauge(Box<GaugeStats>),
    Histogram {
        count: u64,
        #[serde(flatten)]
        observed: Option<Box<Observed>>,
    },
}

#[derive(Serialize)]
pub(super) struct SliceRates {
    #[serde(rename = "rate_avg")]
    pub(super) avg: f64,
    #[serde(rename = "rate_min")]
    pub(super) min: f64,
    #[serde(rename = "rate_max")]
    pub(super) max: f64,
    #[serde(rename = "rate_std")]
    pub(super) std: f64,
}

#[derive(Serialize)]
pub(super) struct GaugeStats {
    pub(super) avg: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) std: f64,
    pub(super) p1: f64,
    pub(super) p5: f64,
    pub(super) p10: f64,
    pub(super) p25: f64,
    pub(super) p50: f64,
    pub(super) p75: f64,
    pub(super) p90: f64,
    pub(super) p95: f64,
    pub(super) p99: f64,
}

#[derive(Serialize)]
pub(super) struct Observed {
    pub(super) sum: f64,
    pub(super) avg: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) count_rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sum_rate: Option<f64>,
    pub(super) p1_estimate: f64,
    pub(super) p5_estimate: f64,
    pub(super) p10_estimate: f64,
    pub(super) p25_estimate: f64,
    pub(super) p50_estimate: f64,
    pub(super) p75_estimate: f64,
    pub(super) p90_estimate: f64,
    pub(super) p95_estimate: f64,
    pub(super) p99_estimate: f64,
}

#[derive(Serialize)]
pub(super) struct Slice {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// `false` for one that the window's end cut short; left out for whole ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) is_complete: Option<bool>,
    #[serde(flatten)]
    pub(super) of: SliceOf,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum SliceOf {
    Counter {
        total: f64,
        rate: f64,
    },
    Gauge {
        avg: f64,
        min: f64,
        max: f64,
    },
    Histogram {
        count: u64,
        sum: f64,
        avg: f64,
        buckets: Buckets,
    },
}

/// What aiperf would have been told, as far as the run knows it.
pub(super) fn input_config(run: &RunHeader) -> Map<String, Value> {
    let config = json!({
        "models": {"items": [{"name": run.server.model}]},
        "endpoint": {"urls": [run.server.url.as_str()], "type": run.endpoint_type(), "streaming": true},
        "phases": [{"name": "profiling", "kind": "profiling", "concurrency": run.held_concurrency()}],
        "server_metrics": {"enabled": true},
    });
    match config {
        Value::Object(config) => config,
        _ => Map::new(),
    }
}
