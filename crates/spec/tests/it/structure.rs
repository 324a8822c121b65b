//! The structure stage beyond the fixtures: types, keys, comments, references, one row a rule.

use spec::{Kind, Problem};

use crate::support::{data, paths, text};

fn check(text: &str, kind: Option<Kind>, errors: &[&str], warnings: &[&str]) -> Vec<Problem> {
    let (_, problems) = spec::read(text, kind);
    assert_eq!(paths(&problems, true), errors, "{text}\n{problems:#?}");
    assert_eq!(paths(&problems, false), warnings, "{text}\n{problems:#?}");
    problems
}

#[test]
fn a_replay_key_takes_its_own_type_only() {
    let cases: [(&str, &[&str]); 27] = [
        ("concurrency: 64.0", &["workload.replay.concurrency"]),
        ("random_seed: 0", &[]),
        ("random_seed: 18446744073709551615", &[]),
        (
            "random_seed: 18446744073709551616",
            &["workload.replay.random_seed"],
        ),
        ("random_seed: 0x10", &[]),
        ("random_seed: 010", &["workload.replay.random_seed"]),
        ("random_seed: 1_000", &["workload.replay.random_seed"]),
        ("random_seed: \"7\"", &["workload.replay.random_seed"]),
        ("random_seed: true", &["workload.replay.random_seed"]),
        ("benchmark_duration_s: 1e3", &[]),
        (
            "benchmark_duration_s: 0x400",
            &["workload.replay.benchmark_duration_s"],
        ),
        (
            "benchmark_duration_s: \"900\"",
            &["workload.replay.benchmark_duration_s"],
        ),
        ("grace_period_s: inf", &["workload.replay.grace_period_s"]),
        ("grace_period_s: Infinity", &["workload.replay.grace_period_s"]),
        ("grace_period_s: +.INF", &[]),
        ("grace_period_s: -.inf", &["workload.replay.grace_period_s"]),
        ("grace_period_s: ~", &[]),
        ("grace_period_s:", &[]),
        (
            "max_context_length: \"131072\"",
            &["workload.replay.max_context_length"],
        ),
        ("max_context_length: 8e3", &["workload.replay.max_context_length"]),
        (
            "max_context_length: MAX_MODEL_LEN",
            &["workload.replay.max_context_length"],
        ),
        (
            "split_flattened_agents: off",
            &["workload.replay.split_flattened_agents"],
        ),
        ("category: 12", &["workload.replay.category"]),
        ("warmup: cache_pressure", &["workload.replay.warmup"]),
        (
            "warmup: {mode: cache_pressure, requests_per_lane: 1.5}",
            &["workload.replay.warmup.requests_per_lane"],
        ),
        ("trajectory_start: [0, 1]", &["workload.replay.trajectory_start"]),
        ("<<: {streaming: true}", &["workload.replay.<<"]),
    ];
    for (line, errors) in cases {
        let text = minimal_without_lanes(line);
        check(&text, None, errors, &[]);
    }
}

fn minimal_without_lanes(line: &str) -> String {
    let minimal = text(&data("bindings/valid/20-replay-inline-minimal.yaml"));
    if line.starts_with("concurrency") {
        return minimal.replace("    concurrency: 4\n", &format!("    {line}\n"));
    }
    format!("{minimal}    {line}\n")
}

#[test]
fn one_pass_tells_every_structural_problem() {
    let text = "worklod: 1\nworkload:\n  trace:\n    rows: x\n    dat: a\n    header: {mode: 1, servr: {}, trace_version: 1.5}\n    rows: 2\n";
    check(
        text,
        None,
        &[
            "workload.trace.dat",
            "workload.trace.header.mode",
            "workload.trace.header.servr",
            "workload.trace.header.trace_version",
            "workload.trace.rows",
            "workload.trace.rows",
            "worklod",
        ],
        &[],
    );
}

#[test]
fn null_is_not_stated_and_empty_is() {
    check("workload:\n", None, &[], &[]);
    check("workload: {shape: ~}", None, &["workload"], &[]);
    check("workload: {shape: a, trace: ~, replay: ~}", None, &[], &[]);
    check("workload: {shape: a, trace: {}}", None, &["workload"], &[]);
    let missing = &[
        "workload.trace.data",
        "workload.trace.header.mode",
        "workload.trace.header.time_unit",
        "workload.trace.header.trace_version",
    ];
    check("workload: {trace: {}}", None, missing, &[]);
    check("workload: {shape: \"\", trace: {}}", None, missing, &[]);
}

#[test]
fn slo_classes_are_free_names_with_checked_targets() {
    let text = |classes: &str| {
        format!(
            "workload: {{trace: {{data: a, header: {{trace_version: 1, time_unit: s, mode: real, goodput_slo_targets: {classes}}}}}}}"
        )
    };
    let at = "workload.trace.header.goodput_slo_targets";
    let cases = [
        ("{a b: {ttft_ms: 1}, 1: {e2e_ms: 2.5}}", vec![]),
        ("{a: ~}", vec![format!("{at}.a")]),
        ("{a: {ttft_ms: 0, itl_ms: 0}}", vec![format!("{at}.a")]),
        ("{a: {ttft_ms: -1}}", vec![format!("{at}.a.ttft_ms")]),
        ("{a: {ttft_ms: 1, tpot_ms: 3}}", vec![format!("{at}.a.tpot_ms")]),
        ("{\"\": {ttft_ms: 1}}", vec![at.to_owned()]),
        ("{a: 5}", vec![format!("{at}.a")]),
        ("[]", vec![at.to_owned()]),
    ];
    for (classes, errors) in cases {
        check(
            &text(classes),
            None,
            &errors.iter().map(String::as_str).collect::<Vec<_>>(),
            &[],
        );
    }
}

#[test]
fn inline_values_keep_unknown_keys_with_a_warning() {
    let cases: [(&str, &[&str], &[&str]); 16] = [
        (
            "acceptance: {length: 2, num_speculative_tokens: 3, tree: {a: [1]}}",
            &[],
            &["acceptance.tree"],
        ),
        (
            "acceptance: {length: 2}",
            &["acceptance.num_speculative_tokens"],
            &[],
        ),
        ("acceptance: {length: 4, num_speculative_tokens: 3}", &[], &[]),
        (
            "acceptance: {length: 4.01, num_speculative_tokens: 3}",
            &["acceptance.length"],
            &[],
        ),
        (
            "acceptance: {length: .inf, num_speculative_tokens: 3}",
            &["acceptance.length"],
            &[],
        ),
        (
            "acceptance: {length: 2, rates: [0.5], num_speculative_tokens: 1}",
            &["acceptance"],
            &[],
        ),
        ("acceptance: {method: measured}", &["acceptance"], &[]),
        ("acceptance: {rates: []}", &["acceptance.rates"], &[]),
        ("acceptance: {rates: [1, 1, 0]}", &[], &[]),
        ("acceptance: {rates: [0.5, .nan]}", &["acceptance.rates"], &[]),
        (
            "acceptance: {rates: [0.5, 0.4], num_speculative_tokens: 3}",
            &["acceptance.num_speculative_tokens"],
            &[],
        ),
        (
            "acceptance: {rates: [a, ~]}",
            &["acceptance.rates[0]", "acceptance.rates[1]"],
            &[],
        ),
        ("acceptance: []", &["acceptance"], &[]),
        ("routing: {}", &["routing"], &[]),
        (
            "routing: {imbalance: .inf, skew: 1}",
            &["routing.imbalance"],
            &["routing.skew"],
        ),
        (
            "routing: {imbalance: 1, method: measured, sources: [a], rationale: b}",
            &[],
            &[],
        ),
    ];
    for (line, errors, warnings) in cases {
        let text = format!("prompt: {{tokens: 10}}\noutput: {{tokens: 10}}\n{line}\n");
        check(&text, None, errors, warnings);
    }
}

#[test]
fn comment_keys_are_dropped_where_the_catalog_takes_them() {
    let cases: [(&str, &[&str]); 7] = [
        (
            "_comment: {any: [value]}\n_comment_x: 1\nprompt: {tokens: 1, _comment_: ~}\noutput: {tokens: 1}\n",
            &[],
        ),
        (
            "_commentx: 1\nprompt: {tokens: 1}\noutput: {tokens: 1}\n",
            &["_commentx"],
        ),
        (
            "prompt: {tokens: 1}\noutput: {tokens: 1}\nacceptance: {rates: [1]}\n_note: 1\n",
            &["_note"],
        ),
        ("_comment: a\nworkload: {shape: b}\n", &["_comment"]),
        ("workload: {_comment: a, shape: b}\n", &["workload._comment"]),
        ("replay: {corpus: {_comment: a}}\n", &["replay.corpus._comment"]),
        (
            "_comment: a\n_comment: b\nprompt: {tokens: 1}\noutput: {tokens: 1}\n",
            &["_comment"],
        ),
    ];
    for (text, errors) in cases {
        check(text, None, errors, &[]);
    }
}

#[test]
fn a_negative_upper_bound_of_a_shape_is_a_warning() {
    check(
        "prompt: {tokens: 1, tokens_max: -5}\noutput: {tokens: 1}\n",
        None,
        &[],
        &["prompt.tokens_max"],
    );
}

#[test]
fn a_reference_states_choices_only_and_their_values_wait_for_the_merge() {
    let cases: [(&str, &[&str]); 5] = [
        (
            "concurrency: 2, random_seed: -4, benchmark_duration_s: 1, acceptance: {length: 0}",
            &[],
        ),
        ("concurrency: 2, max_context_length: 0, grace_period_s: .nan", &[]),
        (
            "concurrency: 2, max_context_length: 8k",
            &["workload.replay.max_context_length"],
        ),
        (
            "concurrency: 2, warmup: ~, streaming: true",
            &["workload.replay.streaming"],
        ),
        ("concurrency: 4294967296", &["workload.replay.concurrency"]),
    ];
    for (choices, errors) in cases {
        check(
            &format!("workload: {{replay: {{workload: a, {choices}}}}}"),
            None,
            errors,
            &[],
        );
    }
}

#[test]
fn a_document_is_told_apart_by_its_keys() {
    let cases: [(&str, &[&str]); 9] = [
        ("goal: {target: pareto}\nworkload: {shape: a}", &["goal"]),
        ("workload: {trace_path: a}", &[]),
        (
            "workload: {isl: 1}",
            &["workload", "workload.num_request_ratio", "workload.osl"],
        ),
        ("sweep: {}\nworkload: {qps: 1}", &["workload.qps"]),
        ("prefix_tokens: 1", &["output.tokens", "prompt.tokens"]),
        ("kind: Scenario\nprompt: {tokens: 1}", &["prompt"]),
        ("name: a", &[]),
        ("[]", &[""]),
        ("5", &[""]),
    ];
    for (text, errors) in cases {
        check(text, None, errors, &[]);
    }
}

#[test]
fn budgets_bound_what_a_document_can_cost() {
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n\
                d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e]\n";
    check(bomb, Some(Kind::Scenario), &[""], &[]);
    check(&"[".repeat(300), None, &[""], &[]);
    check(&format!("model: {}", "x".repeat(2 << 20)), None, &[""], &[]);
    check("a: &a [*a]\n", None, &[""], &[]);
    check("model: !!binary aGk=\n", None, &[], &[]);
    check(
        "workload: {shape: !!binary aGk=}\n",
        None,
        &["workload.shape"],
        &[],
    );
    check("workload: !local {shape: a}\n", None, &["workload"], &[]);
    check("!local {workload: ~}\n", None, &[""], &[]);
    check("name: a\rmodel: b\n", None, &[""], &[]);
    check("{a: 1}: b\n", None, &[""], &[]);
    check("workload: {shape: !!str 5}\n", None, &[], &[]);
}
