//! The engine's counters as Prometheus text, with vLLM 0.32's family names, types and labels.
//!
//! Families of features that are not simulated (speculation, offloading, adapters, the Python process) are left out.

use std::fmt::Write as _;

use crate::config::EngineConfig;
use crate::engine::{Counters, Engine, Histogram};

/// The whole page. `started_s` is the wall time at which the counters were zero.
pub(crate) fn page(engine: &Engine, config: &EngineConfig, model: &str, started_s: f64) -> String {
    let mut page = Page {
        out: String::with_capacity(1 << 15),
        model: model
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n"),
        started_s,
    };
    gauges(&mut page, engine);
    counters(&mut page, engine.counters());
    histograms(&mut page, engine.counters());
    cache_config(&mut page, config);
    page.out
}

fn gauges(page: &mut Page, engine: &Engine) {
    let gauges = [
        (
            "num_requests_running",
            "Sequences in the batch.",
            engine.n_running() as f64,
        ),
        (
            "num_requests_waiting",
            "Sequences in the queue.",
            engine.n_waiting() as f64,
        ),
        (
            "kv_cache_usage_perc",
            "Share of KV blocks in use, from 0 to 1.",
            engine.pool().usage(),
        ),
    ];
    for (name, help, value) in gauges {
        page.family(name, help, "gauge");
        page.sample(name, None, value);
    }
}

fn counters(page: &mut Page, counted: &Counters) {
    let cached = counted.prompt_tokens_cached;
    let totals = [
        (
            "prefix_cache_queries",
            "Prompt tokens looked up in the prefix cache.",
            counted.prefix_cache_queries,
        ),
        (
            "prefix_cache_hits",
            "Prompt tokens found in the prefix cache.",
            counted.prefix_cache_hits,
        ),
        ("external_prefix_cache_queries", "Not simulated, always 0.", 0),
        ("external_prefix_cache_hits", "Not simulated, always 0.", 0),
        (
            "num_preemptions",
            "Sequences put back into the queue for want of blocks.",
            counted.preemptions,
        ),
        (
            "prompt_tokens",
            "Prompt tokens, cached ones included.",
            counted.prompt_tokens,
        ),
        (
            "prompt_tokens_cached",
            "Prompt tokens that were not computed.",
            cached,
        ),
        ("generation_tokens", "Output tokens.", counted.generation_tokens),
    ];
    for (name, help, value) in totals {
        page.counter(name, help, &[(None, value)]);
    }
    let computed = counted.prompt_tokens - cached;
    page.counter(
        "prompt_tokens_by_source",
        "Prompt tokens by where they came from.",
        &[
            (Some(("source", "local_compute")), computed),
            (Some(("source", "local_cache_hit")), cached),
            (Some(("source", "external_kv_transfer")), 0),
        ],
    );
    page.counter(
        "request_success",
        "Sequences that ended, by reason.",
        &[
            (Some(("finished_reason", "stop")), counted.success_stop),
            (Some(("finished_reason", "length")), counted.success_length),
            (Some(("finished_reason", "abort")), counted.success_abort),
            (Some(("finished_reason", "error")), 0),
        ],
    );
}

fn histograms(page: &mut Page, counted: &Counters) {
    let all = [
        (
            "request_prompt_tokens",
            "Prompt tokens of a sequence.",
            &counted.request_prompt_tokens,
        ),
        (
            "request_generation_tokens",
            "Output tokens of a sequence.",
            &counted.request_generation_tokens,
        ),
        (
            "iteration_tokens_total",
            "Tokens of a step.",
            &counted.iteration_tokens,
        ),
        (
            "request_params_max_tokens",
            "Output limit of a sequence.",
            &counted.request_params_max_tokens,
        ),
        (
            "request_prefill_kv_computed_tokens",
            "Prompt tokens of a sequence that were computed.",
            &counted.request_prefill_kv_computed_tokens,
        ),
        (
            "time_to_first_token_seconds",
            "Arrival to first token.",
            &counted.time_to_first_token,
        ),
        (
            "inter_token_latency_seconds",
            "Gap between two tokens of a sequence.",
            &counted.inter_token_latency,
        ),
        (
            "request_time_per_output_token_seconds",
            "Mean gap of a sequence.",
            &counted.request_time_per_output_token,
        ),
        (
            "e2e_request_latency_seconds",
            "Arrival to last token.",
            &counted.e2e_request_latency,
        ),
        (
            "request_queue_time_seconds",
            "Arrival to admission.",
            &counted.request_queue_time,
        ),
        (
            "request_inference_time_seconds",
            "Admission to last token.",
            &counted.request_inference_time,
        ),
        (
            "request_prefill_time_seconds",
            "Admission to first token.",
            &counted.request_prefill_time,
        ),
        (
            "request_decode_time_seconds",
            "First token to last token.",
            &counted.request_decode_time,
        ),
    ];
    for (name, help, histogram) in all {
        page.histogram(name, help, histogram);
    }
}

fn cache_config(page: &mut Page, config: &EngineConfig) {
    page.family("cache_config_info", "How the KV cache is set up.", "gauge");
    let caching = if config.prefix_caching { "True" } else { "False" };
    let (block_size, blocks) = (config.block_size, config.kv_blocks);
    let tokens = block_size * blocks;
    page.put(format_args!(
        "vllm:cache_config_info{{block_size=\"{block_size}\",cache_dtype=\"auto\",enable_prefix_caching=\"{caching}\",engine=\"0\",kv_cache_size_tokens=\"{tokens}\",num_cpu_blocks=\"None\",num_gpu_blocks=\"{blocks}\",num_gpu_blocks_override=\"None\",sliding_window=\"None\"}} 1.0\n"
    ));
}

struct Page {
    out: String,
    model: String,
    started_s: f64,
}

/// One label besides `engine` and `model_name`.
type Label<'a> = Option<(&'a str, &'a str)>;

impl Page {
    fn family(&mut self, name: &str, help: &str, kind: &str) {
        self.put(format_args!(
            "# HELP vllm:{name} {help}\n# TYPE vllm:{name} {kind}\n"
        ));
    }

    fn sample(&mut self, name: &str, label: Label<'_>, value: f64) {
        self.put(format_args!("vllm:{name}{{engine=\"0\""));
        // Labels in order of their names, as Python's client writes them.
        if let Some((key, text)) = label.filter(|(key, _)| *key < "model_name") {
            self.put(format_args!(",{key}=\"{text}\""));
        }
        let model = std::mem::take(&mut self.model);
        self.put(format_args!(",model_name=\"{model}\""));
        self.model = model;
        if let Some((key, text)) = label.filter(|(key, _)| *key > "model_name") {
            self.put(format_args!(",{key}=\"{text}\""));
        }
        self.put(format_args!("}} {value:?}\n"));
    }

    fn counter(&mut self, name: &str, help: &str, samples: &[(Label<'_>, u64)]) {
        let total = format!("{name}_total");
        self.family(&total, help, "counter");
        for (label, value) in samples {
            self.sample(&total, *label, *value as f64);
        }
        self.created(name, help, samples.iter().map(|(label, _)| *label));
    }

    fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.family(name, help, "histogram");
        let bucket = format!("{name}_bucket");
        for (bound, count) in histogram.cumulative() {
            self.sample(&bucket, Some(("le", &format!("{bound:?}"))), count as f64);
        }
        let count = histogram.count() as f64;
        self.sample(&bucket, Some(("le", "+Inf")), count);
        self.sample(&format!("{name}_count"), None, count);
        self.sample(&format!("{name}_sum"), None, histogram.sum());
        self.created(name, help, [None]);
    }

    fn created<'a>(&mut self, name: &str, help: &str, labels: impl IntoIterator<Item = Label<'a>>) {
        let created = format!("{name}_created");
        self.family(&created, help, "gauge");
        for label in labels {
            self.sample(&created, label, self.started_s);
        }
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        self.out.write_fmt(text).expect("a String takes any text");
    }
}
