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
use trace::blocks::{BlocksHeader, Ids};
use trace::csv::CHUNK_COLUMNS;
use trace::header::{self, Header, Mode, Server, Stored};

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

impl About {
    /// The header, once it is known whether all requests are for one model.
    fn header(&self, model: Option<String>) -> Header {
        Header {
            created_at: Some(self.created_at.clone()),
            workload_spec: Some(format!("turnmill capture of {}", self.upstream)),
            server: Server {
                model,
                ..Server::default()
            },
            ..Header::new(Mode::Real)
        }
    }

    /// Header and binding of a trace that grows: they fit it at any length.
    pub(crate) fn write_growing(&self, paths: &TracePaths) -> Result<(), CaptureError> {
        let header = self.header(None);
        let stored = Stored {
            data: name(&paths.data()),
            sha256: String::new(),
            rows: 0, // is not compared
            token_blocks: None,
        };
        let binding = header::binding_yaml(&header, &stored);
        // A digest is not compared only where there is none.
        let binding: String = binding
            .split_inclusive('\n')
            .filter(|line| line.trim() != "sha256: \"\"")
            .collect();
        write_whole(&paths.header(), header::header_yaml(&header).as_bytes())?;
        Ok(write_whole(&paths.binding(), binding.as_bytes())?)
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
    cut_chunk_times(&paths.chunk_times(), &ids)?;
    let mut lines = journal(&paths.journal(), &ids)?;
    lines.sort_by_key(|line| line.request_id);
    renumber(&mut lines);
    let mut stored = Stored {
        data: name(&paths.data()),
        sha256: hex(&data),
        rows: ids.len() as u64,
        token_blocks: None,
    };
    // Each row must have its line; a disk that lost some leaves a trace without structure.
    if lines.len() == ids.len() {
        let blocks = token_blocks(&lines, &stored.sha256);
        write_whole(&paths.token_blocks(), blocks.as_bytes())?;
        stored.token_blocks = Some((name(&paths.token_blocks()), hex(blocks.as_bytes())));
    }
    let trees = weka::trees(&lines);
    let weka: String = trees.iter().map(|tree| format!("{tree}\n")).collect();
    write_whole(&paths.weka(), weka.as_bytes())?;
    let header = about.header(only_model(&lines));
    write_whole(&paths.header(), header::header_yaml(&header).as_bytes())?;
    write_whole(
        &paths.binding(),
        header::binding_yaml(&header, &stored).as_bytes(),
    )?;
    fs::remove_file(paths.journal()).map_err(|source| CaptureError::Read {
        path: paths.journal(),
        source,
    })?;
    let sessions: HashSet<_> = lines.iter().map(|line| &line.session_id).collect();
    Ok(Finished {
        paths: paths.clone(),
        rows: stored.rows,
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
    if end == 0 {
        data = crate::rows::columns();
        write_whole(path, &data)?;
    } else if end < data.len() {
        data.truncate(end);
        write_whole(path, &data)?;
    }
    Ok(data)
}

/// Cuts chunk times behind the last request that has a row; they are written before it.
fn cut_chunk_times(path: &Path, ids: &[u64]) -> Result<(), CaptureError> {
    if !path.exists() {
        return Ok(());
    }
    let data = read(path)?;
    let is_kept = |line: &[u8]| {
        let id = std::str::from_utf8(line)
            .ok()
            .and_then(|line| line.split(',').next());
        line.ends_with(b"\n")
            && id.is_some_and(|id| id.parse().map_or(id == "request_id", |id| ids.contains(&id)))
    };
    let lines: Vec<&[u8]> = data.split_inclusive(|byte| *byte == b'\n').collect();
    let kept = lines
        .iter()
        .rposition(|line| is_kept(line))
        .map_or(0, |at| at + 1);
    let kept = match kept {
        0 => CHUNK_COLUMNS.as_bytes().to_vec(),
        _ => lines[..kept].concat(),
    };
    if kept != data {
        write_whole(path, &kept)?;
    }
    Ok(())
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
    let header = BlocksHeader {
        block_size: BLOCK_TOKENS,
        rows: lines.len() as u64,
        ids: Ids::Chained,
        data_sha256: Some(data_sha256.to_owned()),
    };
    let mut out = header.to_line();
    out.push('\n');
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
        out.push_str(&row.to_string());
        out.push('\n');
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
