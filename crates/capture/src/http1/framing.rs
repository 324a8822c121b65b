//! How far a body goes: by its length, by its chunks, or to the end of the connection (RFC 9112 §6, §7.1).

use std::ops::Range;

/// Longest line of a chunk's size or of a trailer; a longer one is no chunked coding that we know.
const LINE_BYTES_MAX: u32 = 16 << 10;
/// Hexadecimal digits of a chunk's size that fit 64 bits with room to spare.
const SIZE_DIGITS_MAX: u32 = 15;

/// What delimits a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// There is none.
    None,
    /// So many bytes.
    Length(u64),
    /// `Transfer-Encoding: chunked`.
    Chunked,
    /// Everything until the connection ends.
    UntilClose,
}

/// A body on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Body(State);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Length(u64),
    UntilClose,
    Size { digits: u32, size: u64 },
    Extension { size: u64, length: u32 },
    SizeLf { size: u64 },
    Data(u64),
    DataCr,
    DataLf,
    Trailer { length: u32 },
    TrailerLf { length: u32 },
    Done,
}

/// Bytes that are no chunked coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadChunk;

impl Body {
    pub(crate) fn new(framing: Framing) -> Self {
        Self(match framing {
            Framing::None | Framing::Length(0) => State::Done,
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::Size { digits: 0, size: 0 },
            Framing::UntilClose => State::UntilClose,
        })
    }

    /// Whether the message is over.
    pub(crate) fn is_done(&self) -> bool {
        self.0 == State::Done
    }

    /// Whether an end of the connection is this body's proper end.
    pub(crate) fn ends_by_close(&self) -> bool {
        matches!(self.0, State::Done | State::UntilClose)
    }

    /// Takes bytes of the connection and says how many of them belong to this body. Each stretch of payload among them is
    /// given to `payload`.
    ///
    /// # Errors
    /// When the chunked coding is broken; the position in the stream is then lost.
    pub(crate) fn advance(
        &mut self,
        input: &[u8],
        mut payload: impl FnMut(Range<usize>),
    ) -> Result<usize, BadChunk> {
        let mut at = 0;
        while at < input.len() && !self.is_done() {
            match &mut self.0 {
                State::UntilClose => {
                    payload(at..input.len());
                    at = input.len();
                }
                State::Length(left) | State::Data(left) => {
                    let taken =
                        usize::try_from(*left).map_or(input.len() - at, |left| left.min(input.len() - at));
                    payload(at..at + taken);
                    at += taken;
                    *left -= taken as u64;
                    if *left == 0 {
                        self.0 = match self.0 {
                            State::Length(_) => State::Done,
                            _ => State::DataCr,
                        };
                    }
                }
                _ => {
                    self.0 = self.0.after(input[at])?;
                    at += 1;
                }
            }
        }
        Ok(at)
    }
}

impl State {
    /// The state behind one byte of chunked framing. A lone line feed ends a line, as lenient servers write it.
    fn after(self, byte: u8) -> Result<Self, BadChunk> {
        let sized = |size| {
            if size == 0 {
                Self::Trailer { length: 0 }
            } else {
                Self::Data(size)
            }
        };
        Ok(match (self, byte) {
            (Self::Size { digits, size }, _) if byte.is_ascii_hexdigit() && digits < SIZE_DIGITS_MAX => {
                let digit = (byte as char).to_digit(16).ok_or(BadChunk)?;
                Self::Size {
                    digits: digits + 1,
                    size: size << 4 | u64::from(digit),
                }
            }
            (Self::Size { digits: 1.., size } | Self::Extension { size, .. }, b'\r') => Self::SizeLf { size },
            (
                Self::Size { digits: 1.., size } | Self::Extension { size, .. } | Self::SizeLf { size },
                b'\n',
            ) => sized(size),
            (Self::Size { digits: 1.., size }, b';' | b' ' | b'\t') => Self::Extension { size, length: 0 },
            (Self::Extension { size, length }, _) if length < LINE_BYTES_MAX => Self::Extension {
                size,
                length: length + 1,
            },
            (Self::DataCr, b'\r') => Self::DataLf,
            (Self::DataCr | Self::DataLf, b'\n') => Self::Size { digits: 0, size: 0 },
            (Self::Trailer { length }, b'\r') => Self::TrailerLf { length },
            (Self::Trailer { length: 0 } | Self::TrailerLf { length: 0 }, b'\n') => Self::Done,
            (Self::Trailer { .. } | Self::TrailerLf { .. }, b'\n') => Self::Trailer { length: 0 },
            (Self::Trailer { length }, _) if length < LINE_BYTES_MAX => Self::Trailer { length: length + 1 },
            _ => return Err(BadChunk),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `input` cut into pieces of every size and checks what is found each time.
    fn check(framing: Framing, input: &[u8], expected_payload: &[u8], expected_used: usize, done: bool) {
        for size in 1..=input.len() {
            let mut body = Body::new(framing);
            let (mut found, mut used) = (Vec::new(), 0);
            for piece in input.chunks(size) {
                let taken = body
                    .advance(piece, |range| found.extend_from_slice(&piece[range]))
                    .unwrap();
                used += taken;
                if taken < piece.len() {
                    break;
                }
            }
            let seen = (found.as_slice(), used, body.is_done());
            assert_eq!(
                seen,
                (expected_payload, expected_used, done),
                "in pieces of {size}: {input:?}"
            );
        }
    }

    #[test]
    fn a_body_ends_where_its_framing_says() {
        check(Framing::None, b"GET", b"", 0, true);
        check(Framing::Length(3), b"abcGET", b"abc", 3, true);
        check(Framing::Length(9), b"abc", b"abc", 3, false);
        check(Framing::UntilClose, b"abc", b"abc", 3, false);
        check(Framing::Chunked, b"3\r\nabc\r\n0\r\n\r\nGET", b"abc", 13, true);
        check(
            Framing::Chunked,
            b"1;x=y\r\na\r\nA \r\n0123456789\r\n0\r\nX: y\r\nZ: w\r\n\r\nGET",
            b"a0123456789",
            43,
            true,
        );
        check(Framing::Chunked, b"2\nab\n0\n\nG", b"ab", 8, true);
        check(Framing::Chunked, b"3\r\nab", b"ab", 5, false);
    }

    #[test]
    fn what_is_no_chunk_is_said_so() {
        for input in [&b"xyz"[..], b"\r\n", b"3\r\nabcd", b"1111111111111111\r\n"] {
            let mut body = Body::new(Framing::Chunked);
            assert_eq!(body.advance(input, |_| ()), Err(BadChunk), "{input:?}");
        }
    }
}
