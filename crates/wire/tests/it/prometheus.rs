//! Prometheus pages: cases as data, two real pages of a vLLM server, and anything at all.

use proptest::prelude::*;
use wire::prometheus::{BAD_LINES_KEPT, Kind, LINE_BYTES_MAX, Page, parse};

/// The samples as `family|name|labels|value|time`, then the bad lines as `line: problem`.
fn check(page: &str, expected: &[&str]) {
    let page = parse(page.as_bytes());
    let samples = page.samples.iter().map(|sample| {
        let labels: Vec<String> = sample
            .labels
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let family = &page.families[sample.family];
        let time = sample
            .stated_time
            .map(|time| format!("|{time}"))
            .unwrap_or_default();
        format!(
            "{}:{:?}|{}|{}|{}{time}",
            family.name,
            family.kind,
            sample.name,
            labels.join(";"),
            sample.value
        )
    });
    let bad = page
        .bad_lines
        .iter()
        .map(|bad| format!("{}: {}", bad.line, bad.problem));
    let found: Vec<String> = samples.chain(bad).collect();
    assert_eq!(found, expected);
}

#[test]
fn names_hold_colons_and_counters_are_spelled_in_two_ways() {
    check(
        "# HELP vllm:prefix_cache_hits_total Prefix cache hits.\n\
         # TYPE vllm:prefix_cache_hits_total counter\n\
         vllm:prefix_cache_hits_total{engine=\"0\"} 768.0\n\
         # TYPE vllm:prefix_cache_hits_created gauge\n\
         vllm:prefix_cache_hits_created{engine=\"0\"} 1.7e+09\n\
         # TYPE sglang:prompt_tokens counter\n\
         sglang:prompt_tokens_total 3\n\
         sglang:prompt_tokens_created 4\n\
         # EOF\n",
        &[
            "vllm:prefix_cache_hits_total:Counter|vllm:prefix_cache_hits_total|engine=0|768",
            "vllm:prefix_cache_hits_created:Gauge|vllm:prefix_cache_hits_created|engine=0|1700000000",
            "sglang:prompt_tokens:Counter|sglang:prompt_tokens_total||3",
            "sglang:prompt_tokens:Counter|sglang:prompt_tokens_created||4",
        ],
    );
}

#[test]
fn histograms_keep_their_parts_together() {
    check(
        "# TYPE t histogram\n\
         t_bucket{le=\"0.5\",a=\"x\"} 1 # {trace=\"q\"} 0.3\n\
         t_bucket{le=\"+Inf\",a=\"x\",} 2\n\
         t_sum{a=\"x\"} 1.5\n\
         t_count{a=\"x\"} 2 1700000000123\n\
         # TYPE s summary\n\
         s{quantile=\"0.5\"} NaN\n\
         s_sum 0\n\
         # TYPE iteration_tokens_total histogram\n\
         iteration_tokens_total_bucket{le=\"1.0\"} 1\n\
         lonely_bucket 3\n",
        &[
            "t:Histogram|t_bucket|le=0.5;a=x|1",
            "t:Histogram|t_bucket|le=+Inf;a=x|2",
            "t:Histogram|t_sum|a=x|1.5",
            "t:Histogram|t_count|a=x|2|1700000000123",
            "s:Summary|s|quantile=0.5|NaN",
            "s:Summary|s_sum||0",
            "iteration_tokens_total:Histogram|iteration_tokens_total_bucket|le=1.0|1",
            "lonely_bucket:Untyped|lonely_bucket||3",
        ],
    );
}

#[test]
fn label_values_are_unescaped() {
    check(
        "m{ a = \"q\\\"}, b=\\\"\" , b=\"\\\\\",c=\"1\\n2\",d=\"\\t\",e=\"é{}=,\"}\t+Inf\r\nn -Inf\n",
        &[
            "m:Untyped|m|a=q\"}, b=\";b=\\;c=1\n2;d=\\t;e=é{}=,|inf",
            "n:Untyped|n||-inf",
        ],
    );
}

#[test]
fn a_bad_line_costs_itself_and_is_named() {
    check(
        "<html>\n\n9x 1\na\na b\na{b} 1\na{b=c} 1\na{b=\"c} 1\na{b=\"c\" d=\"e\"} 1\ngood 1 \na 1 2 3\n# TYPE {} gauge\na 1 x\n",
        &[
            "good:Untyped|good||1",
            "1: a name without a value",
            "3: no metric name",
            "4: a name without a value",
            "5: no value",
            "6: a label without a value",
            "7: a label value without quotes",
            "8: a label value without its closing quote",
            "9: no comma or brace behind a label",
        ],
    );
    let many = parse("!\n".repeat(100).as_bytes());
    assert_eq!(
        (many.bad_lines_total, many.bad_lines.len()),
        (100, BAD_LINES_KEPT)
    );
    let long = parse(format!("a{{b=\"{}\"}} 1\nc 2", "x".repeat(LINE_BYTES_MAX)).as_bytes());
    assert_eq!((long.bad_lines_total, long.samples.len()), (1, 1));
    assert_eq!(parse(b"a\xff 1\nb 1").samples.len(), 1);
}

fn real(name: &str) -> Option<Page> {
    let answer = testkit::bytes(&testkit::shared(&format!("oracle/vllm-0.32/{name}"))?);
    let head = answer
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .or_else(|| answer.windows(2).position(|two| two == b"\n\n"))
        .unwrap();
    Some(parse(&answer[head..]))
}

/// Samples and families counted with grep.
#[test]
fn real_pages_are_read_whole() {
    let counted = |name: &str, families: usize, samples: usize, histograms: usize| {
        let Some(page) = real(name) else { return };
        assert_eq!(
            (page.bad_lines_total, page.cut),
            (0, false),
            "{:?}",
            page.bad_lines
        );
        let typed = page
            .families
            .iter()
            .filter(|family| family.kind != Kind::Untyped)
            .count();
        assert_eq!((typed, page.families.len()), (families, families), "{name}");
        assert_eq!(page.samples.len(), samples, "{name}");
        let of_kind = |kind| page.families.iter().filter(|family| family.kind == kind).count();
        assert_eq!(of_kind(Kind::Histogram), histograms, "{name}");
        let known = page
            .samples
            .iter()
            .find(|sample| sample.name == "vllm:cache_config_info");
        let known = known.unwrap();
        assert!(
            known
                .labels
                .contains(&("num_gpu_blocks_override".into(), "None".into()))
        );
    };
    counted("metrics-before.response.txt", BEFORE.0, BEFORE.1, BEFORE.2);
    counted("metrics-after.response.txt", AFTER.0, AFTER.1, AFTER.2);
}

const BEFORE: (usize, usize, usize) = (92, 455, 18);
const AFTER: (usize, usize, usize) = (92, 547, 18);

proptest! {
    #[test]
    fn anything_at_all_is_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        parse(&bytes);
    }

    #[test]
    fn anything_that_looks_like_a_page_is_no_panic(page in "([a-z:_]{0,3}(\\{|\\}|\"|=|,|\\\\|#| |\n|1|é|TYPE |HELP |NaN){0,6}){0,30}") {
        let read = parse(page.as_bytes());
        prop_assert!(read.samples.iter().all(|sample| sample.family < read.families.len()));
    }

    #[test]
    fn what_is_written_is_read(value in any::<f64>(), label in "\\PC{0,20}") {
        let escaped = label.replace('\\', "\\\\").replace('"', "\\\"");
        let page = parse(format!("a:b{{x=\"{escaped}\"}} {value:?}").as_bytes());
        prop_assert_eq!(&page.samples[0].labels[0].1, &label);
        prop_assert_eq!(page.samples[0].value.to_bits(), value.to_bits());
    }
}
