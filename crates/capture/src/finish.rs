//! From what has grown to what is read: header, binding with digests, block sidecar, Weka file.
//!
//! Works from the files alone, so that it does for a trace whose capture was killed what it does for one that was stopped.
//! A torn last line, which only a full disk or a lost power supply can leave, is cut off.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use record::append::write_whole;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::CaptureError;
use crate::blocks::BLOCK_TOKENS;
use crate::files::TracePaths;
use crate::rows::JournalLine;
use crate::weka;

/// What is said of a trace as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct About {
    /// UTC, RFC 3339.
    pub(crate) created_at: String,
    /// Where the load came from.
    pub(crate) upstream: String,
}

/// A trace whose files are all there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Its files.
    pub paths: TracePaths,
    /// Rows of its data file.
    pub rows: u64,
    /// Sessions in it.
    pub sessions: u64,
    /// Session trees in its Weka file.
    pub trees: u64,
}

/// Digests of a finished trace.
pub(crate) struct Digests {
    data: String,
    rows: u64,
    token_blocks: Option<String>,
    model: Option<String>,
}

impl About {
    pub(crate) fn header(&self, digests: Option<&Digests>) -> String {
        let model = digests.and_then(|digests| digests.model.as_deref());
        let server = model.map_or_else(|| "{}".to_owned(), |model| json!({ "model": model }).to_string());
        format!(
            "trace_version: 3\ntime_unit: us\ncreated_at: {}\nmode: real\nwarm_up_requests: 0\nworkload_spec: {}\n\
             server: {server}\nnetwork: {{}}\n",
            json!(self.created_at),
            json!(format!("turnmill capture of {}", self.upstream)),
        )
    }

    pub(crate) fn binding(&self, paths: &TracePaths, digests: Option<&Digests>) -> String {
        let mut out = format!("workload:\n  trace:\n    data: {}\n", json!(name(&paths.data())));
        if let Some(digests) = digests {
            out += &format!("    sha256: \"{}\"\n    rows: {}\n", digests.data, digests.rows);
        }
        out += "    header:\n      trace_version: 3\n      time_unit: us\n      mode: real\n";
        if let Some(model) = digests.and_then(|digests| digests.model.as_deref()) {
            out += &format!("      server: {}\n", json!({ "model": model }));
        }
        if let Some(blocks) = digests.and_then(|digests| digests.token_blocks.as_deref()) {
            let path = json!(name(&paths.token_blocks()));
            out += &format!("    token_blocks:\n      path: {path}\n      sha256: \"{blocks}\"\n");
        }
        out
    }
}

/// Derives everything, and removes the journal.
pub(crate) fn finish(paths: &TracePaths, about: &About) -> Result<Finished, CaptureError> {
    let data = whole_lines(&paths.data())?;
    let ids: Vec<u64> = data
        .split(|byte| *byte == b'\n')
        .skip(1)
        .filter_map(|row| std::str::from_utf8(row).ok()?.split(',').next()?.parse().ok())
        .collect();
    let mut lines = journal(&paths.journal(), &ids)?;
    lines.sort_by_key(|line| line.request_id);
    renumber(&mut lines);
    let mut digests = Digests {
        data: hex(&data),
        rows: ids.len() as u64,
        token_blocks: None,
        model: only_model(&lines),
    };
    // Each row must have its line; a disk that lost some leaves a trace without structure.
    if lines.len() == ids.len() {
        let blocks = token_blocks(&lines, &digests.data);
        digests.token_blocks = Some(hex(blocks.as_bytes()));
        write_whole(&paths.token_blocks(), blocks.as_bytes())?;
    }
    let trees = weka::trees(&lines);
    write_whole(
        &paths.weka(),
        trees
            .iter()
            .map(|tree| format!("{tree}\n"))
            .collect::<String>()
            .as_bytes(),
    )?;
    write_whole(&paths.header(), about.header(Some(&digests)).as_bytes())?;
    write_whole(&paths.binding(), about.binding(paths, Some(&digests)).as_bytes())?;
    fs::remove_file(paths.journal()).map_err(|source| CaptureError::Read {
        path: paths.journal(),
        source,
    })?;
    let sessions: HashSet<_> = lines.iter().map(|line| &line.session_id).collect();
    Ok(Finished {
        paths: paths.clone(),
        rows: digests.rows,
        sessions: sessions.len() as u64,
        trees: trees.len() as u64,
    })
}

/// The data file, cut behind its last whole line.
fn whole_lines(path: &Path) -> Result<Vec<u8>, CaptureError> {
    let mut data = read(path)?;
    let end = data
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    if end < data.len() {
        data.truncate(end);
        if end == 0 {
            data = crate::rows::COLUMNS.as_bytes().to_vec();
        }
        write_whole(path, &data)?;
    }
    Ok(data)
}

/// The journal's lines of the rows with these ids.
fn journal(path: &Path, ids: &[u64]) -> Result<Vec<JournalLine>, CaptureError> {
    let wanted: HashSet<u64> = ids.iter().copied().collect();
    let journal = read(path)?;
    let lines = journal
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<JournalLine>(line).ok());
    Ok(lines.filter(|line| wanted.contains(&line.request_id)).collect())
}

/// Numbers blocks in order of first appearance, in order of requests (`trace-csv` §4.2).
fn renumber(lines: &mut [JournalLine]) {
    let mut new = HashMap::new();
    for id in lines.iter_mut().flat_map(|line| &mut line.ids) {
        let next = new.len() as u64 + 1;
        *id = *new.entry(*id).or_insert(next);
    }
}

/// The sidecar (`trace-csv` §4.1), with the session tree as keys of our own.
fn token_blocks(lines: &[JournalLine], data_sha256: &str) -> String {
    let header = json!({
        "format": "token-blocks", "version": 1, "block_size": BLOCK_TOKENS, "rows": lines.len(),
        "ids": "chained", "data_sha256": data_sha256,
    });
    let mut out = format!("{header}\n");
    for line in lines {
        let mut row = json!({
            "request_id": line.request_id, "tokens": line.tokens, "ids": line.ids,
            "tokens_from": line.tokens_from, "session_id": line.session_id,
        });
        if let Some(parent) = &line.parent_session_id {
            row["parent_session_id"] = json!(parent);
        }
        if let Some(why) = &line.left_out {
            row["left_out"] = json!(why);
        }
        out += &format!("{row}\n");
    }
    out
}

/// The model, when all requests are for one.
fn only_model(lines: &[JournalLine]) -> Option<String> {
    let first = &lines.first()?.model;
    let is_only = !first.is_empty() && lines.iter().all(|line| line.model == *first);
    is_only.then(|| first.clone())
}

fn read(path: &Path) -> Result<Vec<u8>, CaptureError> {
    fs::read(path).map_err(|source| CaptureError::Read {
        path: path.to_path_buf(),
        source,
    })
}

fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
