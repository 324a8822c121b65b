//! The corpora that have a name: which repository each loader reads, and what bytes somebody has seen there.
//!
//! The table is `corpora/pins.json`, part of the program. A row without a digest names a corpus whose bytes nobody here
//! has seen; a digest is never made up for it, the one that a fetch finds is printed for the user to state.
//!
//! Never fetches and never opens a corpus.

use std::sync::LazyLock;

use serde::Deserialize;

/// One loader of aiperf 0.12.0's scenario `inferencex-agentx-mvp` and the corpus that it reads.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// The loader or public-dataset alias, as `corpus.loader` states it.
    pub loader: String,
    /// The dataset repository that the alias is bound to, `owner/name`.
    #[serde(rename = "huggingface")]
    pub repository: String,
    /// The commit at which the bytes were seen.
    pub revision: Option<String>,
    /// The corpus file's path in the repository.
    pub file: String,
    /// SHA-256 of that file, 64 lowercase hex digits, if somebody has seen its bytes.
    pub sha256: Option<String>,
    /// Its size in bytes, if somebody has seen it.
    pub bytes: Option<u64>,
    /// How many traces aiperf's registry says it holds.
    pub traces: Option<u32>,
    /// True for an alias that follows whatever corpus is current, so that another harness release may read another one.
    pub rolling: bool,
}

static PINS: LazyLock<Vec<Pin>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../corpora/pins.json"))
        .expect("corpora/pins.json is ours and tested")
});

/// All rows, in the order of the file.
pub fn pins() -> &'static [Pin] {
    &PINS
}

/// The row of the loader called `loader`, matched exactly.
pub fn by_loader(loader: &str) -> Option<&'static Pin> {
    pins().iter().find(|pin| pin.loader == loader)
}

/// Whether `sha256` (hex digits of either case) is the digest of the corpus that `loader` reads.
///
/// Two loaders may read one repository; its digest then is the pin of both. False for a loader whose corpus has no known
/// digest: a run on it is stamped `corpus_not_pinned`.
pub fn is_pinned(loader: &str, sha256: &str) -> bool {
    let Some(own) = by_loader(loader) else {
        return false;
    };
    pins()
        .iter()
        .filter(|pin| pin.repository == own.repository)
        .filter_map(|pin| pin.sha256.as_deref())
        .any(|known| known.eq_ignore_ascii_case(sha256))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const SEEN: &str = "e39cd2ff3eba21d4a3664be51da743ac3d2149a1933898cafc7bfeac8147eeef";

    #[test]
    fn the_table_has_one_row_for_each_loader_that_has_a_repository() {
        let loaders: HashSet<_> = pins().iter().map(|pin| pin.loader.as_str()).collect();
        assert_eq!((pins().len(), loaders.len()), (15, 15));
        for pin in pins() {
            let name = pin.repository.strip_prefix("semianalysisai/").expect("one owner");
            assert!(name.starts_with("cc-traces-weka-"), "{}", pin.repository);
            assert_eq!(
                name.ends_with("-256k"),
                pin.loader.ends_with("_256k"),
                "{}",
                pin.loader
            );
            assert_eq!(pin.file, "traces.jsonl");
        }
        assert_eq!(pins().iter().filter(|pin| pin.rolling).count(), 2);
        assert!(
            by_loader("weka_trace").is_none(),
            "a local folder has no identity"
        );
    }

    #[test]
    fn only_the_corpus_that_was_seen_has_a_digest() {
        let seen: Vec<_> = pins().iter().filter(|pin| pin.sha256.is_some()).collect();
        assert_eq!(seen.len(), 1);
        assert_eq!(seen[0].loader, "semianalysis_cc_traces_weka_062126_256k");
        assert_eq!(seen[0].sha256.as_deref(), Some(SEEN));
        assert_eq!(
            seen[0].revision.as_deref(),
            Some("8fecd2fc56694469f758f0afbbb6335ad3043740")
        );
    }

    #[test]
    fn a_digest_is_the_pin_of_every_loader_of_its_repository_and_of_no_other() {
        let cases = [
            ("semianalysis_cc_traces_weka_062126_256k", SEEN, true),
            (
                "semianalysis_cc_traces_weka_062126_256k",
                &SEEN.to_uppercase(),
                true,
            ),
            ("semianalysis_cc_traces_weka_with_subagents_256k", SEEN, true),
            ("semianalysis_cc_traces_weka_062126", SEEN, false),
            ("semianalysis_cc_traces_weka_061526_256k", SEEN, false),
            (
                "semianalysis_cc_traces_weka_062126_256k",
                &SEEN.replace('e', "f"),
                false,
            ),
            ("semianalysis_cc_traces_weka_062126_256k", "", false),
            ("weka_trace", SEEN, false),
        ];
        for (loader, sha256, pinned) in cases {
            assert_eq!(is_pinned(loader, sha256), pinned, "{loader} {sha256}");
        }
    }
}
