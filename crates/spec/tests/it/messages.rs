//! Hints: the next step, where one is known.

use spec::Kind;

#[test]
fn a_hint_names_the_next_step() {
    let replay = |line: &str| format!("workload:\n  replay:\n    {line}\n");
    let cases = [
        ("workload: chatbot".to_owned(), "workload", "shape: chatbot"),
        (
            replay("duration: 900"),
            "workload.replay.duration",
            "benchmark_duration_s",
        ),
        (
            replay("concurency: 4"),
            "workload.replay.concurency",
            "concurrency",
        ),
        (
            replay("concurrency: [1, 2]"),
            "workload.replay.concurrency",
            "one value",
        ),
        (
            replay("concurrency: \"64\""),
            "workload.replay.concurrency",
            "leave the quotes out",
        ),
        (
            replay("concurrency: 64.0"),
            "workload.replay.concurrency",
            "write 64",
        ),
        (
            replay("concurrency: 064"),
            "workload.replay.concurrency",
            "write 64",
        ),
        (
            replay("concurrency: 1_000"),
            "workload.replay.concurrency",
            "write 1000",
        ),
        (
            replay("grace_period_s: inf"),
            "workload.replay.grace_period_s",
            ".inf",
        ),
        (
            replay("streaming: yes"),
            "workload.replay.streaming",
            "write true",
        ),
        (
            replay("harness_version: 0.12"),
            "workload.replay.harness_version",
            "quote it: \"0.12\"",
        ),
        (
            replay("corpus: {sha256: 12e45}"),
            "workload.replay.corpus.sha256",
            "quote it",
        ),
        (replay("<<: {}"), "workload.replay.<<", "merge keys"),
        (
            replay("thinking: true"),
            "workload.replay.thinking",
            "quote the word: thinking: \"on\"",
        ),
        (replay("thinking: No"), "workload.replay.thinking", "\"off\""),
        (
            replay("corpus: {loader: weka_trace}"),
            "workload.replay.corpus.loader",
            "--corpus",
        ),
        (
            replay("corpus: {loader: weka_hf, source: {huggingface: a/b}}"),
            "workload.replay.corpus.source.huggingface",
            "semianalysisai/cc-traces-weka-062126",
        ),
        (
            replay("scenario: inferencex-agentx"),
            "workload.replay.scenario",
            "inferencex-agentx-mvp",
        ),
        ("workload: {}".to_owned(), "workload", "leave workload out"),
        (
            "prompt: {tokens: 1}\nname: x".to_owned(),
            "name",
            "named by its file",
        ),
        ("prompt: {tokens: 1}\n_mfu: x".to_owned(), "_mfu", "_comment"),
    ];
    for (text, path, hint) in cases {
        let (_, problems) = spec::read(&text, None);
        let problem = problems.iter().find(|problem| problem.path == path);
        let problem = problem.unwrap_or_else(|| panic!("{text}: {problems:#?}"));
        let told = problem.hint.as_deref().unwrap_or("");
        assert!(told.contains(hint), "{text}: {problem} | {told}");
    }
}

#[test]
fn text_from_a_document_cannot_reach_a_terminal_raw() {
    let (_, problems) = spec::read("kind: \"\\e[31mred\\a\"\n\"\\e]0;x\": 1\n", Some(Kind::Scenario));
    for problem in &problems {
        assert!(!problem.message.contains('\u{1b}'), "{:?}", problem.message);
    }
    assert!(!problems.is_empty());
}
