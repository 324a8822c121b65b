//! Rows of a verified file, read and worked on in parallel, settled in row order.
//!
//! Each worker takes the next row, reads it with a positioned read into its own buffer and hands on what the caller's
//! function makes of it. Outcomes wait until all earlier rows are settled, so that the result, and the first error, do
//! not depend on how many workers there are. Rows behind the one that ended the work may have been read in vain.

use std::collections::BTreeMap;
use std::fs::File;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::Error;
use crate::verify::ROW_BYTES_MAX;

/// One row of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowPlace {
    /// Line of the file, from 1.
    pub(crate) line: usize,
    /// Its bytes.
    pub(crate) bytes: Range<u64>,
}

/// Whether more rows are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Go on.
    Continue,
    /// Everything is settled; later rows do not count.
    Stop,
}

/// Reads all `rows` of `file`, applies `work` to each on one of `workers` threads, and gives the outcomes to `settle` in
/// row order until it has enough or one fails.
pub(crate) fn each<T: Send>(
    (path, file): (&Path, &File),
    rows: &[RowPlace],
    workers: NonZeroUsize,
    work: impl Fn(&RowPlace, &[u8]) -> Result<T, Error> + Sync,
    settle: impl FnMut(&RowPlace, T) -> Result<Then, Error> + Send,
) -> Result<(), Error> {
    let next = AtomicUsize::new(0);
    let end = AtomicUsize::new(rows.len());
    let settling = Mutex::new(Settling {
        rows,
        waiting: BTreeMap::new(),
        next: 0,
        settle,
        ended: None,
    });
    std::thread::scope(|scope| {
        for _ in 0..workers.get().min(rows.len()) {
            scope.spawn(|| {
                let mut buffer = Vec::new();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= end.load(Ordering::Relaxed) {
                        break;
                    }
                    let row = &rows[index];
                    let outcome = read(path, file, row, &mut buffer).and_then(|()| work(row, &buffer));
                    if outcome.is_err() {
                        end.fetch_min(index, Ordering::Relaxed); // every earlier row is taken already
                    }
                    let mut settling = settling.lock().expect("a worker that panics ends the scope");
                    if settling.add(index, outcome) == Then::Stop {
                        end.store(0, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let settling = settling
        .into_inner()
        .expect("a worker that panics ends the scope");
    settling.ended.unwrap_or(Ok(()))
}

struct Settling<'a, T, S> {
    rows: &'a [RowPlace],
    waiting: BTreeMap<usize, Result<T, Error>>,
    next: usize,
    settle: S,
    /// How the work ended, once it did.
    ended: Option<Result<(), Error>>,
}

impl<T, S: FnMut(&RowPlace, T) -> Result<Then, Error>> Settling<'_, T, S> {
    fn add(&mut self, index: usize, outcome: Result<T, Error>) -> Then {
        self.waiting.insert(index, outcome);
        while self.ended.is_none() {
            let Some(outcome) = self.waiting.remove(&self.next) else {
                return Then::Continue;
            };
            let row = &self.rows[self.next];
            self.next += 1;
            match outcome.and_then(|outcome| (self.settle)(row, outcome)) {
                Ok(Then::Continue) => {}
                Ok(Then::Stop) => self.ended = Some(Ok(())),
                Err(error) => self.ended = Some(Err(error)),
            }
        }
        Then::Stop
    }
}

fn read(path: &Path, file: &File, row: &RowPlace, buffer: &mut Vec<u8>) -> Result<(), Error> {
    let bytes = row.bytes.end - row.bytes.start;
    if bytes > ROW_BYTES_MAX {
        let (file, line) = (path.to_owned(), row.line);
        return Err(Error::RowTooLong {
            file,
            line,
            bytes,
            limit: ROW_BYTES_MAX,
        });
    }
    buffer.resize(bytes as usize, 0);
    file.read_exact_at(buffer, row.bytes.start)
        .map_err(|source| Error::Read {
            file: path.to_owned(),
            source,
        })
}
