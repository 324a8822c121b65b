//! `docs/reference/aiperf-flags.md`, held to the table: the page is written by this test when `TURNMILL_WRITE_DOCS` is set.

use super::table::{Fate, Row, rows};
use std::fmt::Write;
use std::path::Path;

const PAGE: &str = "docs/reference/aiperf-flags.md";

const HEAD: &str = "\
# What becomes of each flag of aiperf

`turnmill profile` knows every flag of aiperf 0.12.0 and the extra ones of the fork that InferenceX runs. None is ignored in
silence: a flag acts, is accepted with a note on standard error, or refuses the run with the reason. This page is made from the
table in the program; `turnmill profile --help` has the values and defaults of those that act.
";

fn names(row: &Row) -> String {
    let names: Vec<String> = row.names.iter().map(|name| format!("`{name}`")).collect();
    names.join(" ")
}

fn section(page: &mut String, title: &str, what: impl Fn(&Fate) -> Option<&'static str>) {
    let _ = write!(page, "\n## {title}\n\n");
    let mut by_reason: Vec<(&str, Vec<String>)> = Vec::new();
    for row in rows() {
        if let Some(why) = what(&row.fate) {
            match by_reason.iter_mut().find(|(known, _)| *known == why) {
                Some((_, flags)) => flags.push(names(&row)),
                None => by_reason.push((why, vec![names(&row)])),
            }
        }
    }
    for (why, flags) in by_reason {
        let flags = flags.join(", ");
        let _ = match why {
            "" => writeln!(page, "{flags}"),
            _ => writeln!(page, "- **{why}:** {flags}"),
        };
    }
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    section(&mut page, "They act", |fate| (*fate == Fate::Acts).then_some(""));
    section(&mut page, "Accepted with a note", |fate| match fate {
        Fate::Noted(why) => Some(why),
        _ => None,
    });
    section(
        &mut page,
        "Accepted with a note, and select the dialect agentx-1.0",
        |fate| match fate {
            Fate::Fork(why) => Some(why),
            _ => None,
        },
    );
    section(&mut page, "Refused", |fate| match fate {
        Fate::Refused(why) => Some(why),
        _ => None,
    });
    page
}

#[test]
fn the_page_of_flags_is_the_table() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
    if std::env::var_os("TURNMILL_WRITE_DOCS").is_some() {
        std::fs::write(&file, page()).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(
        found,
        page(),
        "run this test with TURNMILL_WRITE_DOCS=1 to write {PAGE} anew"
    );
}
