//! The text of a token list, once, as the inside of a JSON string, with the place of every token in it.
//!
//! A token may begin or end inside a character. What text a span of tokens has is defined by its bytes alone: they are
//! read as UTF-8, and what is no character becomes U+FFFD (`bytes.decode("utf-8", "replace")`). So a span is a slice of
//! the whole text only between places that lie between characters; near any other place the few tokens around it are
//! read anew, byte by byte. [`EscapedTokens::put`] does both and carries an unfinished character over to the next span.
//!
//! Escapes are those of orjson and `serde_json`: `\" \\ \b \t \n \f \r`, other controls as `\u00xx` in lower case, the
//! rest unescaped.

use super::PromptError;

/// Where bytes go: a buffer, or a count of them.
pub(super) trait Sink {
    /// Takes the next bytes.
    fn put(&mut self, bytes: &[u8]);
}

impl Sink for bytes::BytesMut {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Counts what it is given.
pub(super) struct Length(pub(super) u64);

impl Sink for Length {
    fn put(&mut self, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
    }
}

/// The last bytes of a span that may be the start of a character.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    bytes: [u8; 3],
    len: u8,
}

impl Held {
    fn new(bytes: &[u8]) -> Self {
        let mut held = Self {
            len: bytes.len() as u8,
            ..Self::default()
        };
        held.bytes[..bytes.len()].copy_from_slice(bytes);
        held
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Nothing follows: what is held is no character.
    pub(super) fn finish(&mut self, sink: &mut impl Sink) {
        if self.len > 0 {
            sink.put(REPLACEMENT.as_bytes());
            *self = Self::default();
        }
    }
}

const REPLACEMENT: &str = "\u{fffd}";

/// Where a token begins in the escaped text, and whether that is inside a character.
#[derive(Clone, Copy)]
struct Place(u32);

impl Place {
    const INSIDE: u32 = 1 << 31;

    fn new(offset: usize, inside: bool) -> Self {
        Self(offset as u32 | if inside { Self::INSIDE } else { 0 })
    }

    fn offset(self) -> usize {
        (self.0 & !Self::INSIDE) as usize
    }

    fn inside(self) -> bool {
        self.0 & Self::INSIDE != 0
    }
}

/// Largest escaped text that [`Place`] can address, in bytes.
pub(super) const MAX_ESCAPED_BYTES: u64 = (1 << 31) - 1;

/// Tokens as one escaped text.
pub(super) struct EscapedTokens {
    text: Box<[u8]>,
    /// One more than there are tokens.
    places: Box<[Place]>,
}

impl EscapedTokens {
    /// Lays out `tokens`, given as the bytes of each.
    pub(super) fn new<T: AsRef<[u8]>>(tokens: impl Iterator<Item = T>) -> Result<Self, PromptError> {
        let mut text = Vec::new();
        let mut places = vec![Place::new(0, false)];
        let mut held = Held::default();
        for token in tokens {
            decode(&mut held, token.as_ref(), &mut text);
            let bytes = text.len() as u64;
            if bytes > MAX_ESCAPED_BYTES {
                return Err(PromptError::PoolTooLarge { bytes });
            }
            places.push(Place::new(text.len(), held != Held::default()));
        }
        Ok(Self {
            text: text.into_boxed_slice(),
            places: places.into_boxed_slice(),
        })
    }

    /// Puts the text of tokens `from..to`, which follow the bytes in `held`; `token` gives the bytes of one token.
    ///
    /// # Panics
    /// When there are fewer than `to` tokens.
    pub(super) fn put<T: AsRef<[u8]>>(
        &self,
        from: usize,
        to: usize,
        held: &mut Held,
        token: impl Fn(usize) -> T,
        sink: &mut impl Sink,
    ) {
        let mut at = from;
        while at < to && (*held != Held::default() || self.places[at].inside()) {
            put_decoded(held, token(at).as_ref(), sink);
            at += 1;
        }
        // `at` is a clean place here, or the span is at its end: the search below cannot pass it.
        let mut end = to;
        while end > at && self.places[end].inside() {
            end -= 1;
        }
        if end > at {
            sink.put(&self.text[self.places[at].offset()..self.places[end].offset()]);
        }
        for left in end..to {
            put_decoded(held, token(left).as_ref(), sink);
        }
    }
}

fn put_decoded(held: &mut Held, token: &[u8], sink: &mut impl Sink) {
    let mut text = Vec::new();
    decode(held, token, &mut text);
    sink.put(&text);
}

/// Appends the characters that `held` and `token` complete, escaped; what may be the start of another is held.
fn decode(held: &mut Held, token: &[u8], text: &mut Vec<u8>) {
    let joined;
    let mut rest = if held.len == 0 {
        token
    } else {
        joined = [held.bytes(), token].concat();
        &joined
    };
    *held = Held::default();
    loop {
        match std::str::from_utf8(rest) {
            Ok(valid) => return escape(valid, text),
            Err(error) => {
                let (valid, after) = rest.split_at(error.valid_up_to());
                escape(std::str::from_utf8(valid).expect("checked to be valid"), text);
                let Some(invalid) = error.error_len() else {
                    *held = Held::new(after);
                    return;
                };
                text.extend_from_slice(REPLACEMENT.as_bytes());
                rest = &after[invalid..];
            }
        }
    }
}

/// Appends `plain` as the inside of a JSON string.
pub(super) fn escape(plain: &str, text: &mut Vec<u8>) {
    for &byte in plain.as_bytes() {
        let letter = match byte {
            b'"' | b'\\' => byte,
            b'\n' => b'n',
            b'\t' => b't',
            b'\r' => b'r',
            0x08 => b'b',
            0x0c => b'f',
            0..0x20 => {
                let digit = |value: u8| b"0123456789abcdef"[usize::from(value)];
                text.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
                continue;
            }
            _ => {
                text.push(byte);
                continue;
            }
        };
        text.extend_from_slice(&[b'\\', letter]);
    }
}
