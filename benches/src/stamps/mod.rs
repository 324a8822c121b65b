//! What the client adds to TTFT and ITL at a thousand streams, against the stamps of the server itself.
//!
//! The server is `sim` in this process: it writes down when each request's head was there and when each write with
//! tokens was handed to the socket, which is before the system call. Added to TTFT is what lies before the last byte
//! of the request was written, and what lies between the server's stamp of the first token and ours; until the server
//! looks at its socket is the server's time. The error of a gap is the difference of our gap and the server's. Tokens
//! come out of step, from two hundred servers, or in step, from one, as an engine sends them: a thousand writes as
//! fast as one core makes them. The same of the built program shows whether its verdict speaks up.
//!
//! The client has one core and the server another, as far as other work leaves them: on the same one each would wait
//! for the other. The server's own lateness stands apart: how late it was by its own plan.

mod errors;

use crate::control::Control;
use crate::example;
use crate::program::Program;
use crate::table::Line;
use anyhow::Context;
use driver::body::WholeBody;
use driver::cancel::Cancellation;
use driver::client::{Client, ClientOptions, Outgoing};
use driver::clock::Clock;
use driver::endpoint::{CHAT_PATH, Endpoint};
use driver::tls::TlsOptions;
use errors::{Errors, in_us};
use record::folder::RunReader;
use record::request::RequestRecord;
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use sim::{Config, Server};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use trace::bundle::{Bundle, BundleFiles};
use trace::csv::{Optional, Row};
use trace::header::{Header, Mode};

const STREAMS: usize = 1000;
/// Requests of each stream, one after the other; what begins or ends while not all streams run is not counted.
const REQUESTS: usize = 4;
/// From token to token.
const STEP_NS: u64 = 100_000_000;
/// Tokens of each answer.
const TOKENS: usize = 40;
/// Servers whose tokens are out of step.
const SERVERS: usize = 200;
/// Times that two clocks are compared; the quickest counts.
const CLOCK_LOOKS: usize = 1000;
/// Cores of the client and of the server.
const CLIENT_CORE: usize = 0;
const SERVER_CORE: usize = 1;

pub(crate) fn measure() -> anyhow::Result<Vec<Line>> {
    let clock = Clock::start();
    let mut lines = Vec::new();
    for (what, servers) in [("out of step", SERVERS), ("in step", 1)] {
        lines.extend(in_process(what, servers, clock)?);
    }
    lines.extend(program(clock)?);
    // Later parts have all cores again.
    stay_on(0..CpuSet::MAX_CPU)?;
    Ok(lines)
}

/// Keeps this thread, and all threads and processes that it starts, on these cores.
fn stay_on(cores: impl IntoIterator<Item = usize>) -> anyhow::Result<()> {
    let mut set = CpuSet::new();
    for core in cores {
        set.set(core);
    }
    sched_setaffinity(None, &set).context("the stamps need two cores")
}

fn config() -> Config {
    let mut config = Config::paced(STEP_NS);
    config.log.keep_chunk_times = true;
    config
}

/// The client of `driver` against so many servers, on a runtime as the program's.
fn in_process(what: &str, servers: usize, clock: Clock) -> anyhow::Result<Vec<Line>> {
    stay_on([SERVER_CORE])?;
    let servers: Vec<Server> = (0..servers)
        .map(|_| Server::start(config()))
        .collect::<Result<_, _>>()?;
    let tls = TlsOptions::default().client_config()?;
    let clients: Vec<Arc<Client>> = servers
        .iter()
        .map(|server| {
            let endpoint = Endpoint::new(&server.url(), CHAT_PATH)?;
            Ok(Arc::new(Client::new(
                ClientOptions::new(endpoint, tls.clone()),
                clock,
            )?))
        })
        .collect::<anyhow::Result<_>>()?;
    stay_on([CLIENT_CORE])?;
    let control = Control::start(clock)?;
    let (began_ns, cpu_before_ns) = (clock.now_ns(), process_cpu_ns());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let records = runtime.block_on(async {
        let streams: Vec<_> = (0..STREAMS)
            .map(|stream| tokio::spawn(ask(clients[stream % clients.len()].clone(), stream)))
            .collect();
        let mut records = Vec::new();
        for stream in streams {
            records.extend(stream.await?);
        }
        anyhow::Ok(records)
    })?;
    let busy = (process_cpu_ns() - cpu_before_ns) / (clock.now_ns() - began_ns) as f64;
    let control = control.end();
    let mut seen = HashMap::new();
    for server in &servers {
        let ahead_ns = ahead_ns(clock, server);
        let asked = server.log().into_iter().filter(|seen| seen.nth > 0);
        seen.extend(asked.filter_map(|seen| Some((seen.x_request_id.clone()?, (seen, ahead_ns)))));
    }
    let errors = Errors::of(&records, &seen)?;
    let mut lines = errors.lines(what);
    lines.extend([
        Line::new(format!("cores busy, client and server; {what}"), busy, ""),
        in_us("a sleeping thread's lateness p50", what, &control, 0.5),
        in_us("a sleeping thread's lateness p99", what, &control, 0.99),
    ]);
    Ok(lines)
}

/// The requests of one stream; streams begin one after the other over the length of an answer.
async fn ask(client: Arc<Client>, stream: usize) -> Vec<RequestRecord> {
    let wait_ns = STEP_NS * TOKENS as u64 * stream as u64 / STREAMS as u64;
    tokio::time::sleep(Duration::from_nanos(wait_ns)).await;
    let body = format!(
        r#"{{"messages":[{{"role":"user","content":"stream {stream}"}}],"max_tokens":{TOKENS},"ignore_eos":true,"stream":true}}"#
    );
    let mut records = Vec::new();
    for request in 0..REQUESTS {
        let outgoing = Outgoing::new(WholeBody::new(body.clone()));
        let record = example::record((stream * REQUESTS + request) as u64);
        records.push(client.send(record, outgoing, Cancellation::never()).await);
    }
    records
}

/// `turnmill run` of a trace with as many requests, and what its verdict says.
fn program(clock: Clock) -> anyhow::Result<Vec<Line>> {
    let what = "`turnmill run`, in step";
    let folder = testkit::tempdir()?;
    let files = BundleFiles::of_stem(folder.path(), "trace");
    let (binding, out) = (files.path(&files.binding), folder.path().join("run"));
    write(files)?;
    stay_on([SERVER_CORE])?;
    let server = Server::start(config())?;
    stay_on([CLIENT_CORE])?;
    let streams = STREAMS.to_string();
    let ended = Program::start(clock, |command| {
        command
            .arg("run")
            .arg(&binding)
            .args([
                "--url",
                &server.url(),
                "--mode",
                "closed",
                "--concurrency",
                &streams,
            ])
            .arg("--out")
            .arg(&out);
    })?
    .end()?;
    anyhow::ensure!(ended.status.success(), "the run failed: {}", ended.status);
    let reader = RunReader::open(&out)?;
    let header = reader.header().context("the run left no header")?;
    let ours_ns = header.wall_start.as_nanosecond() as i64; // until 2262
    let ahead_ns = ours_ns - (server.clock().wall_s() * 1e9) as i64 + server.clock().now_ns().cast_signed();
    let records: Vec<RequestRecord> = reader
        .map(|entry| Ok(entry?.record))
        .collect::<anyhow::Result<_>>()?;
    let asked = server.log().into_iter().filter(|seen| seen.nth > 0);
    let seen = asked.filter_map(|seen| Some((seen.x_request_id.clone()?, (seen, ahead_ns))));
    let mut lines = Errors::of(&records, &seen.collect())?.lines(what);
    let codes = warnings_of_the_client(&out)?;
    lines.push(Line::new(
        format!("its warnings that name the client ({}); {what}", codes.join(", ")),
        codes.len() as f64,
        "",
    ));
    Ok(lines)
}

/// Single requests with answers of 20 to 60 tokens, so that they do not end together.
fn write(files: BundleFiles) -> anyhow::Result<()> {
    let mut bundle = Bundle::create(files, Optional::default(), None)?;
    for request in 0..STREAMS * REQUESTS {
        bundle.row(&Row {
            request_id: request as u64,
            streaming: true,
            input_tokens: 16,
            output_tokens: (TOKENS / 2 + request % (TOKENS + 1)) as u32,
            text_tokens: 16,
            arrival_us: request.cast_signed() as i64,
            status: "incomplete",
            ..Row::default()
        })?;
    }
    bundle.finish(&Header::new(Mode::Generated))?;
    Ok(())
}

fn warnings_of_the_client(run: &Path) -> anyhow::Result<Vec<String>> {
    let summary: Value = serde_json::from_slice(&std::fs::read(run.join("summary.json"))?)?;
    let warnings = summary["warnings"]
        .as_array()
        .context("no warnings in summary.json")?;
    let codes = warnings
        .iter()
        .filter_map(|warning| warning["code"].as_str().map(str::to_owned));
    Ok(codes
        .filter(|code| code == "late" || code.starts_with("client_limit"))
        .collect())
}

/// By how much the server's clock is ahead of ours.
fn ahead_ns(clock: Clock, server: &Server) -> i64 {
    let look = |_| {
        let before = clock.now_ns();
        let there = server.clock().now_ns().cast_signed();
        let after = clock.now_ns();
        (after - before, there - u64::midpoint(before, after).cast_signed())
    };
    let quickest = (0..CLOCK_LOOKS).map(look).min();
    quickest.map_or(0, |(_, ahead_ns)| ahead_ns)
}

fn process_cpu_ns() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}
