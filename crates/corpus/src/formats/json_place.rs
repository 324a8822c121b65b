//! The path (`requests[3].in`) of a byte offset in a JSON text, found by walking the text again.
//!
//! Only for messages: a parse that succeeds never comes here, so the parser need not carry paths along.

/// Byte offset of a parser's position: `line` from 1, `column` bytes into that line.
pub(crate) fn offset(bytes: &[u8], line: usize, column: usize) -> usize {
    let start = match line {
        0 | 1 => 0,
        _ => memchr::memchr_iter(b'\n', bytes)
            .nth(line - 2)
            .map_or(bytes.len(), |feed| feed + 1),
    };
    (start + column).min(bytes.len())
}

/// One container that is open at the offset.
enum Open {
    /// An object and the key read last.
    Object(Option<String>),
    /// An array, the position of its current element, and whether that element has begun.
    Array(usize, bool),
}

/// Path of what was read last before `end`; `row` when nothing is open there. `bytes` must be JSON up to `end`.
pub(crate) fn path_at(bytes: &[u8], end: usize) -> String {
    let mut open: Vec<Open> = Vec::new();
    let mut at = 0;
    let mut key_follows = false;
    while at < end {
        let byte = bytes[at];
        if !matches!(byte, b',' | b']' | b' ' | b'\n' | b'\r' | b'\t')
            && let Some(Open::Array(_, begun)) = open.last_mut()
        {
            *begun = true;
        }
        match byte {
            b'{' => {
                open.push(Open::Object(None));
                key_follows = true;
            }
            b'[' => {
                open.push(Open::Array(0, false));
                key_follows = false;
            }
            b'}' | b']' => {
                open.pop();
                key_follows = false;
            }
            b',' => match open.last_mut() {
                Some(Open::Array(index, begun)) => (*index, *begun) = (*index + 1, false),
                Some(Open::Object(_)) => key_follows = true,
                None => {}
            },
            b'"' => {
                let close = string_end(bytes, at);
                if key_follows && let Some(Open::Object(key)) = open.last_mut() {
                    let raw = &bytes[at + 1..close.max(at + 1)];
                    *key = Some(String::from_utf8_lossy(raw).into_owned());
                    key_follows = false;
                }
                at = close;
            }
            _ => {}
        }
        at += 1;
    }
    render(&open)
}

/// Position of the quote that closes the string opened at `open`, or the last byte.
fn string_end(bytes: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn render(open: &[Open]) -> String {
    use std::fmt::Write;
    let mut path = String::new();
    for container in open {
        match container {
            Open::Object(Some(key)) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
            Open::Object(None) | Open::Array(_, false) => {}
            Open::Array(index, true) => write!(path, "[{index}]").expect("a string takes everything"),
        }
    }
    if path.is_empty() {
        path.push_str("row");
    }
    path
}

#[cfg(test)]
mod tests {
    use super::{offset, path_at};

    #[test]
    fn paths() {
        let text = br#"{"a": [1, {"b\"c": [true, null]}], "d": {"e": "x,]"}}"#;
        let check = |upto: &str, path: &str| {
            let found = text
                .windows(upto.len())
                .position(|window| window == upto.as_bytes());
            let end = found.expect("the text holds it") + upto.len();
            assert_eq!(path_at(text, end), path, "after {upto}");
        };
        check("{", "row");
        check("\"a\": [", "a");
        check("1", "a[0]");
        check("true", r#"a[1].b\"c[0]"#);
        check("null", r#"a[1].b\"c[1]"#);
        check("]}]", "a");
        check("\"x,]\"", "d.e");
        assert_eq!(path_at(text, text.len()), "row");
    }

    #[test]
    fn offsets_count_lines() {
        assert_eq!(offset(b"ab\ncd\nef", 3, 1), 7);
        assert_eq!(offset(b"ab\ncd", 9, 1), 5);
        assert_eq!(offset(b"ab", 0, 0), 0);
    }
}
