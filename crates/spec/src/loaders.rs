//! The corpora that the replay scenario accepts, by the harness' names (`bindings.md` §1.8, aiperf 0.12.0).
//!
//! The names follow no rule, so this is a table. What is known of each corpus' bytes stands in `corpora/pins.json`.

/// A loader or public-dataset alias and the repository that the harness fixes for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loader {
    /// The name that `corpus.loader` states.
    pub name: &'static str,
    /// The only repository that `corpus.source.huggingface` may name with it.
    pub repository: &'static str,
    /// It follows whatever corpus is current; another harness release may read other bytes.
    pub rolling: bool,
}

const fn pinned(name: &'static str, repository: &'static str) -> Loader {
    Loader {
        name,
        repository,
        rolling: false,
    }
}

const fn rolling(name: &'static str, repository: &'static str) -> Loader {
    Loader {
        name,
        repository,
        rolling: true,
    }
}

/// The fifteen names that a replay may state, sorted.
pub const LOADERS: [Loader; 15] = [
    pinned(
        "semianalysis_cc_traces_weka_061326",
        "semianalysisai/cc-traces-weka-061326",
    ),
    pinned(
        "semianalysis_cc_traces_weka_061326_256k",
        "semianalysisai/cc-traces-weka-061326-256k",
    ),
    pinned(
        "semianalysis_cc_traces_weka_061526",
        "semianalysisai/cc-traces-weka-061526",
    ),
    pinned(
        "semianalysis_cc_traces_weka_061526_256k",
        "semianalysisai/cc-traces-weka-061526-256k",
    ),
    pinned(
        "semianalysis_cc_traces_weka_062126",
        "semianalysisai/cc-traces-weka-062126",
    ),
    pinned(
        "semianalysis_cc_traces_weka_062126_256k",
        "semianalysisai/cc-traces-weka-062126-256k",
    ),
    rolling(
        "semianalysis_cc_traces_weka_with_subagents",
        "semianalysisai/cc-traces-weka-062126",
    ),
    pinned(
        "semianalysis_cc_traces_weka_with_subagents_060226",
        "semianalysisai/cc-traces-weka-with-subagents-060226",
    ),
    pinned(
        "semianalysis_cc_traces_weka_with_subagents_060226_256k",
        "semianalysisai/cc-traces-weka-with-subagents-060226-256k",
    ),
    pinned(
        "semianalysis_cc_traces_weka_with_subagents_060526",
        "semianalysisai/cc-traces-weka-with-subagents-060526",
    ),
    pinned(
        "semianalysis_cc_traces_weka_with_subagents_060526_256k",
        "semianalysisai/cc-traces-weka-with-subagents-060526-256k",
    ),
    pinned(
        "semianalysis_cc_traces_weka_with_subagents_060826",
        "semianalysisai/cc-traces-weka-with-subagents-060826",
    ),
    pinned(
        "semianalysis_cc_traces_weka_with_subagents_060826_256k",
        "semianalysisai/cc-traces-weka-with-subagents-060826-256k",
    ),
    rolling(
        "semianalysis_cc_traces_weka_with_subagents_256k",
        "semianalysisai/cc-traces-weka-062126-256k",
    ),
    pinned("weka_hf", "semianalysisai/cc-traces-weka-062126"),
];

/// The names of [`LOADERS`].
pub const USABLE: [&str; 15] = {
    let mut names = [""; 15];
    let mut at = 0;
    while at < names.len() {
        names[at] = LOADERS[at].name;
        at += 1;
    }
    names
};

/// The loader of this name.
pub fn loader(name: &str) -> Option<&'static Loader> {
    LOADERS.iter().find(|loader| loader.name == name)
}
