//! One row of a Weka corpus, as it is written (`aiperf-corpus` §1.1).

use serde::{Serialize, Serializer};

/// A time in ms, written in seconds with at most three decimals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ms(pub(super) u64);

impl Serialize for Ms {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The nearest double to a number of thousandths has those thousandths as its shortest form.
        serializer.serialize_f64(self.0 as f64 / 1000.0)
    }
}

#[derive(Serialize)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) models: Vec<&'static str>,
    pub(super) block_size: u32,
    pub(super) tool_tokens: u32,
    pub(super) system_tokens: u32,
    pub(super) hash_id_scope: &'static str,
    pub(super) requests: Vec<Entry>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Entry {
    Call(Call),
    Subagent(Subagent),
}

impl Entry {
    pub(super) fn start(&self) -> Ms {
        match self {
            Self::Call(call) => call.t,
            Self::Subagent(agent) => agent.t,
        }
    }
}

#[derive(Clone, Serialize)]
pub(super) struct Call {
    pub(super) t: Ms,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) model: &'static str,
    #[serde(rename = "in")]
    pub(super) input: u32,
    #[serde(rename = "out")]
    pub(super) output: u32,
    pub(super) hash_ids: Vec<u32>,
    pub(super) input_types: Vec<&'static str>,
    pub(super) output_types: Vec<&'static str>,
    pub(super) stop: &'static str,
    pub(super) api_time: Ms,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ttft: Option<Ms>,
    pub(super) think_time: Ms,
}

impl Call {
    pub(super) fn end(&self) -> Ms {
        Ms(self.t.0 + self.api_time.0)
    }
}

#[derive(Serialize)]
pub(super) struct Subagent {
    pub(super) t: Ms,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) agent_id: String,
    #[serde(rename = "subagent_type")]
    pub(super) agent_type: &'static str,
    pub(super) duration_ms: Option<u64>,
    pub(super) total_tokens: Option<u64>,
    pub(super) tool_use_count: Option<u64>,
    pub(super) status: &'static str,
    pub(super) requests: Vec<Call>,
    pub(super) models: Vec<&'static str>,
    pub(super) tool_tokens: u32,
    pub(super) system_tokens: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_at_most_three_decimals() {
        for (ms, text) in [
            (0, "0.0"),
            (1, "0.001"),
            (300, "0.3"),
            (1_001, "1.001"),
            (123_456_789, "123456.789"),
        ] {
            assert_eq!(serde_json::to_string(&Ms(ms)).unwrap(), text);
        }
    }
}
