//! `/metrics`: names, types and labels of the real page, and values that agree with what was served.

use std::collections::{BTreeMap, BTreeSet};

use sim::Config;

use crate::client::{CHAT, chat, get, post, start};

/// Type of each `vllm:` family, and the label names of each sample name.
fn families(page: &str) -> (BTreeMap<String, String>, BTreeMap<String, BTreeSet<String>>) {
    let mut types = BTreeMap::new();
    let mut labels: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in page.lines() {
        if let Some(family) = line.strip_prefix("# TYPE vllm:") {
            let (name, kind) = family.split_once(' ').unwrap();
            types.insert(name.to_owned(), kind.to_owned());
        } else if let Some(sample) = line.strip_prefix("vllm:") {
            let (name, rest) = sample.split_once('{').unwrap();
            let (inside, value) = rest.rsplit_once("} ").unwrap();
            assert!(value.parse::<f64>().is_ok(), "{line}");
            let names = inside
                .split("\",")
                .map(|label| label.split('=').next().unwrap().to_owned());
            labels.entry(name.to_owned()).or_default().extend(names);
        }
    }
    (types, labels)
}

/// The whole number that stands behind the first sample that starts so.
fn value(page: &str, sample: &str) -> u64 {
    let line = page.lines().find(|line| line.starts_with(sample));
    let line = line.unwrap_or_else(|| panic!("no {sample}"));
    let value = line.rsplit(' ').next().unwrap();
    value.strip_suffix(".0").unwrap().parse().unwrap()
}

#[test]
fn every_family_is_one_of_the_real_page_with_its_type_and_labels() {
    let Some(real) = testkit::shared("oracle/vllm-0.32/metrics-after.response.txt") else {
        return;
    };
    let real = String::from_utf8(testkit::bytes(&real)).unwrap();
    let (real_types, real_labels) = families(&real);
    let (types, labels) = families(&start(Config::instant()).metrics());
    assert!(types.len() > 40, "{}", types.len());
    for (name, kind) in &types {
        assert_eq!(Some(kind), real_types.get(name), "{name}");
    }
    for (name, ours) in &labels {
        let theirs = &real_labels[name];
        assert!(ours.is_subset(theirs), "{name}: {ours:?}");
        assert!(name == "cache_config_info" || ours == theirs, "{name}: {ours:?}");
    }
    let bounds = |page: &str, name: &str| -> Vec<String> {
        let of_it = page
            .lines()
            .filter(|line| line.starts_with(&format!("vllm:{name}_bucket")));
        of_it
            .map(|line| {
                line.split("le=\"")
                    .nth(1)
                    .unwrap()
                    .split('"')
                    .next()
                    .unwrap()
                    .to_owned()
            })
            .collect()
    };
    let ours = start(Config::instant()).metrics();
    for (name, _) in types.iter().filter(|(_, kind)| *kind == "histogram") {
        let (ours, theirs) = (bounds(&ours, name), bounds(&real, name));
        // Length histograms go up with the model's context; ours has that of the captured one.
        assert_eq!(ours, theirs, "{name}");
    }
}

#[test]
fn counters_agree_with_what_was_served() {
    let mut config = Config::instant();
    config.model = "a \"model\"".to_owned();
    let server = start(config);
    let mut expected = [0; 3];
    for n in [1, 5, 5, 9] {
        let rest = format!(r#","max_tokens":{n},"ignore_eos":true"#);
        let usage = post(&server, CHAT, &chat(&"lanes and trees ".repeat(20), &rest))
            .usage()
            .unwrap();
        expected[0] += usage["prompt_tokens"].as_u64().unwrap();
        expected[1] += usage["completion_tokens"].as_u64().unwrap();
        expected[2] += usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap();
    }
    assert!(expected[2] > 0);
    let answer = get(&server, "/metrics");
    assert!(answer.has_header("content-type: text/plain; version=1.0.0; charset=utf-8"));
    let page = answer.body();
    let found = [
        "prompt_tokens_total",
        "generation_tokens_total",
        "prefix_cache_hits_total",
    ];
    let found = found.map(|name| value(&page, &format!("vllm:{name}{{")));
    assert_eq!(found, expected);
    for (sample, expected) in [
        (
            "vllm:request_success_total{engine=\"0\",finished_reason=\"length\"",
            4,
        ),
        ("vllm:time_to_first_token_seconds_count", 4),
        ("vllm:e2e_request_latency_seconds_count", 4),
        ("vllm:inter_token_latency_seconds_count", 16),
        ("vllm:num_requests_running", 0),
        ("vllm:kv_cache_usage_perc", 0),
    ] {
        assert_eq!(value(&page, sample), expected, "{sample}");
    }
    assert!(page.contains(r#"model_name="a \"model\"""#));
}
