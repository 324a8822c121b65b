//! `--aiperf-artifacts`, `--vllm-result` and `--chunk-times`: a run's records in further forms.

use crate::args::ExportArgs;
use crate::exit::Exit;
use crate::{output, trace_files};
use exports::aiperf;
use record::server_metrics::aiperf as server_metrics;
use std::path::Path;

/// Writes what was asked for, from the run in `folder`.
pub(super) fn write(args: &ExportArgs, folder: &Path) -> anyhow::Result<()> {
    if let Some(out) = &args.aiperf_artifacts {
        let options = aiperf::Options {
            dir: Some(out.display().to_string()),
            ..aiperf::Options::default()
        };
        aiperf::write(folder, out, &options)?;
        server_metrics::write(folder, &out.join(server_metrics::FILE))?;
        output::say(&format!("aiperf's artifact files lie in {}", out.display()));
    }
    if let Some(file) = &args.vllm_result {
        exports::vllm::write(folder, file)?;
        output::say(&format!("the vLLM result lies in {}", file.display()));
    }
    if args.chunk_times {
        let file = trace_files::write_chunk_times(folder)?;
        output::say(&format!("chunk times lie in {}", file.display()));
    }
    Ok(())
}

/// The exit of a run whose files of other tools were written, or not: the run itself is complete on the disk then.
pub(super) fn settle(written: anyhow::Result<()>, exit: Exit) -> Exit {
    match written {
        Ok(()) => exit,
        Err(error) => {
            output::say(&format!("error: {}", output::told(&error)));
            Exit::Unfinished
        }
    }
}
