//! What a scenario states about the server, beside what the server turned out to be (`bindings` §11.4).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::header::RunHeader;
use crate::server_metrics::statistics::ServerMetrics;

/// `stated` in `summary.json`: nothing of it changes what is sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stated {
    /// Mean tokens a verification step as the scenario states it, or one plus its acceptance rates.
    pub acceptance_length: Option<f64>,
    /// The same by the server's counters over the measurement.
    pub acceptance_length_realised: Option<f64>,
    /// The engine's release as the scenario states it.
    pub engine_version: Option<String>,
    /// The server's own version.
    pub engine_version_served: Option<String>,
}

impl Stated {
    /// What the run's scenario states; `None` when it states neither.
    pub fn of(run: &RunHeader, metrics: Option<&ServerMetrics>) -> Option<Self> {
        let acceptance_length = ["replay", "trace", "shape"]
            .iter()
            .find_map(|arm| run.scenario.pointer(&format!("/workload/{arm}/acceptance")))
            .and_then(length);
        let engine_version = run.scenario.get("engine_version").and_then(text);
        if acceptance_length.is_none() && engine_version.is_none() {
            return None;
        }
        Some(Self {
            acceptance_length,
            acceptance_length_realised: metrics.and_then(|metrics| metrics.speculation.acceptance_length),
            engine_version,
            engine_version_served: run.server.version.clone(),
        })
    }

    /// The two versions, when both are known and differ. A leading `v` and a build's own ending (`+cpu`) say nothing.
    pub fn other_version(&self) -> Option<(&str, &str)> {
        let stated = self.engine_version.as_deref()?;
        let served = self.engine_version_served.as_deref()?;
        let release = |version: &str| version.trim().trim_start_matches('v').to_owned();
        let (wanted, found) = (release(stated), release(served));
        let built = found.split_once('+').map(|(release, _)| release);
        (wanted != found && built != Some(&wanted)).then_some((stated, served))
    }
}

fn length(acceptance: &Value) -> Option<f64> {
    let stated = acceptance.get("length").and_then(Value::as_f64);
    stated.or_else(|| {
        let rates = acceptance.get("rates")?.as_array()?;
        let rates: Option<Vec<f64>> = rates.iter().map(Value::as_f64).collect();
        Some(1.0 + rates?.iter().sum::<f64>())
    })
}

/// A version that looks like a number is one in YAML.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
