//! The state machine in virtual time: a whole scenario of half an hour, without sockets.

use crate::contest::{Way, cost, least};
use crate::files;
use crate::table::Line;
use corpus::{Corpus, LoadOptions};
use replay::simulate::{Logged, Service, ServiceModel, simulate};
use replay::{Dialect, OnPrimerFailure, Plan, Sampling, Settings, Warmup};
use std::sync::Arc;
use tree::Trace;

const WINDOW_S: f64 = 1800.0;
const SERVICE: ServiceModel = ServiceModel {
    service: Service::Tokens { ttft: 0.5, itl: 0.02 },
    service_for: Vec::new(),
    warm_s: 0.5,
    failures: Vec::new(),
};

pub(crate) fn measure() -> anyhow::Result<Vec<Line>> {
    let folder = testkit::tempdir()?;
    let file = files::write(folder.path().join("corpus.jsonl"), &files::rows())?;
    let corpus = Corpus::load(&file.path, Some(&file.sha256), &LoadOptions::default(), None)?;
    let traces: Arc<[Arc<Trace>]> = corpus.traces.into_iter().map(Arc::new).collect();
    let mut lines = Vec::new();
    for lanes in [64, 1000] {
        let mut requests = 0;
        let ways: [Way<'_>; 1] = [(
            "simulate",
            Box::new(|| {
                let (ns, sent) = cost(|| sent(&traces, lanes));
                requests = sent;
                ns
            }),
        )];
        let [ns] = least(ways);
        lines.extend([
            Line::new(format!("requests, {lanes} lanes"), requests as f64, ""),
            Line::new(
                format!("requests a second of CPU, {lanes} lanes"),
                requests as f64 / (ns / 1e9),
                "/s",
            ),
            Line::new(
                format!("run's length ÷ CPU time, {lanes} lanes"),
                WINDOW_S / (ns / 1e9),
                "×",
            ),
        ]);
    }
    Ok(lines)
}

/// Requests that a whole run sends.
fn sent(traces: &Arc<[Arc<Trace>]>, lanes: u32) -> usize {
    let settings = settings(lanes);
    let plan = Plan::draw(traces, &settings).expect("the corpus has traces");
    let log = simulate(traces.clone(), settings, plan, &SERVICE);
    log.iter().filter(|line| matches!(line, Logged::Sent(_))).count()
}

fn settings(concurrency: u32) -> Settings {
    Settings {
        dialect: Dialect::Aiperf0120,
        concurrency,
        seed: 42,
        benchmark_id: "bench".to_owned(),
        min_ratio: 0.25,
        max_ratio: 0.75,
        sampling: Sampling::Sequential,
        duration_s: WINDOW_S,
        grace_s: 30.0,
        system_idle_gap_cap_s: 10.0,
        trace_idle_gap_cap_s: None,
        warmup: Warmup::Primers,
        warmup_grace_s: f64::INFINITY,
        burst_phase_starts: false,
        request_cap: None,
        on_primer_failure: OnPrimerFailure::Abort,
    }
}
