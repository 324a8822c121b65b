//! Running the program, and the small scenarios that tests run it on.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs the program to its end.
pub(crate) fn turnmill(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

/// The program with these arguments, unaffected by the machine's environment.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnmill"));
    command
        .args(arguments)
        .env_remove("TURNMILL_API_KEY")
        .env_remove("TURNMILL_LOG")
        .env("NO_COLOR", "1");
    command
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// What a command printed as JSON; it must have ended well.
pub(crate) fn json(arguments: &[&str]) -> Value {
    let output = turnmill(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", err(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A folder with a corpus and a scenario over it.
pub(crate) struct Bench {
    pub(crate) folder: testkit::TempDir,
    pub(crate) scenario: PathBuf,
    pub(crate) corpus: PathBuf,
}

impl Bench {
    /// `keys` are further lines of the replay arm, without indentation.
    pub(crate) fn new(corpus: &[u8], keys: &[&str]) -> Self {
        let folder = testkit::tempdir().unwrap();
        let corpus_file = folder.path().join("corpus.jsonl");
        std::fs::write(&corpus_file, corpus).unwrap();
        let scenario = folder.path().join("scenario.yaml");
        std::fs::write(&scenario, Self::document(&sha256(corpus), keys)).unwrap();
        Self {
            folder,
            scenario,
            corpus: corpus_file,
        }
    }

    pub(crate) fn demo(keys: &[&str]) -> Self {
        Self::new(&corpus::synth::demo(), keys)
    }

    pub(crate) fn document(sha256: &str, keys: &[&str]) -> String {
        let keys: String = keys.iter().map(|line| format!("    {line}\n")).collect();
        format!(
            "workload:\n  replay:\n    scenario: inferencex-agentx-mvp\n    harness_version: 0.12.0\n    corpus:\n      \
             loader: semianalysis_cc_traces_weka_062126_256k\n      format: weka-trace-v7\n      encoding: jsonl\n      \
             source:\n        huggingface: semianalysisai/cc-traces-weka-062126-256k\n        \
             revision: 8fecd2fc56694469f758f0afbbb6335ad3043740\n      sha256: {sha256}\n{keys}"
        )
    }

    /// Arguments of a command on this bench: its name, the scenario, the corpus, locks overridden, and `more`.
    pub(crate) fn arguments<'a>(&'a self, command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let mut arguments = vec![
            command,
            text(&self.scenario),
            "--corpus",
            text(&self.corpus),
            "--override-locks",
        ];
        arguments.extend_from_slice(more);
        arguments
    }

    pub(crate) fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }
}
