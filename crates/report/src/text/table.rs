//! Columns and wrapped lines.

use super::{Paint, Role, WIDTH};

/// A table: the first column to the left, the others to the right, each as wide as its widest cell.
pub(super) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]], paint: Paint) -> Vec<String> {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| chars(&row[column]));
        cells.chain([chars(head[column])]).max().unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |cells: [&str; N]| {
        let cells = cells
            .iter()
            .zip(widths)
            .enumerate()
            .map(|(column, (cell, width))| {
                let gap = " ".repeat(width - chars(cell));
                if column == 0 {
                    format!("{cell}{gap}")
                } else {
                    format!("{gap}{cell}")
                }
            });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let rows = rows
        .iter()
        .map(|row| line(std::array::from_fn(|column| row[column].as_str())));
    std::iter::once(paint.paint(Role::Heading, &line(head)))
        .chain(rows)
        .collect()
}

/// `text` behind `first`, in lines of at most [`WIDTH`] columns, the later ones indented as far.
pub(super) fn wrapped(first: &str, text: &str) -> Vec<String> {
    let indent = chars(first);
    let mut lines = vec![first.to_owned()];
    let mut used = indent;
    for word in text.split_whitespace() {
        let blank = usize::from(used > indent);
        if blank == 1 && used + blank + chars(word) > WIDTH {
            lines.push(" ".repeat(indent));
            used = indent;
        } else if blank == 1 {
            lines.last_mut().expect("there is a first line").push(' ');
            used += 1;
        }
        lines.last_mut().expect("there is a first line").push_str(word);
        used += chars(word);
    }
    lines
}

fn chars(text: &str) -> usize {
    text.chars().count()
}
