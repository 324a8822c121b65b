//! Cuts a `text/event-stream` body into events, at whatever places the network cut it before.
//!
//! Follows the event-stream grammar of the WHATWG HTML standard (§9.2.5, §9.2.6): LF, CRLF and lone CR end a line, one
//! byte-order mark is dropped, comments and unknown fields vanish, several `data` lines are joined with LF, an
//! event without `data` is none. `id` and `retry` serve reconnecting, which a load generator never does: both are
//! read over. One deliberate difference: an event whose blank line is missing when the stream ends is given out by
//! [`Splitter::finish`] (aiperf 0.12.0 and servers that forget the last line end want that; the standard drops it).
//!
//! An event that lies whole in one piece of input is lent out of it without a copy. Every byte is looked at once, and
//! an event longer than a stated limit is a fault instead of a growing buffer.

use std::ops::Range;

/// Longest event that is accepted, in bytes of its lines: 16 MiB. A line is part of an event, so this bounds lines too.
pub const EVENT_BYTES_MAX: usize = 16 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// One event of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// Value of its `event` line; empty when there was none.
    pub name: &'a str,
    /// Its `data` lines, joined with LF.
    pub data: &'a str,
    /// Number of the socket read in which it ended. Two events with the same number came in one read, and the time
    /// between them says nothing about the server.
    pub read: u64,
}

/// An event that could not be given out. The stream goes on after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventFault {
    /// Its text is not UTF-8.
    #[error("event at byte {offset} of the answer is not UTF-8")]
    NotUtf8 {
        /// Where its first line begins, in bytes from the start of the body.
        offset: u64,
    },
    /// It is longer than the limit.
    #[error("event at byte {offset} of the answer is longer than {limit} bytes")]
    TooLong {
        /// Where its first line begins, in bytes from the start of the body.
        offset: u64,
        /// The limit that it broke.
        limit: usize,
    },
}

/// The splitter's memory between two pieces of input.
#[derive(Debug)]
pub struct Splitter {
    limit: usize,
    /// Leading bytes that matched the byte-order mark so far; `None` once the start is behind us.
    mark_matched: Option<usize>,
    /// The last line ended with CR: a LF that follows belongs to it.
    skip_lf: bool,
    /// A line begun in earlier input.
    line: Vec<u8>,
    /// The line begun in earlier input was too long, and is being skipped.
    line_dropped: bool,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The event in progress broke the limit; the fault has been given out.
    too_long: bool,
    /// No line of the next event has been seen.
    between_events: bool,
    event_offset: u64,
    consumed: u64,
    read: u64,
}

impl Default for Splitter {
    fn default() -> Self {
        Self::with_limit(EVENT_BYTES_MAX)
    }
}

impl Splitter {
    /// A splitter at the start of a stream, with a limit of its own instead of [`EVENT_BYTES_MAX`].
    pub fn with_limit(event_bytes_max: usize) -> Self {
        Self {
            limit: event_bytes_max,
            mark_matched: Some(0),
            skip_lf: false,
            line: Vec::new(),
            line_dropped: false,
            name: Vec::new(),
            data: Vec::new(),
            has_data: false,
            too_long: false,
            between_events: true,
            event_offset: 0,
            consumed: 0,
            read: 0,
        }
    }

    /// Takes the next bytes of the body and gives each event that ends in them to `take`, in order.
    ///
    /// `read` numbers the socket read that brought the bytes; several pieces of one read carry the same number.
    pub fn push(&mut self, bytes: &[u8], read: u64, mut take: impl FnMut(Result<Event<'_>, EventFault>)) {
        self.read = read;
        let mut held = None;
        let mut at = self.pass_mark(bytes);
        loop {
            if self.skip_lf && at < bytes.len() {
                self.skip_lf = false;
                at += usize::from(bytes[at] == b'\n');
            }
            if at == bytes.len() {
                break;
            }
            if self.between_events {
                self.between_events = false;
                self.event_offset = self.consumed + at as u64;
            }
            let Some(length) = memchr::memchr2(b'\n', b'\r', &bytes[at..]) else {
                self.keep_partial(&bytes[at..], &mut take);
                break;
            };
            let end = at + length;
            self.skip_lf = bytes[end] == b'\r';
            self.end_line(bytes, at..end, &mut held, &mut take);
            at = end + 1;
        }
        if let Some(range) = held {
            self.data.extend_from_slice(&bytes[range]);
        }
        self.consumed += bytes.len() as u64;
    }

    /// The stream has ended: an event that still lacks its blank line is given to `take`.
    pub fn finish(&mut self, mut take: impl FnMut(Result<Event<'_>, EventFault>)) {
        if !self.line.is_empty() || self.line_dropped {
            self.end_line(&[], 0..0, &mut None, &mut take);
        }
        self.end_event(None, &mut take);
    }

    /// Index of the first byte behind a byte-order mark, which may come in pieces.
    fn pass_mark(&mut self, bytes: &[u8]) -> usize {
        let Some(mut matched) = self.mark_matched else {
            return 0;
        };
        let already = matched;
        while matched < BYTE_ORDER_MARK.len() {
            match bytes.get(matched - already) {
                Some(byte) if *byte == BYTE_ORDER_MARK[matched] => matched += 1,
                Some(_) => {
                    // No mark after all: what an earlier piece held of it is the start of the first line.
                    self.mark_matched = None;
                    self.line.extend_from_slice(&BYTE_ORDER_MARK[..already]);
                    self.between_events = already == 0;
                    return 0;
                }
                None => {
                    self.mark_matched = Some(matched);
                    return bytes.len();
                }
            }
        }
        self.mark_matched = None;
        matched - already
    }

    /// Keeps the start of a line whose end has not come.
    fn keep_partial(&mut self, part: &[u8], take: &mut impl FnMut(Result<Event<'_>, EventFault>)) {
        if self.within_limit(part.len(), take) {
            self.line.extend_from_slice(part);
        } else {
            self.line.clear();
            self.line_dropped = true;
        }
    }

    /// Whether the event in progress may grow by `more` bytes; says once that it may not.
    fn within_limit(&mut self, more: usize, take: &mut impl FnMut(Result<Event<'_>, EventFault>)) -> bool {
        if !self.too_long && self.data.len() + self.line.len() + more > self.limit {
            self.too_long = true;
            take(Err(EventFault::TooLong {
                offset: self.event_offset,
                limit: self.limit,
            }));
        }
        !self.too_long
    }

    /// A line ends: `input[tail]`, behind what earlier input held of it.
    fn end_line(
        &mut self,
        input: &[u8],
        tail: Range<usize>,
        held: &mut Option<Range<usize>>,
        take: &mut impl FnMut(Result<Event<'_>, EventFault>),
    ) {
        if self.line_dropped {
            self.line_dropped = false;
            return;
        }
        if self.line.is_empty() {
            if tail.is_empty() {
                let data = held.take().map(|range| &input[range]);
                self.end_event(data, take);
                return;
            }
            let held_bytes = held.as_ref().map_or(0, ExactSizeIterator::len);
            if self.within_limit(held_bytes + tail.len(), take) {
                self.field_in_input(input, tail, held);
            }
            return;
        }
        if self.within_limit(tail.len(), take) {
            let mut line = std::mem::take(&mut self.line);
            line.extend_from_slice(&input[tail]);
            match field(&line) {
                Field::Data(value) => self.add_data(&line[value]),
                Field::Event(value) => self.set_name(&line[value]),
                Field::Other => {}
            }
            line.clear();
            self.line = line;
        } else {
            self.line.clear();
        }
    }

    /// A line that lies whole in the input: its data is only remembered as a place, for as long as that will do.
    fn field_in_input(&mut self, input: &[u8], line: Range<usize>, held: &mut Option<Range<usize>>) {
        match field(&input[line.clone()]) {
            Field::Data(value) => {
                let value = line.start + value.start..line.start + value.end;
                if self.has_data {
                    if let Some(first) = held.take() {
                        self.data.extend_from_slice(&input[first]);
                    }
                    self.add_data(&input[value]);
                } else {
                    self.has_data = true;
                    *held = Some(value);
                }
            }
            Field::Event(value) => self.set_name(&input[line][value]),
            Field::Other => {}
        }
    }

    fn add_data(&mut self, value: &[u8]) {
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(value);
    }

    fn set_name(&mut self, value: &[u8]) {
        self.name.clear();
        self.name.extend_from_slice(value);
    }

    /// A blank line: gives the event out, unless it has no data or was given up.
    fn end_event(&mut self, held: Option<&[u8]>, take: &mut impl FnMut(Result<Event<'_>, EventFault>)) {
        if self.has_data && !self.too_long {
            let data = held.unwrap_or(&self.data);
            take(
                match (std::str::from_utf8(&self.name), std::str::from_utf8(data)) {
                    (Ok(name), Ok(data)) => Ok(Event {
                        name,
                        data,
                        read: self.read,
                    }),
                    _ => Err(EventFault::NotUtf8 {
                        offset: self.event_offset,
                    }),
                },
            );
        }
        self.name.clear();
        self.data.clear();
        self.has_data = false;
        self.too_long = false;
        self.between_events = true;
    }
}

/// The fields that mean something here, with the place of the value in the line.
enum Field {
    Data(Range<usize>),
    Event(Range<usize>),
    Other,
}

fn field(line: &[u8]) -> Field {
    let colon = memchr::memchr(b':', line);
    let name_end = colon.unwrap_or(line.len());
    let mut start = colon.map_or(line.len(), |at| at + 1);
    start += usize::from(line.get(start) == Some(&b' '));
    match &line[..name_end] {
        b"data" => Field::Data(start..line.len()),
        b"event" => Field::Event(start..line.len()),
        _ => Field::Other,
    }
}
