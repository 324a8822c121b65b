//! A checked replay as the settings of the effective document.

use super::{Definition, MaxContextLength, Origin, Replay, Warmup};
use crate::effective::{Content, Leaf, Setting};
use crate::terms::Terms;

impl Replay {
    /// Every key of the replay with its effective value, in the order of the documentation.
    pub fn settings(&self) -> Vec<Setting> {
        let corpus = &self.corpus;
        let mut settings = vec![
            self.leaf("", "scenario", self.scenario.as_str()),
            self.leaf("", "harness_version", self.harness_version.as_str()),
            Setting::group(
                "corpus",
                vec![
                    self.leaf("corpus.", "loader", corpus.loader.as_str()),
                    self.leaf("corpus.", "format", corpus.format.as_str()),
                    self.leaf("corpus.", "encoding", corpus.encoding.as_str()),
                    Setting::group(
                        "source",
                        vec![
                            self.leaf("corpus.source.", "huggingface", corpus.repository.as_str()),
                            self.leaf("corpus.source.", "revision", corpus.revision.as_str()),
                            self.leaf("corpus.source.", "file", corpus.file.as_str()),
                            self.leaf("corpus.source.", "split", corpus.split.as_str()),
                        ],
                    ),
                    self.leaf("corpus.", "sha256", corpus.sha256.as_str()),
                ],
            ),
            self.leaf("", "concurrency", u64::from(self.concurrency)),
            self.leaf("", "random_seed", self.random_seed),
            self.leaf("", "benchmark_duration_s", self.benchmark_duration_s),
            self.leaf("", "grace_period_s", self.grace_period_s),
            self.leaf(
                "",
                "max_context_length",
                self.max_context_length.map(context_leaf),
            ),
            self.leaf("", "cache_bust", self.cache_bust.as_str()),
            self.leaf("", "system_idle_gap_cap_s", self.system_idle_gap_cap_s),
            Setting::group(
                "trajectory_start",
                vec![
                    self.leaf("trajectory_start.", "min_ratio", self.trajectory_start.min_ratio),
                    self.leaf("trajectory_start.", "max_ratio", self.trajectory_start.max_ratio),
                ],
            ),
            Setting::group("warmup", self.warmup_settings()),
            self.leaf("", "split_flattened_agents", self.split_flattened_agents),
            self.leaf("", "streaming", self.streaming),
            self.leaf("", "ignore_eos", self.ignore_eos),
            self.leaf("", "ignore_trace_delays", self.ignore_trace_delays),
            self.leaf("", "synthesis_max_isl", self.synthesis_max_isl),
            self.leaf("", "trace_idle_gap_cap_s", self.trace_idle_gap_cap_s),
            self.leaf("", "inter_turn_delay_cap_s", self.inter_turn_delay_cap_s),
        ];
        settings.extend(
            self.terms
                .settings(|key| self.origin(key).unwrap_or(Origin::Stated)),
        );
        settings
    }

    fn warmup_settings(&self) -> Vec<Setting> {
        match self.warmup {
            Warmup::Synthesized => vec![self.leaf("warmup.", "mode", "synthesized")],
            Warmup::CachePressureFor { duration_s } => vec![
                self.leaf("warmup.", "mode", "cache_pressure"),
                self.leaf("warmup.", "duration_s", duration_s),
            ],
            Warmup::CachePressureRequests { requests_per_lane } => vec![
                self.leaf("warmup.", "mode", "cache_pressure"),
                self.leaf("warmup.", "requests_per_lane", requests_per_lane),
            ],
        }
    }

    fn leaf(&self, group: &str, key: &str, value: impl Into<Leaf>) -> Setting {
        let origin = self.origin(&format!("{group}{key}")).unwrap_or(Origin::Stated);
        Setting {
            key: key.to_owned(),
            content: Content::Leaf(value.into(), origin),
        }
    }
}

impl Definition {
    /// Every key of the definition with its effective value.
    pub fn settings(&self) -> Vec<Setting> {
        let mut settings = self.replay.settings();
        settings.retain(|setting| setting.key != "concurrency");
        settings
    }
}

fn context_leaf(limit: MaxContextLength) -> Leaf {
    match limit {
        MaxContextLength::Tokens(tokens) => tokens.into(),
        MaxContextLength::ModelLimit => "max_model_len".into(),
    }
}

impl Terms {
    /// The terms that are stated; the others have no value.
    pub(crate) fn settings(&self, origin: impl Fn(&str) -> Origin) -> Vec<Setting> {
        let kept = |inline: &crate::terms::Inline| Leaf::Kept(inline.0.clone());
        [
            ("category", self.category.as_deref().map(Leaf::from)),
            (
                "thinking",
                self.thinking.map(|thinking| Leaf::from(thinking.as_str())),
            ),
            ("acceptance", self.acceptance.as_ref().map(kept)),
            ("routing", self.routing.as_ref().map(kept)),
        ]
        .into_iter()
        .filter_map(|(key, value)| Some(Setting::leaf(key, value?, origin(key))))
        .collect()
    }
}
