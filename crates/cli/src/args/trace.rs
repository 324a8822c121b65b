//! Options of commands that read trace files.

use super::Format;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Forms of trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormName {
    /// Weka traces, one JSON object a line.
    Weka,
    /// A data CSV, or the binding that names one.
    Csv,
    /// Mooncake JSON lines.
    Mooncake,
}

#[derive(Debug, Args)]
pub(crate) struct ContentsArgs {
    /// A Weka corpus, a data CSV, a binding of one, or Mooncake lines.
    pub(crate) file: PathBuf,
    /// What the file is; told by its name and first line when not given.
    #[arg(long = "from", value_enum, value_name = "FORM")]
    pub(crate) form: Option<FormName>,
    /// Tokens of a block in a Mooncake file.
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) trace_block_size: u32,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// A Weka corpus, a data CSV, a binding of one, or Mooncake lines. A CSV's sidecar is read through its binding.
    pub(crate) input: PathBuf,
    /// What to make.
    #[arg(long = "to", value_enum, value_name = "FORM")]
    pub(crate) target: FormName,
    /// The file to write. For csv its name begins four: NAME.csv, .header.yaml, .blocks.jsonl and .binding.yaml.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// What the input is; told by its name and first line when not given.
    #[arg(long = "from", value_enum, value_name = "FORM")]
    pub(crate) source: Option<FormName>,
    /// Tokens of a block in a Mooncake file, read or written.
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) trace_block_size: u32,
    /// Cut Mooncake prompts that are longer than their ids can tell, instead of giving them text of their own.
    #[arg(long)]
    pub(crate) clamp_to_blocks: bool,
    /// Take rows that failed too.
    #[arg(long)]
    pub(crate) include_failed: bool,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}
