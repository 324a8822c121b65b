//! `chunks.bin`: the stamp of every content chunk, a few bytes each.
//!
//! The file begins with [`MAGIC`]. Behind it stands one frame a request, in the order of the rows in `requests.jsonl`:
//!
//! ```text
//! frame   = length of payload, payload
//! payload = phase (0 warmup, 1 profiling), sequence, number of chunks, first chunk, each later chunk
//! chunk   = (time since the chunk before it, since the run's anchor for the first) × 2 + (came in the same socket read)
//! ```
//!
//! All numbers are LEB128, times are nanoseconds. A frame that the file's end cuts is torn: it is left out, and the
//! reader says so. A frame that is not made like this ends the reading, since nothing behind it can be trusted.

use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};

use crate::RecordError;
use crate::request::{ContentChunk, Phase, RequestRecord};

/// First bytes of the file; the last one is the version.
pub const MAGIC: [u8; 8] = *b"tmchunk\x01";

/// Longest payload of a frame: a response of millions of chunks.
pub const FRAME_BYTES_MAX: usize = 16 << 20;

/// Longest time between two chunks, and from the anchor to the first; 146 years.
const STAMP_BITS: u32 = 62;

/// The chunk stamps of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The request's phase and sequence, which name it.
    pub key: FrameKey,
    /// Its content chunks, in order.
    pub chunks: Vec<ContentChunk>,
}

/// What ties a frame to its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameKey {
    /// [`RequestRecord::phase`].
    pub phase: Phase,
    /// [`RequestRecord::sequence`].
    pub sequence: u64,
}

impl FrameKey {
    /// The key of a record.
    pub fn of(record: &RequestRecord) -> Self {
        Self {
            phase: record.phase,
            sequence: record.sequence,
        }
    }
}

/// Appends the record's frame to `out`.
///
/// # Errors
/// When the stamps go backwards, or are more than a frame may hold; `out` is then as it was.
pub fn encode(record: &RequestRecord, out: &mut Vec<u8>) -> Result<(), RecordError> {
    let mut payload = Vec::with_capacity(16 + 5 * record.chunks.len());
    payload.push(match record.phase {
        Phase::Warmup => 0,
        Phase::Profiling => 1,
    });
    put(&mut payload, record.sequence);
    put(&mut payload, record.chunks.len() as u64);
    let mut before_ns = 0;
    for (index, chunk) in record.chunks.iter().enumerate() {
        let since_ns = chunk
            .at_ns
            .checked_sub(before_ns)
            .filter(|_| chunk.at_ns >> STAMP_BITS == 0)
            .ok_or_else(|| RecordError::ChunkOrder {
                request_id: record.request_id.clone(),
                chunk: index,
            })?;
        put(&mut payload, since_ns << 1 | u64::from(chunk.same_read));
        before_ns = chunk.at_ns;
    }
    if payload.len() > FRAME_BYTES_MAX {
        return Err(RecordError::LongFrame {
            request_id: record.request_id.clone(),
            bytes: payload.len(),
            limit: FRAME_BYTES_MAX,
        });
    }
    put(out, payload.len() as u64);
    out.extend_from_slice(&payload);
    Ok(())
}

/// How a chunk file ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunksEnd {
    /// Behind a whole frame.
    Whole,
    /// Within a frame, as in a run that was killed; frames before it were read.
    Torn,
    /// With bytes that are no frame, at this offset; what stands behind it was not read.
    Damaged(u64),
}

/// The frames of a chunk file, one at a time.
#[derive(Debug)]
pub struct ChunkReader<R> {
    path: PathBuf,
    input: R,
    offset: u64,
    payload: Vec<u8>,
    end: Option<ChunksEnd>,
}

impl<R: BufRead> ChunkReader<R> {
    /// The frames of `input`; `path` is its name in messages.
    ///
    /// # Errors
    /// When it does not begin with [`MAGIC`], or cannot be read.
    pub fn new(path: &Path, mut input: R) -> Result<Self, RecordError> {
        let mut magic = Vec::with_capacity(MAGIC.len());
        input
            .by_ref()
            .take(MAGIC.len() as u64)
            .read_to_end(&mut magic)
            .map_err(|source| RecordError::File {
                action: "read",
                path: path.to_path_buf(),
                source,
            })?;
        if !MAGIC.starts_with(&magic) {
            return Err(RecordError::NotChunks {
                path: path.to_path_buf(),
            });
        }
        let end = (magic.len() < MAGIC.len()).then_some(ChunksEnd::Torn);
        Ok(Self {
            path: path.to_path_buf(),
            input,
            offset: magic.len() as u64,
            payload: Vec::new(),
            end,
        })
    }

    /// How the file ended, once it has.
    pub fn end(&self) -> Option<ChunksEnd> {
        self.end
    }

    /// The next whole frame; `None` at the end, be it torn or not.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, RecordError> {
        if self.end.is_some() {
            return Ok(None);
        }
        let frame = self.read_frame().map_err(|source| RecordError::File {
            action: "read",
            path: self.path.clone(),
            source,
        })?;
        match frame {
            Ok(frame) => Ok(Some(frame)),
            Err(end) => {
                self.end = Some(end);
                Ok(None)
            }
        }
    }

    fn read_frame(&mut self) -> io::Result<Result<Frame, ChunksEnd>> {
        let damaged = ChunksEnd::Damaged(self.offset);
        let (length, length_bytes) = match self.read_length()? {
            Ok(length) => length,
            Err(end) => return Ok(Err(end)),
        };
        if length > FRAME_BYTES_MAX as u64 {
            return Ok(Err(damaged));
        }
        self.payload.clear();
        self.input.by_ref().take(length).read_to_end(&mut self.payload)?;
        if (self.payload.len() as u64) < length {
            return Ok(Err(ChunksEnd::Torn));
        }
        let frame = decode(&self.payload).ok_or(damaged);
        if frame.is_ok() {
            self.offset += length_bytes + length;
        }
        Ok(frame)
    }

    /// The frame's length and the bytes that state it.
    fn read_length(&mut self) -> io::Result<Result<(u64, u64), ChunksEnd>> {
        let mut value = 0;
        for index in 0..4 {
            let mut byte = [0];
            if self.input.read(&mut byte)? == 0 {
                return Ok(Err(if index == 0 {
                    ChunksEnd::Whole
                } else {
                    ChunksEnd::Torn
                }));
            }
            value |= u64::from(byte[0] & 0x7f) << (7 * index);
            if byte[0] & 0x80 == 0 {
                return Ok(Ok((value, index + 1)));
            }
        }
        // Four bytes hold every length up to FRAME_BYTES_MAX.
        Ok(Err(ChunksEnd::Damaged(self.offset)))
    }
}

/// The frame in `payload`; `None` when it is not exactly one.
fn decode(payload: &[u8]) -> Option<Frame> {
    let (phase, mut rest) = payload.split_first()?;
    let phase = match phase {
        0 => Phase::Warmup,
        1 => Phase::Profiling,
        _ => return None,
    };
    let sequence = take(&mut rest)?;
    let count = usize::try_from(take(&mut rest)?).ok()?;
    if count > rest.len() {
        return None; // a chunk takes a byte at least, so this also bounds what is reserved
    }
    let mut chunks = Vec::with_capacity(count);
    let mut at_ns = 0u64;
    for _ in 0..count {
        let packed = take(&mut rest)?;
        at_ns = at_ns
            .checked_add(packed >> 1)
            .filter(|at| at >> STAMP_BITS == 0)?;
        chunks.push(ContentChunk {
            at_ns,
            same_read: packed & 1 == 1,
        });
    }
    rest.is_empty().then_some(Frame {
        key: FrameKey { phase, sequence },
        chunks,
    })
}

fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for index in 0..10 {
        let (&byte, behind) = rest.split_first()?;
        *rest = behind;
        let bits = u64::from(byte & 0x7f);
        if index == 9 && bits > 1 {
            return None;
        }
        value |= bits << (7 * index);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
