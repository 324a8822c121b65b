//! Which errors a trial may override, and what the document then says.

use spec::problem::{is_ok, is_ok_but_for_locks};
use spec::{Document, Replay, Workload};

use crate::support::{data, text};

fn minimal(line: &str) -> String {
    text(&data("bindings/valid/20-replay-inline-minimal.yaml")) + "    " + line + "\n"
}

fn read(line: &str) -> (Option<Replay>, Vec<spec::Problem>) {
    let (document, problems) = spec::read(&minimal(line), None);
    let replay = document.map(|document| match document {
        Document::Scenario(scenario) => match scenario.workload {
            Some(Workload::Replay(replay)) => *replay,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    });
    (replay, problems)
}

#[test]
fn a_broken_lock_is_waivable_and_its_value_is_read() {
    let cases = [
        ("benchmark_duration_s", "5"),
        ("benchmark_duration_s", "0.25"),
        ("cache_bust", "\"none\""),
        ("system_idle_gap_cap_s", "2.5"),
        ("streaming", "false"),
        ("ignore_eos", "false"),
        ("ignore_trace_delays", "true"),
        ("synthesis_max_isl", "8192"),
        ("inter_turn_delay_cap_s", "0"),
        ("inter_turn_delay_cap_s", "1.5"),
    ];
    for (key, value) in cases {
        let (document, problems) = spec::read(&minimal(&format!("{key}: {value}")), None);
        assert!(
            !is_ok(&problems) && is_ok_but_for_locks(&problems),
            "{key}: {problems:#?}"
        );
        let [problem] = &problems[..] else {
            panic!("{key}: {problems:#?}")
        };
        assert!(problem.waivable, "{problem}");
        assert!(
            problem.hint.as_deref().unwrap().contains("--override-locks"),
            "{problem}"
        );
        let (effective, _) = spec::resolve(&document.unwrap(), None);
        let json = effective.unwrap().to_json();
        assert_eq!(
            json["document"]["workload"]["replay"][key].to_string(),
            value,
            "{key}"
        );
        assert_eq!(json["origins"][format!("workload.replay.{key}")], "stated");
    }
}

#[test]
fn a_plain_mistake_is_never_waivable() {
    let cases = [
        "benchmark_duration_s: -5",
        "benchmark_duration_s: .nan",
        "benchmark_duration_s: .inf",
        "cache_bust: everywhere",
        "cache_bust: \"\"",
        "system_idle_gap_cap_s: 0",
        "system_idle_gap_cap_s: -1",
        "system_idle_gap_cap_s: .inf",
        "synthesis_max_isl: 0",
        "synthesis_max_isl: -4",
        "inter_turn_delay_cap_s: -1",
        "inter_turn_delay_cap_s: .nan",
        "trace_idle_gap_cap_s: 0",
        "trace_idle_gap_cap_s: .inf",
        "grace_period_s: -1",
        "random_seed: -1",
        "streaming: no",
        "trajectory_start: {min_ratio: 2}",
    ];
    for line in cases {
        let (replay, problems) = read(line);
        assert!(replay.is_none(), "{line}");
        assert_eq!(problems.len(), 1, "{line}: {problems:#?}");
        assert!(!problems[0].waivable, "{line}");
    }
}

#[test]
fn a_broken_lock_beside_a_mistake_gives_no_document() {
    let (replay, problems) = read("streaming: false\n    grace_period_s: -1");
    assert!(replay.is_none());
    assert_eq!(
        problems
            .iter()
            .map(|problem| problem.waivable)
            .collect::<Vec<_>>(),
        [false, true]
    );
}
