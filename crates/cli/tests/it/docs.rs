//! The pages of this repository: their relative links lead somewhere, and the scenarios they name are there.

use crate::support::{out, turnmill};
use std::path::{Path, PathBuf};

/// Every Markdown page of the checkout, those of build output and hidden folders excepted.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            if name != "target" && !name.starts_with('.') {
                pages(&entry.path(), found);
            }
        } else if entry.path().extension().is_some_and(|ending| ending == "md") {
            found.push(entry.path());
        }
    }
}

/// Targets of `[…](…)` outside of code, without those that lead elsewhere.
fn relative_links(page: &str) -> Vec<String> {
    let mut links = Vec::new();
    let mut fenced = false;
    for line in page.lines() {
        fenced ^= line.trim_start().starts_with("```");
        if fenced || line.starts_with("    ") {
            continue;
        }
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("x");
        let targets = prose
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next());
        links.extend(
            targets
                .filter(|target| !target.contains("://"))
                .map(str::to_owned),
        );
    }
    links
}

/// The anchors that a page's headings have on the usual hosts.
fn anchors(page: &str) -> Vec<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let words = line.trim_start_matches('#').trim().to_lowercase();
            let kept = words
                .chars()
                .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

#[test]
fn relative_links_lead_somewhere() {
    let root = testkit::checkout();
    let mut found = Vec::new();
    pages(&root, &mut found);
    let (mut links, mut broken) = (0, Vec::new());
    for page in &found {
        let text = std::fs::read_to_string(page).unwrap();
        for link in relative_links(&text) {
            links += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() {
                page.clone()
            } else {
                page.parent().unwrap().join(path)
            };
            let has_anchor = || {
                let text = std::fs::read_to_string(&target).unwrap_or_default();
                anchors(&text).iter().any(|found| found == anchor)
            };
            if !target.exists() || (!anchor.is_empty() && !has_anchor()) {
                broken.push(format!("{}: {link}", page.strip_prefix(&root).unwrap().display()));
            }
        }
    }
    assert!(links > 5, "only {links} links found in {} pages", found.len());
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn scenarios_that_are_named_exist() {
    let root = testkit::checkout();
    let mut found = Vec::new();
    pages(&root, &mut found);
    let texts = found.iter().map(|page| std::fs::read_to_string(page).unwrap());
    let help = out(&turnmill(&["--help"]));
    let mut named: Vec<String> = Vec::new();
    for text in texts.chain([help]) {
        let words = text.split(|c: char| c.is_whitespace() || "`()|".contains(c));
        let scenarios = words.filter(|word| word.starts_with("scenarios/") && word.contains(".yaml"));
        named.extend(scenarios.map(str::to_owned));
    }
    assert!(named.len() > 2, "{named:?}");
    for scenario in named {
        assert!(
            root.join(&scenario).is_file(),
            "{scenario} is named and is not there"
        );
    }
}
