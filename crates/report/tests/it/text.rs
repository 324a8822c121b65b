//! What a person sees.

use record::folder::Losses;
use record::summary::{Summary, Tally};
use report::text::{Paint, WIDTH, render};

use crate::samples;

fn summary() -> Summary {
    let mut tally = Tally::new(Some(samples::header()), &samples::marks());
    for record in samples::records() {
        tally.push(&record::folder::Entry {
            record,
            chunks_known: true,
        });
    }
    tally.finish(Losses::default())
}

#[test]
fn the_text_is_this() {
    let expected = include_str!("../data/summary.txt");
    let found = render(&summary(), Paint::Plain);
    assert!(found == expected, "the text is now:\n{found}");
}

#[test]
fn it_fits_the_screen_and_keeps_a_servers_escapes_out() {
    let plain = render(&summary(), Paint::Plain);
    assert!(
        plain
            .lines()
            .all(|line| line.chars().count() <= WIDTH && line.trim_end() == line),
        "{plain}"
    );
    assert!(!plain.contains('\u{1b}'));
    let empty = render(&Tally::new(None, &[]).finish(Losses::default()), Paint::Plain);
    assert!(empty.contains("TTFT, ms") && empty.contains('—'), "{empty}");
    assert!(!empty.contains("0.00"), "{empty}");
}

#[test]
fn colour_adds_nothing_but_colour() {
    let coloured = render(&summary(), Paint::Colour);
    let mut plain = coloured.clone();
    for code in ["[1m", "[31m", "[32m", "[33m", "[0m"] {
        plain = plain.replace(&format!("\u{1b}{code}"), "");
    }
    assert_ne!(plain, coloured);
    assert_eq!(plain, render(&summary(), Paint::Plain));
}
