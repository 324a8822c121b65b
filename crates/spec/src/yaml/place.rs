//! Byte offsets to lines and columns.

use crate::problem::Place;

/// A carriage return that ends no line of an editor's.
pub(crate) fn lone_carriage_return(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    text.match_indices('\r')
        .map(|(at, _)| at)
        .find(|at| bytes.get(at + 1) != Some(&b'\n'))
}

/// The place of a byte offset. The end of the text counts as the end of its last line, so that every place is inside.
pub(crate) fn locate(text: &str, offset: usize) -> Place {
    let mut start = offset.min(text.trim_end_matches(['\n', '\r']).len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let before = &text[..start];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before[line_start..]
        .trim_start_matches('\u{feff}')
        .chars()
        .count()
        + 1;
    Place {
        line: line as u32,
        column: column as u32,
        start,
        end: start,
        in_entry: false,
    }
}
