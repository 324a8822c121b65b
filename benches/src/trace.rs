//! A trace file of five million rows: checking it, and the start of a replay of it, against hashing the file and
//! splitting its rows once.
//!
//! Half a million sessions of ten rounds, a thousand of them at a time, a request a millisecond. A replay holds every
//! row but no prompt, so that its memory is a figure a row; the smaller trace has a sidecar too. Runs stop behind
//! their first hundred requests.

use crate::program::Program;
use crate::table::Line;
use driver::clock::Clock;
use sim::{Config, Server};
use std::path::Path;
use trace::blocks::Ids;
use trace::bundle::{Bundle, BundleFiles};
use trace::csv::{Optional, Row};
use trace::header::{Header, Mode};

/// Rounds of each session.
const ROUNDS: u64 = 10;
/// Sessions that go on at the same time.
const SESSIONS_AT_ONCE: u64 = 1000;
/// From one request to the next.
const STEP_US: i64 = 1000;
/// Tokens of a sidecar's block.
const BLOCK_TOKENS: u64 = 64;
/// Prompt tokens of a first round, and what each further round adds.
const PROMPT_TOKENS: u32 = 640;
/// Wall time of the trace's start.
const WALL_US: i64 = 1_796_072_230_000_000;
const CLIENTS: [&str; 4] = ["client-a", "client-b", "client-c", "client-d"];
/// Requests that a run sends.
const REQUEST_CAP: &str = "100";
/// Most that a loaded row may take, in bytes.
const ROW_BYTES_MAX: f64 = 160.0;

/// A trace to be measured.
struct Size {
    name: &'static str,
    rows: u64,
    with_blocks: bool,
}

const SIZES: [Size; 2] = [
    Size {
        name: "500,000 rows with a sidecar",
        rows: 500_000,
        with_blocks: true,
    },
    Size {
        name: "5,000,000 rows",
        rows: 5_000_000,
        with_blocks: false,
    },
];

pub(crate) fn measure() -> anyhow::Result<Vec<Line>> {
    let clock = Clock::start();
    let mut lines = Vec::new();
    for size in SIZES {
        let folder = testkit::tempdir()?;
        lines.extend(measure_size(folder.path(), &size, clock)?);
    }
    Ok(lines)
}

fn measure_size(folder: &Path, size: &Size, clock: Clock) -> anyhow::Result<Vec<Line>> {
    let files = BundleFiles::of_stem(folder, "trace");
    let (data, binding) = (files.path(&files.data), files.path(&files.binding));
    write(files, size)?;
    let line = |what: &str, value, unit| Line::new(format!("{what}; {}", size.name), value, unit);
    let floor_s = floor_s(&data, clock)?;
    let mut lines = vec![
        line("data CSV", std::fs::metadata(&data)?.len() as f64 / 1e6, "MB"),
        line("hashing it and splitting its rows", floor_s, "s"),
    ];
    let inspected = Program::start(clock, |command| {
        command.args(["corpus", "inspect"]).arg(&binding);
    })?
    .end()?;
    anyhow::ensure!(inspected.status.success(), "the trace was found wrong");
    lines.extend([
        line("`corpus inspect`", inspected.seconds, "s"),
        line(
            "the same ÷ hashing and splitting",
            inspected.seconds / floor_s,
            "×",
        ),
        line("its peak memory", inspected.peak_mb, "MB"),
    ]);
    for mode in ["open", "sessions"] {
        let of_mode = |what: &str, value, unit| line(&format!("{what}, {mode}"), value, unit);
        let (first_s, peak_mb) = replay(folder, &binding, mode, clock)?;
        lines.extend([
            of_mode("process start to first request", first_s, "s"),
            of_mode("the same ÷ hashing and splitting", first_s / floor_s, "×"),
            of_mode("peak memory", peak_mb, "MB"),
        ]);
        let row = of_mode("the same a row", peak_mb * 1e6 / size.rows as f64, "bytes");
        // With few rows the program itself counts.
        lines.push(if size.with_blocks {
            row
        } else {
            row.at_most(ROW_BYTES_MAX)
        });
    }
    Ok(lines)
}

/// What any program would have to do that checks the digest and looks at rows.
fn floor_s(data: &Path, clock: Clock) -> anyhow::Result<f64> {
    let before_ns = clock.now_ns();
    corpus::verify::scan_file(data)?;
    let mut rows = csv::Reader::from_path(data)?;
    let (mut row, mut cells) = (csv::ByteRecord::new(), 0);
    while rows.read_byte_record(&mut row)? {
        cells += row.len();
    }
    std::hint::black_box(cells);
    Ok((clock.now_ns() - before_ns) as f64 / 1e9)
}

/// Seconds to the first request of a short replay, and its peak memory in MB.
fn replay(folder: &Path, binding: &Path, mode: &str, clock: Clock) -> anyhow::Result<(f64, f64)> {
    let server = Server::start(Config::instant())?;
    let spawned_ns = server.clock().now_ns();
    let mut run = Program::start(clock, |command| {
        command
            .arg("run")
            .arg(binding)
            .args([
                "--url",
                &server.url(),
                "--mode",
                mode,
                "--request-cap",
                REQUEST_CAP,
            ])
            .arg("--out")
            .arg(folder.join(mode));
    })?;
    let first_ns = run.first_request_ns(&server)?;
    let ended = run.end()?;
    anyhow::ensure!(ended.status.success(), "the replay failed: {}", ended.status);
    Ok(((first_ns - spawned_ns) as f64 / 1e9, ended.peak_mb))
}

fn write(files: BundleFiles, size: &Size) -> anyhow::Result<()> {
    let optional = Optional {
        vllm_priority: true,
        slo_target_us: true,
        think_time_us: true,
        ..Optional::default()
    };
    let blocks = size.with_blocks.then_some((BLOCK_TOKENS, Ids::Content));
    let mut bundle = Bundle::create(files, optional, blocks)?;
    for request_id in 0..size.rows {
        let (wave, place) = (
            request_id / (SESSIONS_AT_ONCE * ROUNDS),
            request_id % (SESSIONS_AT_ONCE * ROUNDS),
        );
        let session = wave * SESSIONS_AT_ONCE + place % SESSIONS_AT_ONCE;
        let round = (place / SESSIONS_AT_ONCE) as u32;
        let name = format!("session-{session:07}");
        let tokens = PROMPT_TOKENS * (round + 1);
        bundle.row(&row(request_id, &name, round, tokens))?;
        // A session's prompts begin alike.
        let ids = (0..u64::from(tokens) / BLOCK_TOKENS).map(|block| session * 1000 + block);
        if size.with_blocks {
            bundle.blocks(request_id, u64::from(tokens), &ids.collect::<Vec<_>>())?;
        }
    }
    bundle.finish(&Header::new(Mode::Real))?;
    Ok(())
}

/// An answered request: 8 tokens, 80 ms.
fn row(request_id: u64, session: &str, round: u32, tokens: u32) -> Row<'_> {
    let arrival_us = request_id.cast_signed() * STEP_US;
    let send_us = WALL_US + arrival_us + 40;
    Row {
        request_id,
        client_id: CLIENTS[request_id as usize % CLIENTS.len()],
        tenant_id: "tenant",
        slo_class: "interactive",
        session_id: session,
        round_index: round,
        streaming: true,
        input_tokens: tokens,
        output_tokens: 8,
        text_tokens: tokens,
        model: "some-org/Some-Model-32B",
        slo_target_us: 500_000,
        server_input_tokens: tokens + 5,
        arrival_us,
        send_us,
        first_chunk_us: send_us + 10_000,
        last_chunk_us: send_us + 80_000,
        num_chunks: 8,
        status: "ok",
        finish_reason: "length",
        think_time_us: if round == 0 { 0 } else { 900_000 },
        ..Row::default()
    }
}
