//! Derived files come from the others alone.

use std::fs;

use report::{rebuild, text};

use crate::samples;

#[test]
fn derived_files_are_made_again_the_same() {
    let folder = testkit::tempdir().unwrap();
    samples::write(folder.path(), &samples::marks());
    let summary = rebuild(folder.path()).unwrap();
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let (json, plain) = (read("summary.json"), read("summary.txt"));
    assert_eq!(
        serde_json::from_str::<record::summary::Summary>(&json).unwrap(),
        summary
    );
    assert_eq!(plain, text::render(&summary, text::Paint::Plain));
    assert!(!json.contains("secret"));

    fs::remove_file(folder.path().join("summary.json")).unwrap();
    fs::write(folder.path().join("summary.txt"), "old").unwrap();
    assert_eq!(rebuild(folder.path()).unwrap(), summary);
    assert_eq!((read("summary.json"), read("summary.txt")), (json, plain));
}

#[test]
fn a_killed_run_is_reported_with_what_is_missing() {
    let folder = testkit::tempdir().unwrap();
    samples::write(folder.path(), &samples::marks()[..4]);
    let cut = |name: &str, keep: f64| {
        let path = folder.path().join(name);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..(whole.len() as f64 * keep) as usize]).unwrap();
    };
    cut("requests.jsonl", 0.5);
    cut("chunks.bin", 0.4);
    let summary = rebuild(folder.path()).unwrap();
    assert!(summary.losses.torn_row);
    assert_eq!(summary.losses.chunks_end.as_deref(), Some("torn"));
    let text = text::render(&summary, text::Paint::Plain);
    for said in [
        "end         none: the run was killed; last stamp after ",
        "run_cancelled: the run has no end: it was killed",
        "! the run has no end; figures are of what was recorded until the last stamp",
        " are not in chunks.bin",
    ] {
        assert!(text.contains(said), "{said} is not in\n{text}");
    }
    assert!(rebuild(&folder.path().join("elsewhere")).is_err());
}
