//! A checked Sweeper document as the settings of the effective document, and what its load comes to.

use serde_json::{Value as Json, json};

use super::{Cap, KvRatio, Load, Sweeper, Synthetic};
use crate::effective::{Content, Leaf, Setting};
use crate::replay::Origin;

impl Sweeper {
    /// Every key with its effective value.
    pub fn settings(&self) -> Vec<Setting> {
        let mut workload = self
            .synthetic
            .as_ref()
            .map_or(Vec::new(), |synthetic| self.synthetic(synthetic));
        match &self.load {
            Load::Trace(trace) => workload.extend([
                self.leaf("workload", "trace_path", trace.path.as_str()),
                self.leaf("workload", "trace_format", trace.format.as_str()),
                self.leaf("workload", "arrival_speedup_ratio", trace.arrival_speedup_ratio),
                self.leaf("workload", "replay_concurrency", trace.replay_concurrency),
            ]),
            Load::RequestRate(rate) => workload.push(self.leaf("workload", "request_rate", *rate)),
            Load::Concurrency(cap) => workload.push(self.leaf("workload", "concurrency", *cap)),
            Load::Kv(KvRatio::Fixed(ratio)) => workload.push(self.leaf("workload", "kv_load_ratio", *ratio)),
            Load::Kv(KvRatio::Range(min, max)) => {
                workload.push(self.leaf("workload", "kv_load_ratio", Leaf::Numbers(vec![*min, *max])));
            }
        }
        let mut settings = vec![
            Setting::group("workload", workload),
            Setting::group("goal", self.goal()),
        ];
        settings.extend(self.kept.iter().map(|(key, node)| Setting {
            key: key.clone(),
            content: Content::Leaf(Leaf::Kept(node.clone()), Origin::Stated),
        }));
        settings
    }

    fn synthetic(&self, synthetic: &Synthetic) -> Vec<Setting> {
        vec![
            self.leaf("workload", "isl", synthetic.isl),
            self.leaf("workload", "osl", synthetic.osl),
            self.leaf("workload", "num_request_ratio", synthetic.num_request_ratio),
            self.leaf("workload", "shared_prefix_ratio", synthetic.shared_prefix_ratio),
            self.leaf("workload", "num_prefix_groups", synthetic.num_prefix_groups),
            self.leaf("workload", "turns_per_session", synthetic.turns_per_session),
            self.leaf("workload", "inter_turn_delay_ms", synthetic.inter_turn_delay_ms),
        ]
    }

    fn goal(&self) -> Vec<Setting> {
        let goal = &self.goal;
        let bounds = [
            ("ttft_ms", goal.sla.ttft_ms),
            ("itl_ms", goal.sla.itl_ms),
            ("e2e_ms", goal.sla.e2e_ms),
        ];
        let sla = bounds
            .map(|(key, bound)| self.leaf("goal.sla", key, bound))
            .to_vec();
        let mut settings = vec![
            self.leaf("goal", "target", goal.target.as_str()),
            Setting::group("sla", sla),
        ];
        if !goal.pareto_objectives.is_empty() {
            let objectives = Leaf::Texts(goal.pareto_objectives.clone());
            settings.push(self.leaf("goal", "pareto_objectives", objectives));
        }
        settings
    }

    fn leaf(&self, group: &str, key: &str, value: impl Into<Leaf>) -> Setting {
        let stated = self.stated.contains(&format!("{group}.{key}"));
        Setting::leaf(key, value, if stated { Origin::Stated } else { Origin::Default })
    }

    /// What the load comes to without a server.
    pub(crate) fn load_json(&self) -> Json {
        let mut load = json!({"shape": self.shape()});
        match self.effective_in_flight_cap(None) {
            Ok(Cap::Open) => {
                load["loop"] = "open".into();
                load["cap"] = Json::Null;
            }
            Ok(Cap::Closed(cap)) => {
                load["loop"] = "closed".into();
                load["cap"] = cap.into();
            }
            // The cap of a KV load needs a server.
            Err(_) => load["loop"] = "closed".into(),
        }
        if let Load::Kv(KvRatio::Range(min, max)) = self.load {
            load["range"] = json!([min, max]);
        }
        if let Some(interval) = self.arrival_interval_ms() {
            load["arrival_interval_ms"] = interval.into();
        }
        if let (Ok(count), Some(synthetic)) = (self.resolved_request_count(None), &self.synthetic) {
            load["requests"] = count.into();
            load["sessions"] = count.into();
            load["requests_sent"] = count.saturating_mul(synthetic.turns_per_session).into();
        }
        load
    }
}
