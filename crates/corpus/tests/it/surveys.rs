//! Surveys of real corpora against numbers counted from their files by another program, and against the survey of the whole
//! collection (`aiperf-corpus` §1.3) where that speaks of every trace.

use corpus::survey::Survey;
use corpus::{Corpus, LoadOptions, WarningKind};

struct Facts {
    corpus: &'static str,
    /// Name and number of [`Survey::counts`].
    counts: &'static [(&'static str, u64)],
    prompt_tokens: (f64, f64),
    span_s: (f64, f64),
    peak: f64,
    api_time_missing: u64,
}

const FACTS: [Facts; 2] = [
    Facts {
        corpus: "oracle/corpora/corpus_b.jsonl.gz",
        counts: &[
            ("traces", 12),
            ("traces with subagents", 1),
            ("subagents", 2),
            ("requests", 81),
            ("requests of subagents", 12),
            ("prompt tokens", 3_020_290),
            ("output tokens", 38_369),
            ("subagent times from the trace's start", 0),
            ("subagent times from the spawn", 12),
        ],
        prompt_tokens: (9_925.0, 101_059.0),
        span_s: (11.43, 3_078.38),
        peak: 101_125.0,
        api_time_missing: 4,
    },
    Facts {
        corpus: "oracle/corpora/corpus_c.jsonl.gz",
        counts: &[
            ("traces", 58),
            ("traces with subagents", 10),
            ("subagents", 30),
            ("requests", 3_337),
            ("requests of subagents", 348),
            ("prompt tokens", 278_377_653),
            ("output tokens", 1_582_491),
            ("subagent times from the trace's start", 0),
            ("subagent times from the spawn", 348),
        ],
        prompt_tokens: (8_868.0, 183_695.0),
        span_s: (109.31, 440_412.167),
        peak: 183_938.0,
        api_time_missing: 202,
    },
];

fn ends(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::MAX, f64::min);
    (least, values.iter().copied().fold(f64::MIN, f64::max))
}

#[test]
fn real_corpora_hold_what_was_counted() {
    for facts in &FACTS {
        let Some(packed) = testkit::shared(facts.corpus) else {
            return;
        };
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("corpus.jsonl");
        std::fs::write(&path, testkit::bytes(&packed)).unwrap();
        let corpus = Corpus::load(&path, None, &LoadOptions::default(), None).unwrap();
        // Of all 710 traces: block size 64, as many hash ids as whole blocks, inner times relative to the spawn.
        let odd = corpus
            .warnings
            .iter()
            .filter(|warning| !matches!(warning.kind, WarningKind::EndsInNonUser { .. }));
        assert_eq!(odd.count(), 0, "{}", facts.corpus);
        let survey = Survey::of(&corpus);
        for (name, expected) in facts.counts {
            let found = survey.counts.iter().find(|(known, _)| known == name);
            assert_eq!(
                found.map(|(_, count)| *count),
                Some(*expected),
                "{}: {name}",
                facts.corpus
            );
        }
        let column = |name: &str| {
            survey
                .columns
                .iter()
                .find(|column| column.name.starts_with(name))
                .unwrap()
        };
        assert_eq!(ends(&column("prompt").values), facts.prompt_tokens);
        let span = ends(&column("span").values);
        assert!(
            (span.0 - facts.span_s.0).abs() < 1e-6 && (span.1 - facts.span_s.1).abs() < 1e-6,
            "{span:?}"
        );
        assert!((ends(&column("peak").values).1 - facts.peak).abs() < 0.5);
        assert_eq!(column("api time").missing, facts.api_time_missing);
    }
}
