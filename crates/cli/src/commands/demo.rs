//! `demo`: a run of the bundled corpus against a simulated server on this machine.

use crate::args::{DemoArgs, Format, MetricsArgs, PromptArgs, ScenarioArgs, SendArgs, Wire};
use crate::exit::Exit;
use crate::session::{self, PromptText, Session, Target};
use crate::workload;
use crate::{folder, output};
use anyhow::Context;
use driver::endpoint::CHAT_PATH;
use sim::{Config, Server};
use std::path::Path;

/// Made by `corpus::synth`; small enough to be part of the program.
const CORPUS: &[u8] = include_bytes!("../../../../corpora/demo.jsonl");
const CORPUS_FILE: &str = "demo.jsonl";
const SCENARIO: &str = include_str!("demo.yaml");
const SCENARIO_FILE: &str = "demo.yaml";

pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<Exit> {
    let clock = super::start_clock();
    let out = folder::for_run(args.out.as_deref(), &clock)?;
    let inputs = out.join("inputs");
    write_inputs(&inputs, args)?;
    super::runtime()?.block_on(async {
        let server = Server::start(Config::demo())?;
        output::say(&format!(
            "demo: {} lanes replay a small made-up corpus against a simulated server for {} s",
            args.concurrency, args.duration_s
        ));
        let scenario_args = scenario_args(&inputs);
        let send_args = send_args(server.url());
        let Some(scenario) = workload::read_quietly(&scenario_args)? else {
            return Ok(Exit::Invalid);
        };
        let target = Target::ask(&send_args, CHAT_PATH).await?;
        let limit = workload::context_limit(&scenario_args, &scenario.replay, target.max_model_len())?;
        let text = PromptText::load(&PromptArgs {
            tokenizer: "builtin".to_owned(),
            prompt_pool: None,
            tool_shaped_messages: false,
        })?;
        let corpus = workload::load(&inputs.join(CORPUS_FILE), &scenario.replay, limit)?;
        let session = Session::prepare(&scenario, &scenario_args, &send_args, target, text, corpus, clock)?;
        session.announce();
        let (ended, summary) = session.run(&out).await?;
        server.shutdown().await;
        super::run::show(&ended, &summary, &out, Format::Text)?;
        output::say(&format!(
            "the server was simulated: these figures say nothing about a real one\n\
             the report again:  turnmill report {}\n\
             the same scenario against your server:\n  \
             turnmill run {} --corpus {} --override-locks --url http://HOST:PORT --tokenizer PATH",
            out.display(),
            inputs.join(SCENARIO_FILE).display(),
            inputs.join(CORPUS_FILE).display(),
        ));
        Ok(session::exit(&ended, &summary, false))
    })
}

/// Puts the scenario and its corpus where the person can look at them and run them again.
fn write_inputs(folder: &Path, args: &DemoArgs) -> anyhow::Result<()> {
    let scenario = SCENARIO
        .replace("concurrency: 8", &format!("concurrency: {}", args.concurrency))
        .replace(
            "benchmark_duration_s: 20",
            &format!("benchmark_duration_s: {}", args.duration_s),
        );
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(folder.join(CORPUS_FILE), CORPUS))
        .and_then(|()| std::fs::write(folder.join(SCENARIO_FILE), scenario))
        .with_context(|| format!("the demo's inputs cannot be written to {}", folder.display()))
}

fn scenario_args(inputs: &Path) -> ScenarioArgs {
    ScenarioArgs {
        scenario: inputs.join(SCENARIO_FILE),
        catalog: None,
        corpus: Some(inputs.join(CORPUS_FILE)),
        override_locks: true,
        dialect: None,
        warmup_grace_s: None,
        benchmark_id: None,
        burst_phase_starts: false,
        sampling: crate::args::SamplingName::Sequential,
        request_cap: None,
        on_primer_failure: crate::args::PrimerFailure::Abort,
        max_model_len: None,
    }
}

fn send_args(url: String) -> SendArgs {
    SendArgs {
        url,
        model: None,
        api_key: None,
        headers: Vec::new(),
        session_header: "X-Correlation-ID".to_owned(),
        output_limit_key: None,
        min_tokens: false,
        request_timeout_s: 60.0,
        failed_request_threshold: None,
        insecure: false,
        ca: None,
        proxy_from_env: false,
        metrics: MetricsArgs::default(),
        wire: Wire::default(),
    }
}
