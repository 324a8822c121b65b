//! What can go wrong with the files of a run.

use std::io;
use std::path::PathBuf;

/// An error of the record files. Text from a file is quoted only in part; the place is always named.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A line is not what its file holds.
    #[error("{}:{line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: u64,
        /// What was found.
        problem: String,
    },
    /// A line is longer than [`crate::lines::LINE_BYTES_MAX`]; what follows it is not read.
    #[error("{}:{line}: line is longer than {limit} bytes", path.display())]
    LongLine {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: u64,
        /// The limit.
        limit: usize,
    },
    /// The file was written under a later version of the schema.
    #[error("{}:{line}: schema version {found}, this program reads up to {supported}; use the turnmill that wrote it", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: u64,
        /// What the file states.
        found: u32,
        /// What is read here.
        supported: u32,
    },
    /// `chunks.bin` does not begin as one.
    #[error("{}: not a chunk file of version 1", path.display())]
    NotChunks {
        /// The file.
        path: PathBuf,
    },
    /// Chunk stamps that cannot be written: they go backwards or pass 2^62 ns.
    #[error(
        "request {request_id}: stamp of chunk {chunk} is earlier than the one before it, or out of range"
    )]
    ChunkOrder {
        /// The request.
        request_id: String,
        /// The chunk, from 0.
        chunk: usize,
    },
    /// A request with more chunk stamps than a frame of `chunks.bin` may hold.
    #[error("request {request_id}: {bytes} bytes of chunk stamps, a frame holds {limit}")]
    LongFrame {
        /// The request.
        request_id: String,
        /// What its stamps need.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The folder already holds a run.
    #[error("{} already holds a run; name another folder", path.display())]
    Occupied {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds no file of a run.
    #[error("{} holds neither run.json nor requests.jsonl", path.display())]
    NoRun {
        /// The folder.
        path: PathBuf,
    },
}
