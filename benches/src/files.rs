//! The files that runs are made on: rows of real traces, a big corpus made of them, a scenario.

use anyhow::Context;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Size of the big corpus, that of the largest public one.
pub(crate) const BIG_BYTES: usize = 460_000_000;
/// Traces in it.
pub(crate) const BIG_TRACES: usize = 700;
/// How every row of both sources begins.
const ID_OPENS: &[u8] = br#"{"id":""#;

/// Rows of real traces where they are at hand, else those of the demo.
pub(crate) fn rows() -> Vec<Vec<u8>> {
    let file = testkit::shared("oracle/corpora/corpus_c.jsonl.gz")
        .unwrap_or_else(|| testkit::checkout().join("corpora/demo.jsonl"));
    let lines = testkit::bytes(&file);
    lines
        .split(|byte| *byte == b'\n')
        .filter(|row| !row.is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}

/// A corpus file and its digest.
pub(crate) struct CorpusFile {
    pub(crate) path: PathBuf,
    pub(crate) sha256: String,
    pub(crate) bytes: u64,
    pub(crate) traces: usize,
}

/// Writes `rows` as they are.
pub(crate) fn write(path: PathBuf, rows: &[Vec<u8>]) -> anyhow::Result<CorpusFile> {
    let mut file = Hashed::new(&path)?;
    for row in rows {
        file.put(&[row, b"\n"])?;
    }
    file.end(path, rows.len())
}

/// Writes the longest of `rows` again and again under new ids, until there are [`BIG_BYTES`] of them. Longest, since
/// repeating all of them would need twice as many traces for that size.
pub(crate) fn write_big(path: PathBuf, mut rows: Vec<Vec<u8>>) -> anyhow::Result<CorpusFile> {
    rows.sort_by_key(|row| std::cmp::Reverse(row.len()));
    let mut kept = 1;
    while kept < rows.len() && mean(&rows[..=kept]) * BIG_TRACES >= BIG_BYTES {
        kept += 1;
    }
    let mut file = Hashed::new(&path)?;
    let mut written = 0;
    while file.bytes < BIG_BYTES as u64 {
        let row = &rows[written % kept];
        let id = format!("c{:03}-", written / kept);
        let rest = row
            .strip_prefix(ID_OPENS)
            .context("a row does not begin with its id")?;
        file.put(&[ID_OPENS, id.as_bytes(), rest, b"\n"])?;
        written += 1;
    }
    file.end(path, written)
}

fn mean(rows: &[Vec<u8>]) -> usize {
    rows.iter().map(Vec::len).sum::<usize>() / rows.len()
}

struct Hashed {
    file: BufWriter<File>,
    sha256: Sha256,
    bytes: u64,
}

impl Hashed {
    fn new(path: &Path) -> anyhow::Result<Self> {
        let file = File::create(path).with_context(|| path.display().to_string())?;
        Ok(Self {
            file: BufWriter::new(file),
            sha256: Sha256::new(),
            bytes: 0,
        })
    }

    fn put(&mut self, pieces: &[&[u8]]) -> std::io::Result<()> {
        for piece in pieces {
            self.sha256.update(piece);
            self.bytes += piece.len() as u64;
            self.file.write_all(piece)?;
        }
        Ok(())
    }

    fn end(mut self, path: PathBuf, traces: usize) -> anyhow::Result<CorpusFile> {
        self.file.flush()?;
        let mut sha256 = String::new();
        for byte in self.sha256.finalize() {
            write!(sha256, "{byte:02x}")?;
        }
        Ok(CorpusFile {
            path,
            sha256,
            bytes: self.bytes,
            traces,
        })
    }
}

/// A scenario for a trial over `corpus`.
pub(crate) fn scenario(corpus: &CorpusFile, concurrency: u32, duration_s: u32) -> String {
    format!(
        "name: bench
workload:
  replay:
    scenario: inferencex-agentx-mvp
    harness_version: 0.12.0
    corpus:
      loader: semianalysis_cc_traces_weka_062126_256k
      format: weka-trace-v7
      encoding: jsonl
      source:
        huggingface: semianalysisai/cc-traces-weka-062126-256k
        revision: 8fecd2fc56694469f758f0afbbb6335ad3043740
        file: traces.jsonl
        split: train
      sha256: {}
    concurrency: {concurrency}
    benchmark_duration_s: {duration_s}
    grace_period_s: 2
    max_context_length: max_model_len
",
        corpus.sha256
    )
}

/// The built program, which lies beside this one.
pub(crate) fn turnmill() -> anyhow::Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name("turnmill");
    anyhow::ensure!(
        path.exists(),
        "the program is not built; `cargo build --release` builds it"
    );
    Ok(path)
}
