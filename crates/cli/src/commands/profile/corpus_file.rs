//! From the corpus that flags name to one file with a trace a line, and what it is.

use crate::args::profile::ProfileArgs;
use crate::output;
use crate::profile::document::CorpusFile;
use crate::profile::{Resolved, Source};
use crate::workload;
use anyhow::{Context, bail};
use corpus::fetch::Wanted;
use corpus::pin::Pin;
use driver::clock::Clock;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Loader whose form traces of the user's own have.
const FORM_LOADER: &str = "semianalysis_cc_traces_weka_062126";
/// Revision where no pin names one.
const UNKNOWN_REVISION: &str = "main";

/// A corpus at hand.
pub(super) struct Located {
    pub(super) path: PathBuf,
    sha256: String,
    pin: Pin,
    local: bool,
}

impl Located {
    pub(super) fn described(&self) -> CorpusFile<'_> {
        CorpusFile {
            loader: &self.pin.loader,
            repository: &self.pin.repository,
            revision: self.pin.revision.as_deref().unwrap_or(UNKNOWN_REVISION),
            file: &self.pin.file,
            sha256: &self.sha256,
            local: self.local,
        }
    }
}

/// Brings the corpus here; traces in a folder are put into one file in `inputs`.
pub(super) async fn locate(
    args: &ProfileArgs,
    resolved: &Resolved,
    inputs: &Path,
    clock: Clock,
) -> anyhow::Result<Located> {
    match &resolved.source {
        Source::Public(loader) => published(args, by_loader(loader)?, clock).await,
        Source::Repository(repository) => published(args, of_repository(repository)?, clock).await,
        Source::Local { path, .. } => {
            let path = one_file(path, inputs)?;
            Ok(Located {
                sha256: digest(&path)?,
                path,
                pin: by_loader(FORM_LOADER)?,
                local: true,
            })
        }
        Source::Synthetic => bail!("no corpus is stated"),
    }
}

fn by_loader(loader: &str) -> anyhow::Result<Pin> {
    corpus::pin::by_loader(loader)
        .cloned()
        .with_context(|| format!("{loader} is not a corpus of the scenario"))
}

/// The pin of a repository: `weka_hf` for the one that it may read, else that of another loader, under override.
fn of_repository(repository: &str) -> anyhow::Result<Pin> {
    let pins = corpus::pin::pins();
    let of = |loader: Option<&str>| {
        pins.iter()
            .find(|pin| pin.repository == repository && loader.is_none_or(|loader| pin.loader == loader))
    };
    of(Some("weka_hf"))
        .or_else(|| of(None))
        .cloned()
        .with_context(|| format!("--hf-weka-dataset {repository} is no published corpus of the scenario"))
}

async fn published(args: &ProfileArgs, pin: Pin, clock: Clock) -> anyhow::Result<Located> {
    let (path, sha256) = if let Some(file) = &args.own.corpus {
        (file.clone(), digest(file)?)
    } else {
        let fetched = workload::fetch(&Wanted::pinned(&pin), args.own.proxy_from_env, clock).await?;
        (fetched.path, fetched.sha256)
    };
    if !corpus::pin::is_pinned(&pin.loader, &sha256) {
        output::say(&format!(
            "warning: {} has the digest {sha256}, which is not known as that of {}; the run is not valid for submission",
            path.display(),
            pin.loader
        ));
    }
    Ok(Located {
        path,
        sha256,
        pin,
        local: false,
    })
}

fn digest(file: &Path) -> anyhow::Result<String> {
    let open = std::fs::File::open(file).with_context(|| format!("{} cannot be read", file.display()))?;
    Ok(corpus::verify::scan(open, |_| {})?.sha256)
}

/// The file itself when it holds a trace a line, else a file in `inputs` with the traces found.
fn one_file(path: &Path, inputs: &Path) -> anyhow::Result<PathBuf> {
    let traces = if path.is_dir() {
        traces_in(path)?
    } else if path.extension().is_some_and(|extension| extension == "json") {
        vec![path.to_path_buf()]
    } else {
        return Ok(path.to_path_buf());
    };
    if traces.is_empty() {
        bail!("--input-file {}: the folder holds no *.json", path.display());
    }
    let joined = inputs.join("corpus.jsonl");
    std::fs::create_dir_all(inputs)
        .and_then(|()| join(&traces, &joined))
        .with_context(|| {
            format!(
                "the traces of {} cannot be put into {}",
                path.display(),
                joined.display()
            )
        })?;
    Ok(joined)
}

/// Every `*.json` directly in a folder, in the order of paths, as aiperf takes them.
fn traces_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut traces = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") && path.is_file() {
            traces.push(path);
        }
    }
    traces.sort();
    Ok(traces)
}

/// Writes each file as one line. A line end in JSON is blank space, for in a string it is escaped; a file that holds a
/// trace a line keeps its lines.
fn join(traces: &[PathBuf], joined: &Path) -> std::io::Result<()> {
    let mut out = BufWriter::new(std::fs::File::create(joined)?);
    for trace in traces {
        let mut bytes = std::fs::read(trace)?;
        if serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).is_ok() {
            for byte in bytes.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')) {
                *byte = b' ';
            }
        }
        out.write_all(bytes.trim_ascii())?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_becomes_one_line_a_trace_in_the_order_of_names() {
        let folder = testkit::tempdir().unwrap();
        let file = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        file("b.json", "{\r\n  \"id\": \"b\\n\"\n}\n");
        file("a.json", "{\"id\": 1}");
        file("c.jsonl", "{\"id\": 3}");
        file("d.json", "{\"id\": 4}\n{\"id\": 5}\n");
        let joined = one_file(folder.path(), &folder.path().join("inputs")).unwrap();
        assert_eq!(
            std::fs::read_to_string(joined).unwrap(),
            "{\"id\": 1}\n{    \"id\": \"b\\n\" }\n{\"id\": 4}\n{\"id\": 5}\n"
        );
        let lines = folder.path().join("c.jsonl");
        assert_eq!(one_file(&lines, folder.path()).unwrap(), lines);
    }
}
