//! What a Sweeper document's load comes to: the fixtures' resolved values, the arithmetic, warnings.

use serde_json::Value;
use spec::sweeper::{Cap, KvCapacity, KvRatio, Load, LoadError};
use spec::{Document, Kind, Sweeper};

use crate::support::{paths, sweepers};

fn read(text: &str) -> Sweeper {
    match spec::read(text, Some(Kind::Sweeper)) {
        (Some(Document::Sweeper(sweeper)), problems)
            if problems.iter().all(|problem| !problem.is_error()) =>
        {
            *sweeper
        }
        (_, problems) => panic!("{problems:#?}"),
    }
}

fn capacity(row: &Value) -> Option<KvCapacity> {
    let kv = row.get("kv")?;
    Some(KvCapacity {
        per_rank_tokens: kv["per_rank_tokens"].as_u64()?,
        block_size: kv["block_size"].as_u64()?,
        attention_dp: kv["attention_dp"].as_u64().unwrap_or(1),
        replicas: kv["replicas"].as_u64().unwrap_or(1),
    })
}

#[test]
fn every_valid_fixture_resolves_to_its_load() {
    for case in sweepers()
        .iter()
        .filter(|case| case.row.get("resolved").is_some())
    {
        let (name, expected) = (&case.name, &case.row["resolved"]);
        let sweeper = read(&case.text);
        assert_eq!(sweeper.shape(), expected["shape"], "{name}");
        if let Some(range) = expected.get("range") {
            let range = (range[0].as_f64().unwrap(), range[1].as_f64().unwrap());
            assert_eq!(sweeper.load, Load::Kv(KvRatio::Range(range.0, range.1)), "{name}");
            assert_eq!(
                sweeper.kv_load(capacity(&case.row)),
                Err(LoadError::Range),
                "{name}"
            );
            continue;
        }
        let kv = sweeper.kv_load(capacity(&case.row)).unwrap();
        if let Some(kv) = kv {
            assert_eq!(kv.capacity_tokens, expected["role_capacity_tokens"], "{name}");
            assert_eq!(
                kv.average_tokens_per_request, expected["average_tokens_per_request"],
                "{name}"
            );
            assert_eq!(
                kv.capacity_concurrency, expected["capacity_concurrency"],
                "{name}"
            );
        }
        let derived = kv.map(|kv| kv.concurrency);
        let cap = match expected["cap"].as_u64() {
            None => Cap::Open,
            Some(cap) => Cap::Closed(cap),
        };
        assert_eq!(sweeper.effective_in_flight_cap(derived).unwrap(), cap, "{name}");
        assert_eq!(
            expected["loop"],
            if cap == Cap::Open { "open" } else { "closed" },
            "{name}"
        );
        let requests = sweeper.resolved_request_count(derived);
        assert_eq!(
            requests.as_ref().ok().copied(),
            expected["requests"].as_u64(),
            "{name}"
        );
        assert_eq!(
            sweeper.arrival_interval_ms(),
            expected["arrival_interval_ms"].as_f64(),
            "{name}"
        );
        if let Some(synthetic) = sweeper.synthetic {
            let sent = requests.unwrap() * synthetic.turns_per_session;
            assert_eq!(sent, expected["requests_sent"].as_u64().unwrap_or(sent), "{name}");
            let (blocks, shared) = synthetic.blocks(64);
            assert_eq!(
                blocks,
                expected["blocks_per_prompt_at_block_size_64"]
                    .as_u64()
                    .unwrap_or(blocks),
                "{name}"
            );
            assert_eq!(
                shared,
                expected["shared_blocks"].as_u64().unwrap_or(shared),
                "{name}"
            );
        }
    }
}

#[test]
fn a_load_that_a_server_cannot_hold_is_a_problem_at_the_ratio() {
    for case in sweepers().iter().filter(|case| case.stage() == "resolve") {
        let sweeper = read(&case.text);
        let error = sweeper.kv_load(capacity(&case.row)).unwrap_err();
        let problem = sweeper.problem(&error);
        assert_eq!(
            vec![problem.path.clone()],
            case.expected("problems"),
            "{}",
            case.name
        );
        assert_eq!(problem.place.unwrap().line, 5, "{}: {problem}", case.name);
    }
}

#[test]
fn the_derived_cap_truncates_and_is_at_least_one() {
    // isl, osl, tokens, block, dp, replicas, ratio → average, full, cap: the table of `sweeper-traffic.md` §5.2.
    let rows = [
        (4000, 1000, 432_000, 16, 1, 1, 0.5, 4500, 96, 48),
        (4000, 1000, 432_000, 16, 1, 1, 0.0, 4500, 96, 1),
        (4000, 1000, 432_000, 16, 1, 1, 1.25, 4500, 96, 120),
        (4000, 1000, 432_007, 16, 2, 2, 1.0, 4500, 384, 384),
        (1000, 2, 100_100, 100, 1, 1, 0.29, 1001, 100, 28),
        (100, 7, 1_030, 10, 1, 1, 1.0, 103, 10, 10),
    ];
    for (isl, osl, per_rank_tokens, block_size, attention_dp, replicas, ratio, average, full, cap) in rows {
        let text =
            format!("workload: {{isl: {isl}, osl: {osl}, num_request_ratio: 1, kv_load_ratio: {ratio}}}");
        let capacity = KvCapacity {
            per_rank_tokens,
            block_size,
            attention_dp,
            replicas,
        };
        let load = read(&text).kv_load(Some(capacity)).unwrap().unwrap();
        assert_eq!(
            (
                load.average_tokens_per_request,
                load.capacity_concurrency,
                load.concurrency
            ),
            (average, full, cap),
            "{text}"
        );
    }
}

#[test]
fn a_count_before_the_cap_is_known_is_an_error() {
    let kv = read("workload: {isl: 1, osl: 1, num_request_ratio: 1, kv_load_ratio: 1}");
    assert_eq!(kv.resolved_request_count(None), Err(LoadError::Underived));
    assert_eq!(kv.effective_in_flight_cap(None), Err(LoadError::Underived));
    assert_eq!(kv.resolved_request_count(Some(3)), Ok(3));
}

#[test]
fn points_of_a_range_include_both_ends() {
    assert_eq!(KvRatio::Range(0.0, 1.0).points(5), [0.0, 0.25, 0.5, 0.75, 1.0]);
    assert_eq!(KvRatio::Range(0.1, 0.7).points(2), [0.1, 0.7]);
    assert_eq!(KvRatio::Range(0.1, 0.7).points(1), [0.1]);
    assert_eq!(KvRatio::Range(0.1, 0.7).points(0), [] as [f64; 0]);
    assert_eq!(KvRatio::Fixed(0.5).points(3), [0.5]);
}

#[test]
fn rules_beyond_the_fixtures() {
    const LENGTHS: &str = "isl: 10, osl: 10, num_request_ratio: 1";
    let cases: [(String, &[&str], &[&str]); 24] = [
        (
            format!("workload: {{{LENGTHS}, concurrency: 1.0}}"),
            &["workload.concurrency"],
            &[],
        ),
        (
            format!("workload: {{{LENGTHS}, request_rate: \"5\"}}"),
            &["workload.request_rate"],
            &[],
        ),
        (
            format!("workload: {{{LENGTHS}, request_rate: .nan}}"),
            &["workload.request_rate"],
            &[],
        ),
        (
            format!("workload: {{{LENGTHS}, concurrency: null, request_rate: 2}}"),
            &[],
            &[],
        ),
        (
            format!("workload: {{{LENGTHS}, kv_load_ratio: [0, 0.5, 1]}}\ngoal: {{target: pareto}}"),
            &["workload.kv_load_ratio"],
            &[],
        ),
        (
            format!("workload: {{{LENGTHS}, kv_load_ratio: [0, .inf]}}\ngoal: {{target: pareto}}"),
            &["workload.kv_load_ratio"],
            &[],
        ),
        (
            format!("workload: {{{LENGTHS}, kv_load_ratio: [0, x]}}\ngoal: {{target: pareto}}"),
            &["workload.kv_load_ratio[1]"],
            &[],
        ),
        (
            format!("workload: {{{LENGTHS}, kv_load_ratio: 2.5}}\ngoal: {{target: pareto}}"),
            &[],
            &[],
        ),
        (
            format!("workload: {{{LENGTHS}, concurrency: 1, shared_prefix_ratio: 0.5}}"),
            &[],
            &["workload.shared_prefix_ratio"],
        ),
        (
            format!("workload: {{{LENGTHS}, concurrency: 1, num_prefix_groups: 2}}"),
            &[],
            &["workload.num_prefix_groups"],
        ),
        (
            format!("workload: {{{LENGTHS}, concurrency: 1, inter_turn_delay_ms: 5}}"),
            &[],
            &["workload.inter_turn_delay_ms"],
        ),
        (
            format!("workload: {{{LENGTHS}, concurrency: 1, trace_format: mooncake}}"),
            &[],
            &["workload.trace_format"],
        ),
        (
            format!("workload: {{{LENGTHS}, concurrency: 1, arrival_speedup_ratio: 2}}"),
            &[],
            &["workload.arrival_speedup_ratio"],
        ),
        (
            format!("workload: {{{LENGTHS}, concurrency: 1, arrival_speedup_ratio: 1}}"),
            &[],
            &[],
        ),
        (
            "workload: {trace_path: t, turns_per_session: 0, num_prefix_groups: 1}".to_owned(),
            &["workload.turns_per_session"],
            &["workload.num_prefix_groups", "workload.turns_per_session"],
        ),
        (
            "workload: {trace_path: t, replay_concurrency: 2, arrival_speedup_ratio: 2}".to_owned(),
            &[],
            &["workload.arrival_speedup_ratio"],
        ),
        (
            "workload: {trace_path: t, trace_format: weka}".to_owned(),
            &["workload.trace_format"],
            &[],
        ),
        (
            "workload: {trace_path: \"\"}".to_owned(),
            &["workload.trace_path"],
            &[],
        ),
        (
            "goal: {target: throughput}".to_owned(),
            &[
                "workload",
                "workload.isl",
                "workload.num_request_ratio",
                "workload.osl",
            ],
            &[],
        ),
        (
            format!("workload: {{{LENGTHS}, concurrency: 1}}\ngoal: {{target: goodput}}"),
            &["goal.sla"],
            &[],
        ),
        (
            format!(
                "workload: {{{LENGTHS}, concurrency: 1}}\ngoal: {{target: goodput, sla: {{ttft_ms: 1, itl_ms: 2}}}}"
            ),
            &[],
            &[],
        ),
        (
            format!("workload: {{{LENGTHS}, concurrency: 1}}\ngoal: {{target: fast, sla: {{e2e_ms: 0}}}}"),
            &["goal.sla.e2e_ms", "goal.target"],
            &[],
        ),
        (
            format!(
                "workload: {{{LENGTHS}}}\ngoal: {{target: pareto, pareto_objectives: [throughput, throughput]}}"
            ),
            &["goal.pareto_objectives"],
            &[],
        ),
        (
            format!(
                "workload: {{{LENGTHS}, concurrency: 1}}\ngoal: {{pareto_objectives: [goodput, pareto]}}\nsearch_space: 1\nsweep: []\nadapters: {{}}\nother: 1"
            ),
            &["other"],
            &[],
        ),
    ];
    for (text, errors, warnings) in cases {
        let (_, problems) = spec::read(&text, None);
        assert_eq!(paths(&problems, true), errors, "{text}: {problems:#?}");
        assert_eq!(paths(&problems, false), warnings, "{text}: {problems:#?}");
    }
}
