//! The result file of `vllm bench serve --save-result` (`metrics-and-exports` §4.1), over the requests of the measurement.
//!
//! Where that client stamps what we do not, the nearest of ours stands: its clock starts before connecting (our `start_ns`); its first
//! token and its gaps are of chunks with a `choices` list, ours of chunks with content, so a role-only first delta and the finish chunk
//! are in none of these figures. Tokens per prompt and answer are the server's; without them what the data set states, and 1, as the
//! client counts without a tokenizer. Requests cut off at the end are in no figure: the client never cuts any.

use std::io::Write as _;
use std::path::Path;

use record::folder::Entry;
use record::header::{RunHeader, Slo};
use record::request::{Outcome, Phase};
use record::timeline;
use serde_json::{Map, Value, json};

use crate::ExportError;
use crate::figures::Figures;
use crate::folder::{self, Run};
use crate::gaps::GapSample;

const S_PER_NS: f64 = 1e-9;

/// Writes the result of the run in `run_folder` to `file`.
///
/// # Errors
/// When the folder holds no run or no header, or the file cannot be written.
pub fn write(run_folder: &Path, file: &Path) -> Result<(), ExportError> {
    let mut run = Run::open(run_folder)?;
    let start = run.bounds(Phase::Profiling).0.unwrap_or(0);
    let mut tally = Tally::new(&run.header, start);
    run.for_each(|entry| {
        tally.push(entry);
        Ok(())
    })?;
    // Its clock stops with the last request. A phase of ours can be stated to end later, with its grace period.
    let duration_s = tally.last_ns.saturating_sub(start) as f64 * S_PER_NS;
    let result = tally.result(&run.header, duration_s);
    folder::write(file, |out| {
        serde_json::to_writer(&mut *out, &result).map_err(ExportError::writing(file))?;
        writeln!(out).map_err(ExportError::writing(file))
    })
}

/// The requests while they are read. Times are in seconds.
#[derive(Debug, Default)]
struct Tally {
    slo: Option<Slo>,
    /// Start of the phase.
    start_ns: u64,
    failed: u64,
    good: u64,
    input_tokens: u64,
    output_tokens: u64,
    ttft: Vec<f64>,
    tpot: Vec<f64>,
    itl: GapSample,
    e2el: Vec<f64>,
    /// Place in the order of sending, latency, time in the client's queue; failed requests too.
    requests: Vec<(u64, f64, f64)>,
    /// Start and last content of answered requests, in ns.
    spans: Vec<(u64, u64)>,
    /// Content chunks by second of the phase.
    chunks: std::collections::BTreeMap<u64, u64>,
    last_ns: u64,
}

impl Tally {
    fn new(header: &RunHeader, start_ns: u64) -> Self {
        Self {
            slo: header.only_slo(),
            start_ns,
            ..Self::default()
        }
    }

    fn push(&mut self, entry: &Entry) {
        let record = &entry.record;
        let stamps = &record.stamps;
        if record.phase != Phase::Profiling || record.outcome == Outcome::Cancelled {
            return;
        }
        self.last_ns = self.last_ns.max(timeline::last_stamp_ns(stamps));
        let queued = stamps.start_ns.saturating_sub(stamps.due_ns) as f64 * S_PER_NS;
        let content = stamps.first_content_ns.zip(stamps.last_content_ns);
        let Some((first, last)) = content.filter(|_| record.outcome == Outcome::Ok) else {
            self.failed += 1;
            self.requests.push((record.sequence, 0.0, queued));
            return;
        };
        let since = |at: u64| at.saturating_sub(stamps.start_ns) as f64 * S_PER_NS;
        let (ttft, latency) = (since(first), since(last));
        let output = record
            .usage
            .completion_tokens
            .filter(|tokens| *tokens > 0)
            .unwrap_or(1);
        let tpot = (output > 1).then(|| (latency - ttft) / (output - 1) as f64);
        self.input_tokens += record.usage.prompt_tokens.unwrap_or(record.isl_planned);
        self.output_tokens += output;
        self.ttft.push(ttft);
        self.tpot.extend(tpot);
        self.e2el.push(latency);
        timeline::gaps(&record.chunks).for_each(|gap| self.itl.push(gap.ns));
        self.requests.push((record.sequence, latency, queued));
        self.spans.push((stamps.start_ns, last));
        for chunk in &record.chunks {
            *self
                .chunks
                .entry(chunk.at_ns.saturating_sub(self.start_ns) / 1_000_000_000)
                .or_default() += 1;
        }
        self.good += u64::from(self.slo.is_some_and(|slo| meets(&slo, ttft, tpot, latency)));
    }

    fn result(mut self, header: &RunHeader, duration_s: f64) -> Value {
        let per_second = |count: f64| if duration_s > 0.0 { count / duration_s } else { 0.0 };
        let completed = self.ttft.len() as u64;
        let goodput = self.slo.map(|_| per_second(self.good as f64));
        self.requests.sort_unstable_by_key(|(sequence, ..)| *sequence);
        let backend = match header.endpoint_type() {
            "completions" => "openai",
            _ => "openai-chat",
        };
        let mut result = json!({
            "date": folder::wall(header, 0).strftime("%Y%m%d-%H%M%S").to_string(),
            "endpoint_type": backend,
            "backend": backend,
            "label": null,
            "model_id": header.server.model,
            "tokenizer_id": header.server.model,
            "num_prompts": completed + self.failed,
            "request_rate": header.trace.is_none().then_some("inf"),
            "burstiness": 1.0,
            "max_concurrency": header.held_concurrency(),
            "duration": duration_s,
            "completed": completed,
            "failed": self.failed,
            "total_input_tokens": self.input_tokens,
            "total_output_tokens": self.output_tokens,
            "request_throughput": per_second(completed as f64),
            "request_goodput": goodput,
            "output_throughput": per_second(self.output_tokens as f64),
            "total_token_throughput": per_second(self.input_tokens as f64 + self.output_tokens as f64),
            "max_output_tokens_per_s": self.chunks.values().max().copied().unwrap_or(0) as f64,
            "max_concurrent_requests": peak(&self.spans),
            "rtfx": 0.0,
            "latencies": self.requests.iter().map(|request| request.1).collect::<Vec<_>>(),
            "queue_times": self.requests.iter().map(|request| request.2).collect::<Vec<_>>(),
        });
        let keys = result.as_object_mut().expect("it was made as an object");
        for (name, values) in [("ttft", self.ttft), ("tpot", self.tpot), ("e2el", self.e2el)] {
            let ms = values.into_iter().map(|seconds| seconds * 1e3).collect();
            figures(keys, name, &Figures::of("ms", ms).unwrap_or_default());
        }
        figures(keys, "itl", &self.itl.figures("ms").unwrap_or_default());
        result
    }
}

/// Mean, median, standard deviation and percentiles in ms; 0 for no values, as numpy's stand-in there.
fn figures(keys: &mut Map<String, Value>, name: &str, found: &Figures) {
    for (what, figure) in [
        ("mean", found.avg),
        ("median", found.p50),
        ("std", found.std),
        ("p50", found.p50),
        ("p75", found.p75),
        ("p90", found.p90),
        ("p95", found.p95),
        ("p99", found.p99),
    ] {
        keys.insert(format!("{what}_{name}_ms"), json!(figure.unwrap_or(0.0)));
    }
}

/// Most requests that were open at once; one that ends when another starts is not open with it.
fn peak(spans: &[(u64, u64)]) -> u64 {
    let mut turns: Vec<(u64, i64)> = spans
        .iter()
        .flat_map(|(start, end)| [(*start, 1), (*end, -1)])
        .collect();
    turns.sort_unstable();
    let mut open = 0;
    let mut most = 0;
    for (_, turn) in turns {
        open += turn;
        most = most.max(open);
    }
    u64::try_from(most).unwrap_or(0)
}

/// One token has no time between tokens: the client counts it as 0, which is always good.
fn meets(slo: &Slo, ttft: f64, tpot: Option<f64>, latency: f64) -> bool {
    let within = |bound_ms: f64, seconds: f64| bound_ms <= 0.0 || seconds * 1e3 <= bound_ms;
    within(slo.ttft_ms, ttft) && within(slo.itl_ms, tpot.unwrap_or(0.0)) && within(slo.e2e_ms, latency)
}
